/** Whether only as much is run as a test of every change has time for: `make faults CUT=1`. */
export const isCut = Boolean(process.env.CUT)
