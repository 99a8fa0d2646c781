internal import Octets

extension PropertyList {
    /// A point in time: seconds since 2001-01-01T00:00:00Z and the digits of a fraction, which is never negative.
    struct Date {
        /// Whole seconds, rounded down.
        var seconds: Int64
        /// The fraction's digits without zeros at the end; empty where there is none.
        var fraction: [UInt8] = []

        /// The seconds of the years 0000 to 9999, which RFC 3339 can write.
        static let range: Range<Int64> =
            days(year: 0, month: 1, day: 1) * 86_400..<days(year: 10_000, month: 1, day: 1) * 86_400

        /// Reads a date-time of RFC 3339 §5.6, in any zone.
        init(rfc3339 text: Span<UInt8>) throws(Reading) {
            guard let time = RFC3339Time(text) else { throw Reading(fault: .invalidDate) }
            guard time.hasTime else { throw Reading(fault: .dateWithoutTime) }
            guard time.second < 60 else { throw Reading(fault: .leapSecond) }
            seconds = time.secondsSince1970 - CivilDay.daysTo2001 * 86_400
            for at in time.fraction { fraction.append(text[at]) }
            while fraction.last == UInt8(ascii: "0") { fraction.removeLast() }
            guard Self.range.contains(seconds) else { throw Reading(fault: .dateRange) }
        }

        /// Why a text is no date.
        struct Reading: Error {
            var fault: Fault
        }

        /// Whether the years 0000 to 9999 hold a binary property list's date.
        static func holds(_ value: Double) -> Bool {
            value >= Double(range.lowerBound) && value < Double(range.upperBound)
        }

        /// Takes a binary property list's date; nil where the years 0000 to 9999 don't hold it, or its fraction is too small
        /// to be written with 40 digits.
        init?(_ value: Double) {
            guard Self.holds(value) else { return nil }
            seconds = Int64(value.rounded(.down))
            guard value != value.rounded(.down) else { return }
            // The shortest decimal text is what the double stands for: 0.1, not 0.1000000000000000055.
            let text = Array(value.magnitude.description.utf8)
            let mantissaEnd = text.firstIndex(of: UInt8(ascii: "e")) ?? text.count
            let point = text.firstIndex(of: UInt8(ascii: ".")) ?? mantissaEnd
            if mantissaEnd < text.count {
                // What has a fraction and an exponent is below one: 5e-05, 1.25e-07.
                let exponent = Int(String(decoding: text[(mantissaEnd + 1)...], as: UTF8.self)) ?? 0
                guard exponent < 0, exponent >= -20 else { return nil }
                fraction = Array(repeating: UInt8(ascii: "0"), count: -exponent - 1)
                fraction += text[..<point]
                if point < mantissaEnd { fraction += text[(point + 1)..<mantissaEnd] }
            } else {
                fraction = Array(text[min(point + 1, mantissaEnd)...])
            }
            while fraction.last == UInt8(ascii: "0") { fraction.removeLast() }
            if value < 0 { complementFraction() }
        }

        /// One minus the fraction, in decimal. It isn't zero.
        private mutating func complementFraction() {
            var carry = true
            for index in fraction.indices.reversed() {
                let digit = fraction[index] &- 0x30
                let rest = (carry ? 10 : 9) &- digit
                carry = rest == 10
                fraction[index] = (carry ? 0 : rest) &+ 0x30
            }
            while fraction.last == UInt8(ascii: "0") { fraction.removeLast() }
        }

        /// The double of a binary property list.
        var value: Double {
            guard !fraction.isEmpty else { return Double(seconds) }
            if seconds >= 0 {
                return Double("\(seconds)." + String(decoding: fraction, as: UTF8.self)) ?? Double(seconds)
            }
            var positive = self
            positive.complementFraction()
            return Double(
                "\(seconds + 1 == 0 ? "-0" : "\(seconds + 1)")." + String(decoding: positive.fraction, as: UTF8.self))
                ?? Double(seconds)
        }

        /// Appends `2001-01-31T12:00:00Z`, with the fraction where `withFraction`.
        func append(to output: inout [UInt8], withFraction: Bool) {
            CivilDay.append(secondsSince1970: seconds + CivilDay.daysTo2001 * 86_400, to: &output)
            if withFraction, !fraction.isEmpty {
                output.append(UInt8(ascii: "."))
                output.append(contentsOf: fraction)
            }
            output.append(UInt8(ascii: "Z"))
        }

        /// Days since 2001-01-01.
        private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
            CivilDay(year: year, month: month, day: day).daysSince1970 - CivilDay.daysTo2001
        }
    }
}
