/** Whether this is the short run for CI: `make faults CUT=1`. */
export const isCut = Boolean(process.env.CUT)
