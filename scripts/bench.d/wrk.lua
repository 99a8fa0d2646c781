-- wrk's part of a closed loop: posts one body over and over, and says what it saw as one line of JSON.
-- Arguments after `--`: the body, its Content-Type, and a value for Connection, if any.
function init(arguments)
   wrk.method = "POST"
   wrk.body = arguments[1]
   wrk.headers["Content-Type"] = arguments[2]
   wrk.headers["Connection"] = arguments[3]
end

function done(summary, latency, requests)
   local errors = summary.errors
   io.write(string.format(
      'RESULT {"requests": %d, "seconds": %.6f, "p50_us": %.1f, "p99_us": %.1f, "failed": %d}\n',
      summary.requests, summary.duration / 1e6, latency:percentile(50), latency:percentile(99),
      errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
