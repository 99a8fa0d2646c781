/// Sizes and times as the settings write them: a whole number and a unit, nothing between.
enum Units {
    static let sizes: [(unit: String, bytes: Int)] = [
        ("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40),
    ]
    static let times: [(unit: String, milliseconds: Int)] = [
        ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000),
    ]

    /// The longest time that a setting takes, in milliseconds: a day.
    static let longestTime = 24 * 3_600_000

    /// Why a text is no size or no time.
    struct Fault: Error, Hashable {
        var reason: String
    }

    /// The largest size that a setting takes: more than any disk has, and sums of many of them can be counted.
    static let largestSize = 1 << 50

    /// Bytes.
    static func size(_ text: String) throws(Fault) -> Int {
        let size = try read(text, sizes.map { ($0.unit, $0.bytes) }, what: "a size", example: "64KiB")
        guard size <= largestSize else { throw Fault(reason: "a size is at most 1024TiB, not \(text)") }
        return size
    }

    /// - Parameter mayBeZero: whether `0s` is one.
    static func time(_ text: String, mayBeZero: Bool = false) throws(Fault) -> Duration {
        let milliseconds = try read(text, times.map { ($0.unit, $0.milliseconds) }, what: "a time", example: "3s")
        guard milliseconds > 0 || mayBeZero else { throw Fault(reason: "a time is longer than nothing: \(text)") }
        guard milliseconds <= longestTime else { throw Fault(reason: "a time is at most 24h, not \(text)") }
        return .milliseconds(milliseconds)
    }

    private static func read(
        _ text: String, _ units: [(unit: String, factor: Int)], what: String, example: String
    ) throws(Fault) -> Int {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let unit = text.dropFirst(digits.count)
        let known = units.map(\.unit).joined(separator: ", ")
        guard !digits.isEmpty else {
            throw Fault(reason: "\(what) is a whole number and a unit, as in \(example), not \"\(text)\"")
        }
        guard !unit.isEmpty else { throw Fault(reason: "\(what) needs a unit (\(known)), as in \(example)") }
        guard let factor = units.first(where: { $0.unit == unit })?.factor else {
            // `10 MiB`, `10mb`, `10M`; `10sec`, `10 minutes`.
            let plain = unit.filter { $0 != " " }.lowercased()
            let nearest =
                units.first {
                    $0.unit.lowercased() == plain || $0.unit.lowercased().filter { $0 != "i" } == plain
                }
                ?? units.first {
                    plain.hasPrefix($0.unit.lowercased()) || $0.unit.lowercased().hasPrefix(plain)
                }
            let hint = nearest.map { "did you mean \"\(digits)\($0.unit)\"?" } ?? "known are \(known)"
            throw Fault(reason: "the unit \"\(unit)\" is not known for \(what): \(hint)")
        }
        guard let number = Int(digits), case let (product, false) = number.multipliedReportingOverflow(by: factor)
        else {
            throw Fault(reason: "\(what) as large as \(text) can't be counted")
        }
        return product
    }

    /// The largest unit that `bytes` is a whole number of.
    static func describe(bytes: Int) -> String {
        let unit = sizes.last { bytes >= $0.bytes && bytes % $0.bytes == 0 } ?? sizes[0]
        return String(bytes / unit.bytes) + unit.unit
    }

    /// The largest unit that `time`, a whole number of milliseconds, is a whole number of.
    static func describe(_ time: Duration) -> String {
        let (seconds, attoseconds) = time.components
        let milliseconds = Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000)
        if milliseconds == 0 { return "0s" }
        let unit = times.last { milliseconds >= $0.milliseconds && milliseconds % $0.milliseconds == 0 } ?? times[0]
        return String(milliseconds / unit.milliseconds) + unit.unit
    }
}
