/** Whether CUT=1 asks for the short run of .ci/run: the same checks, repeated fewer times. */
export const isShortRun = Boolean(process.env.CUT)
