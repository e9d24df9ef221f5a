-- What wrk counted, as one line of JSON; `done` runs after the load and costs it nothing.
function done(summary, latency, requests)
    local e = summary.errors
    io.write(string.format(
        '{"requests": %d, "errors": %d, "duration_us": %d, "p50": %.3f, "p90": %.3f, "p99": %.3f, "p999": %.3f}\n',
        summary.requests, e.connect + e.read + e.write + e.status + e.timeout, summary.duration,
        latency:percentile(50), latency:percentile(90), latency:percentile(99), latency:percentile(99.9)))
end
