-- Asks for the addresses of a file, a line each, from the first on: `-- FILE once` ends with the last of them, `-- FILE again`
-- begins anew. Prints what it measured as a line of JSON.

local ffi = require('ffi')
ffi.cdef('int getpid(void); int kill(int pid, int signal);')
local SIGINT = 2

local requests = {}
local once = false
local next = 0

function init(args)
  for address in io.lines(args[1]) do
    requests[#requests + 1] = wrk.format('GET', address)
  end
  once = args[2] == 'once'
end

function request()
  if next == #requests then
    -- Has wrk end and report, instead of waiting for the end of its time.
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
    '{"requests":%d,"seconds":%.6f,"p50":%.3f,"p99":%.3f,"refused":%d,"failed":%d,"cpu":%.3f}\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1000, latency:percentile(99) / 1000,
    errors.status, errors.connect + errors.read + errors.write + errors.timeout, os.clock()
  ))
end
