package import Octets

/// What the fields of a rate limit say (draft-ietf-httpapi-ratelimit-headers): the policy, and what is left of it.
package struct RateFields: Hashable, Sendable {
    /// The fields' names in lower case.
    package static let name = Array("ratelimit".utf8)
    package static let policyName = Array("ratelimit-policy".utf8)

    /// Requests that may come at once.
    package let quota: Int
    /// Seconds in which as many come back.
    package let window: Int
    /// Requests that may come still.
    package let remaining: Int
    /// Seconds: of a request that passed those until the quota is whole, of another those until one passes again.
    package let reset: Int

    package init(_ rate: CellRate, _ outcome: CellRate.Outcome) {
        quota = rate.quota
        window = Self.seconds(rate.window)
        remaining = outcome.remaining
        reset = Self.seconds(outcome.wait)
    }

    /// Whole seconds that are not shorter, one at least: Retry-After counts so.
    private static func seconds(_ nanoseconds: UInt64) -> Int {
        max(1, Int((nanoseconds + 999_999_999) / 1_000_000_000))
    }

    /// Appends both fields as lines.
    package func append(to output: inout OutputBuffer) {
        output.append("RateLimit-Policy: \"default\";q=")
        output.append(decimal: quota)
        output.append(";w=")
        output.append(decimal: window)
        output.append("\r\nRateLimit: \"default\";r=")
        output.append(decimal: remaining)
        output.append(";t=")
        output.append(decimal: reset)
        output.append("\r\n")
    }
}
