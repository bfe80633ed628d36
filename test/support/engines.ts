export const engines = ['sqlite', 'postgres']

/** Test files that run on an engine: those for every engine, and those for this one. */
export const filesOn = (engine: string) => `test/**/*.{engines,${engine}}.test.ts`
