internal import Octets

/// Interim responses to one request: so many may come before the final one, in every version of HTTP.
public struct InterimCount: Sendable {
    private var count = 0
    private var bytes = 0

    public init() {}

    /// Counts a head where it is an interim one, and begins anew with any other.
    public mutating func add(_ head: borrowing MessageHead, limits: WireLimits) throws(WireError) {
        guard head.status < 200, head.status != 101 else {
            count = 0
            bytes = 0
            return
        }
        count += 1
        bytes += head.bytes.count
        guard count <= limits.interimCount, bytes <= limits.interimBytes else {
            throw WireError(.tooManyInterim, at: 0)
        }
    }
}
