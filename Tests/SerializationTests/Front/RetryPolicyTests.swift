import HTTPTypes
import Serialization
import Testing

/// The waits at the edges of what can be set; those of Alamofire's defaults are among `ResponseVectorTests`.
@Suite("Retry policies")
struct RetryPolicyTests {
    static let day = Duration.seconds(86_400)

    static func delay(_ base: Int, _ scale: Duration, _ retries: Int, limit: Int = .max) -> Duration? {
        var policy = RetryPolicy()
        (policy.base, policy.scale, policy.limit) = (base, scale, limit)
        let lost = policy.delayAfterLostConnection(to: .get, retries: retries)
        #expect(policy.delay(after: .badGateway, to: .get, retries: retries) == lost)
        return lost
    }

    @Test("A wait is the scale times a power of the base, and a day at most, whatever the numbers are")
    func waits() {
        let rows: [(base: Int, scale: Duration, retries: Int, wait: Duration)] = [
            (2, .milliseconds(500), 10, .seconds(512)), (2, .milliseconds(500), 17, .seconds(65_536)),
            (2, .milliseconds(500), 18, Self.day), (2, .milliseconds(500), .max - 1, Self.day),
            (3, .seconds(28_800), 1, Self.day), (3, .seconds(28_801), 1, Self.day),
            (.max, .milliseconds(500), 0, .milliseconds(500)), (.max, .seconds(100), 1, Self.day),
            (.max, .milliseconds(500), .max - 1, Self.day), (.max, .zero, 5, .zero),
            (
                2, Duration(secondsComponent: 0, attosecondsComponent: 1), 62,
                Duration(secondsComponent: 4, attosecondsComponent: 611_686_018_427_387_904)
            ),
            (1, .seconds(3), .max - 1, .seconds(3)), (1, .seconds(90_000), .max - 1, Self.day),
            (0, .seconds(3), 0, .seconds(3)), (0, .seconds(3), 1, .zero), (0, .seconds(3), .max - 1, .zero),
            (-3, .seconds(3), 0, .seconds(3)), (-3, .seconds(3), 5000, .zero), (.min, .seconds(3), .max - 1, .zero),
            (2, .seconds(Int64.max), 0, Self.day), (2, .seconds(Int64.max), 3, Self.day),
            (2, .seconds(-5), 0, .zero), (2, .seconds(-5), 9, .zero), (-2, .seconds(Int64.min), 9, .zero),
        ]
        for (base, scale, retries, wait) in rows {
            #expect(Self.delay(base, scale, retries) == wait, "\(base) \(scale) \(retries)")
        }
    }

    @Test("A request is sent again as often as the limit says")
    func limits() {
        for limit in [Int.min, -1, 0, 1, 2, .max] {
            for retries in [Int.min, -1, 0, 1, 2, .max - 1, .max] {
                let isSent = Self.delay(2, .seconds(1), retries, limit: limit) != nil
                #expect(isSent == (retries >= 0 && retries < limit), "\(limit) \(retries)")
            }
        }
    }
}
