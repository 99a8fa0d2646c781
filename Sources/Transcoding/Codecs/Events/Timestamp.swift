internal import Octets

/// A point in time to the nanosecond, counted from 1970-01-01T00:00:00Z without leap seconds.
///
/// This module doesn't import Foundation; a `Foundation.Date` is
/// `Timestamp(secondsSince1970: date.timeIntervalSince1970)`.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Whole seconds since 1970, rounded down.
    public let seconds: Int64
    /// Nanoseconds beyond them, 0…999,999,999.
    public let nanoseconds: Int32

    /// Years 0001 to 9999, which is what RFC 3339 can write.
    private static let range: ClosedRange<Int64> = -62_135_596_800...253_402_300_799

    /// The point in time, or nil outside the years 0001 to 9999.
    public init?(seconds: Int64, nanoseconds: Int32 = 0) {
        guard Self.range.contains(seconds), (0..<1_000_000_000).contains(nanoseconds) else { return nil }
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// The point in time to the microsecond, which is what a `Double` of today's seconds holds; nil outside the years 0001
    /// to 9999 and for what is no number.
    public init?(secondsSince1970 value: Double) { self.init(value, after: 0) }

    /// The point in time `value` seconds behind `start`, to the microsecond.
    private init?(_ value: Double, after start: Int64) {
        guard value.isFinite, abs(value) < 1e12 else { return nil }
        let whole = value.rounded(.down)
        var seconds = Int64(whole) + start
        var microseconds = Int32(((value - whole) * 1e6).rounded())
        if microseconds == 1_000_000 {
            seconds += 1
            microseconds = 0
        }
        self.init(seconds: seconds, nanoseconds: microseconds * 1000)
    }

    /// The point in time that a text of RFC 3339 §5.6 says: `2001-01-01T00:02:03Z`, with a fraction of up to nine digits
    /// where there is one, and any offset. Nil for everything else; a leap second is read as the second after it.
    public init?(_ text: String) {
        self.init(Array(text.utf8).span)
    }

    package init?(_ bytes: Span<UInt8>) {
        guard let time = RFC3339Time(bytes), time.hasTime, time.fraction.count <= 9 else { return nil }
        var nanoseconds: Int32 = 0
        var unit: Int32 = 100_000_000
        for at in time.fraction {
            nanoseconds += Int32(bytes[at] & 15) * unit
            unit /= 10
        }
        self.init(seconds: time.secondsSince1970, nanoseconds: nanoseconds)
    }

    /// Seconds since 1970 as the nearest `Double`.
    public var secondsSince1970: Double { nearest(to: seconds) }

    /// `seconds`, with the nanoseconds, as the nearest `Double`.
    private func nearest(to seconds: Int64) -> Double {
        // Nanoseconds that a `Double` holds exactly, as those of a hundred days, are divided with one rounding. Beyond, a sum is rounded
        // where it is, since no nine digits are so near the middle between two `Double`s that the rounding of a fraction matters.
        guard abs(seconds) > 9_000_000 else { return Double(seconds * 1_000_000_000 + Int64(nanoseconds)) / 1e9 }
        return Double(seconds) + Double(nanoseconds) / 1e9
    }

    /// Seconds from 1970 to 2001, from where `Foundation.Date` and so Alamofire count.
    private static let start2001: Int64 = 978_307_200

    /// Seconds since 2001-01-01T00:00:00Z as the nearest `Double`, of which there are more than there are of those since 1970.
    package var secondsSince2001: Double { nearest(to: seconds - Self.start2001) }

    /// The point in time that a form of this dialect says: what `NSDate` prints for AFNetworking, seconds since 2001 for
    /// Alamofire, and the text of RFC 3339 for all.
    package init?(_ text: String, as dialect: Dialect) {
        if let time = Timestamp(text) {
            self = time
            return
        }
        switch dialect {
        case .afnetworking:
            guard text.hasSuffix(" +0000") else { return nil }
            let parts = text.split(separator: " ", omittingEmptySubsequences: false)
            guard parts.count == 3 else { return nil }
            self.init("\(parts[0])T\(parts[1])Z")
        case .alamofire:
            guard NumberText(Array(text.utf8).span) != nil, let seconds = Double(text) else { return nil }
            self.init(seconds, after: Self.start2001)
        case .recast, .qs, .php, .rack, .whatwg: return nil
        }
    }

    /// Whether the left one is earlier.
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
    }

    private func text(separator: UInt8, zone: String, withFraction: Bool) -> String {
        var text: [UInt8] = []
        CivilDay.append(secondsSince1970: seconds, separator: separator, to: &text)
        if withFraction, nanoseconds != 0 {
            // Nine digits behind a one.
            text += ".\(String(1_000_000_000 + Int64(nanoseconds)).dropFirst())".utf8
            while text.last == UInt8(ascii: "0") { text.removeLast() }
        }
        return String(decoding: text, as: UTF8.self) + zone
    }

    /// What `NSDate` prints, in whole seconds: `2001-01-01 00:02:03 +0000`. AFNetworking sends dates like this.
    package var afnetworkingText: String { text(separator: ASCII.space, zone: " +0000", withFraction: false) }
}

extension Timestamp: CustomStringConvertible {
    /// The text of RFC 3339 in UTC, with a fraction only where there is one: `2001-01-01T00:02:03.456Z`.
    public var description: String { text(separator: UInt8(ascii: "T"), zone: "Z", withFraction: true) }
}
