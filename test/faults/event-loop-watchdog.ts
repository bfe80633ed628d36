/** Loaded into a server by `--import`: tells its parent, when asked, the longest time that its event loop was at work without a pause. */

let longest = 0
let before = used()

/** Milliseconds of this thread's own work: a busy machine adds nothing to them. */
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
