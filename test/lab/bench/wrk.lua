-- Requests the paths in a file, one per line, in order. `-- FILE once` stops after the last one, `-- FILE repeat` starts
-- over. Prints its measurements as a line of JSON.

local ffi = require('ffi')
ffi.cdef('int getpid(void); int kill(int pid, int signal);')
local SIGINT = 2

local requests = {}
local once = false
local next = 0

function init(args)
  for path in io.lines(args[1]) do
    requests[#requests + 1] = wrk.format('GET', path)
  end
  once = args[2] == 'once'
end

function request()
  if next == #requests then
    -- Makes wrk report now instead of at the end of its duration.
    if once then
      wrk.thread:stop()
      ffi.C.kill(ffi.C.getpid(), SIGINT)
    end
    next = 0
  end
  next = next + 1
  return requests[next]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"seconds":%.6f,"p50":%.3f,"p99":%.3f,"refused":%d,"failed":%d,"cpuSeconds":%.3f}\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1000, latency:percentile(99) / 1000,
    errors.status, errors.connect + errors.read + errors.write + errors.timeout, os.clock()
  ))
end
