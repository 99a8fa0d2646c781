/// Times by how long they took. Counting is a few compares and two adds.
struct Histogram: Sendable {
    /// Upper bounds of the buckets in seconds, as Prometheus' labels write them; the last bucket has none.
    static let bounds = [
        "0.0005", "0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10",
        "30",
        "60",
    ]
    /// As above, of a histogram that counts with `fine`.
    static let fineBounds = [
        "0.00001", "0.00002", "0.00005", "0.0001", "0.0002", "0.0005", "0.001", "0.002", "0.005", "0.01", "0.02",
        "0.05",
        "0.1", "0.2", "0.6", "1.2",
    ]
    /// How much finer the buckets of `fineBounds` are.
    static let fine: UInt64 = 50

    /// How many were in each bucket, not in those below it.
    private(set) var counts = InlineArray<17, UInt64>(repeating: 0)
    /// Nanoseconds of all together.
    private(set) var sum: UInt64 = 0

    /// Whether no time was counted.
    var isEmpty: Bool {
        for index in counts.indices where counts[index] > 0 { return false }
        return true
    }

    /// Counts a time of `nanoseconds`; `scale` is 1 or `fine`.
    mutating func count(_ nanoseconds: UInt64, scale: UInt64 = 1) {
        counts[Self.bucket(nanoseconds &* scale)] &+= 1
        sum &+= nanoseconds
    }

    /// All buckets and the sum in seconds.
    var sample: MetricSamples.Distribution {
        var buckets: [UInt64] = []
        for index in counts.indices { buckets.append(counts[index]) }
        return MetricSamples.Distribution(buckets: buckets, sum: Double(sum) / 1e9)
    }

    /// The first bucket whose bound isn't below `nanoseconds`.
    static func bucket(_ nanoseconds: UInt64) -> Int {
        let microseconds = nanoseconds &+ 999
        return switch microseconds / 1000 {
        case ...5_000:
            microseconds / 1000 <= 1_000
                ? (microseconds / 1000 <= 500 ? 0 : 1) : (microseconds / 1000 <= 2_500 ? 2 : 3)
        case ...10_000: 4
        case ...25_000: 5
        case ...50_000: 6
        case ...100_000: 7
        case ...250_000: 8
        case ...500_000: 9
        case ...1_000_000: 10
        case ...2_500_000: 11
        case ...5_000_000: 12
        case ...10_000_000: 13
        case ...30_000_000: 14
        case ...60_000_000: 15
        default: 16
        }
    }
}
