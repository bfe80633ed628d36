/** Whether this is the short run for CI: `make faults CUT=1`. */
export const isShortRun = Boolean(process.env.CUT)
