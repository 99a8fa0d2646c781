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
        let size = try read(
            text, sizes.map { ($0.unit, $0.bytes) }, what: "a size", example: "64KiB", describe: describe(bytes:))
        guard size <= largestSize else { throw Fault(reason: "a size is at most 1024TiB, not \(text)") }
        return size
    }

    /// - Parameter mayBeZero: whether `0s` is one.
    static func time(_ text: String, mayBeZero: Bool = false) throws(Fault) -> Duration {
        let milliseconds = try read(
            text, times.map { ($0.unit, $0.milliseconds) }, what: "a time", example: "3s",
            describe: { describe(.milliseconds($0)) })
        guard milliseconds > 0 || mayBeZero else { throw Fault(reason: "a time is longer than nothing: \(text)") }
        guard milliseconds <= longestTime else { throw Fault(reason: "a time is at most 24h, not \(text)") }
        return .milliseconds(milliseconds)
    }

    private static func read(
        _ text: String, _ units: [(unit: String, factor: Int)], what: String, example: String,
        describe: (Int) -> String
    ) throws(Fault) -> Int {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let unit = text.dropFirst(digits.count)
        let known = units.map(\.unit).joined(separator: ", ")
        guard !digits.isEmpty else {
            throw Fault(reason: "\(what) is a whole number and a unit, as in \(example), not \"\(text)\"")
        }
        guard !unit.isEmpty else { throw Fault(reason: "\(what) needs a unit (\(known)), as in \(example)") }
        guard let factor = units.first(where: { $0.unit == unit })?.factor else {
            // `1m30s`, `1.5s`.
            if let sum = sum(text, units) {
                throw Fault(reason: "\(what) is one whole number and one unit: did you mean \"\(describe(sum))\"?")
            }
            let nearest = nearest(to: unit, among: units.map(\.unit))
            let hint = nearest.map { "did you mean \"\(digits)\($0)\"?" } ?? "known are \(known)"
            throw Fault(reason: "the unit \"\(unit)\" is not known for \(what): \(hint)")
        }
        guard let number = Int(digits), case let (product, false) = number.multipliedReportingOverflow(by: factor)
        else {
            throw Fault(reason: "\(what) as large as \(text) can't be counted")
        }
        return product
    }

    /// The unit that was meant: of `10 MiB`, `10mb`, `10M`; of `10sec`, `10 minutes`.
    static func nearest(to unit: Substring, among units: [String]) -> String? {
        let plain = unit.filter { $0 != " " }.lowercased()
        guard plain.allSatisfy(\.isLetter) else { return nil }
        return units.first { $0.lowercased() == plain || $0.lowercased().filter { $0 != "i" } == plain }
            ?? units.first { plain.hasPrefix($0.lowercased()) || $0.lowercased().hasPrefix(plain) }
    }

    /// What several numbers with a unit each are together, and numbers with a fraction, where that is a whole number of the smallest
    /// unit; nil of any other text.
    private static func sum(_ text: String, _ units: [(unit: String, factor: Int)]) -> Int? {
        var rest = text.filter { $0 != " " }[...]
        var (sum, count) = (0, 0)
        func digits() -> Substring {
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            rest = rest.dropFirst(digits.count)
            return digits
        }
        while !rest.isEmpty {
            let whole = digits()
            var fraction = Substring()
            if rest.first == "." {
                rest = rest.dropFirst()
                fraction = digits()
                if fraction.isEmpty { return nil }
            }
            let unit = rest.prefix(while: \.isLetter)
            rest = rest.dropFirst(unit.count)
            // Nobody writes more digits by hand, and so many can't overflow.
            guard let number = Int(whole + fraction), whole.count + fraction.count <= 6,
                let factor = units.first(where: { $0.unit == unit })?.factor
            else { return nil }
            let scale = fraction.reduce(1) { scale, _ in scale * 10 }
            guard number * factor % scale == 0 else { return nil }
            sum += number * factor / scale
            count += fraction.isEmpty ? 1 : 2
            if sum > 1 << 60 { return nil }
        }
        // One whole number with a blank behind it is a matter of the unit.
        return sum > 0 && count > 1 ? sum : nil
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

    /// Millionths that a text as `1%` or `0.25%` is; nil where it is none, or more than all.
    static func millionths(_ text: String) -> Int? {
        guard text.hasSuffix("%") else { return nil }
        let parts = text.dropLast().split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count),
            parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { (48...57).contains($0) } }),
            parts[0].utf8.count <= 3, let whole = Int(parts[0])
        else { return nil }
        var fraction = 0
        if parts.count == 2 {
            guard parts[1].utf8.count <= 4, let digits = Int(parts[1]) else { return nil }
            fraction = digits
            for _ in parts[1].utf8.count..<4 { fraction *= 10 }
        }
        let sum = whole * 10_000 + fraction
        return sum <= 1_000_000 ? sum : nil
    }

    static func describe(millionths: Int) -> String {
        let whole = millionths / 10_000
        var fraction = String(10_000 + millionths % 10_000).dropFirst()
        while fraction.last == "0" { fraction.removeLast() }
        return fraction.isEmpty ? "\(whole)%" : "\(whole).\(fraction)%"
    }
}
