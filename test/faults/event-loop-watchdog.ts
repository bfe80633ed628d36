/** Loaded into a server by `--import`. On request, sends its parent the longest time that the event loop was blocked. */

let longest = 0
let before = used()

/** Milliseconds of this thread's processor time, which other processes do not affect. */
function used(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

setInterval(() => {
  const now = used()
  longest = Math.max(longest, now - before)
  before = now
}, 1).unref()

process.on('message', () => {
  process.send?.(longest)
  longest = 0
  before = used()
})
process.channel?.unref()
