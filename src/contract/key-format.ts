/** The beginning of an API key, which is not secret. */
export const keyPrefix = (id: string) => `apps_${id}`
