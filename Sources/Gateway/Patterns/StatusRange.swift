internal import Octets

/// Statuses of final responses: one (`404`), a class (`4xx`) or a range (`200-299`), all from 200 to 599.
public struct StatusRange: Hashable, Sendable {
    public let range: ClosedRange<Int>

    public init(_ range: ClosedRange<Int>) {
        self.range = range
    }

    /// Throws a reason when `text` is none of the three.
    public init(parsing text: String) throws(PatternFault) {
        let bytes = Array(text.utf8)
        let first: Int?
        let last: Int?
        if bytes.count == 3, ASCII.isDigit(bytes[0]), bytes[1] | 0x20 == UInt8(ascii: "x"),
            bytes[2] | 0x20 == UInt8(ascii: "x")
        {
            first = Int(bytes[0] - UInt8(ascii: "0")) * 100
            last = first.map { $0 + 99 }
        } else if bytes.count == 7, bytes[3] == UInt8(ascii: "-") {
            first = Self.number(bytes[..<3])
            last = Self.number(bytes[4...])
        } else {
            first = Self.number(bytes[...])
            last = first
        }
        guard let first, let last else {
            throw PatternFault("a status is written as 404, 4xx or 400-499, not \"\(text)\"", at: 0)
        }
        guard first >= 200, last <= 599 else {
            throw PatternFault(
                first >= 100 && last < 200
                    ? "interim responses pass as they are: a status is from 200 to 599"
                    : "a status is from 200 to 599, not \"\(text)\"", at: 0)
        }
        guard first <= last else { throw PatternFault("the range \"\(text)\" ends before it begins", at: 0) }
        range = first...last
    }

    /// Three digits.
    private static func number(_ bytes: ArraySlice<UInt8>) -> Int? {
        guard bytes.count == 3, bytes.allSatisfy(ASCII.isDigit) else { return nil }
        return bytes.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    func covers(_ other: StatusRange) -> Bool {
        range.lowerBound <= other.range.lowerBound && other.range.upperBound <= range.upperBound
    }
}

extension StatusRange: CustomStringConvertible {
    public var description: String {
        let (first, last) = (range.lowerBound, range.upperBound)
        if first == last { return "\(first)" }
        return first % 100 == 0 && last == first + 99 ? "\(first / 100)xx" : "\(first)-\(last)"
    }
}
