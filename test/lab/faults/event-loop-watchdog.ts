/**
 * Loaded into a server by `--import`. On request, sends its parent the longest time that the event
 * loop was blocked.
 */

let longest = 0
let last = processorTime()

/** Milliseconds of this thread's processor time, which other processes do not affect. */
function processorTime(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

setInterval(() => {
  const now = processorTime()
  longest = Math.max(longest, now - last)
  last = now
}, 1).unref()

process.on('message', () => {
  process.send?.(longest)
  longest = 0
  last = processorTime()
})
process.channel?.unref()
