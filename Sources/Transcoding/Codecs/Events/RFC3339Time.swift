internal import Octets

/// What a full-date or a date-time of RFC 3339 §5.6 says, whose date is one of the calendar.
package struct RFC3339Time {
    package let day: CivilDay
    /// Whether there is a time behind the date; without one all that follows is nothing.
    package private(set) var hasTime = false
    package private(set) var hour = 0
    package private(set) var minute = 0
    /// 60 in a leap second.
    package private(set) var second = 0
    /// Where the digits of the second's fraction stand.
    package private(set) var fraction = 0..<0
    /// Seconds by which the time is ahead of UTC.
    package private(set) var offset = 0

    /// Nil for every other text. Where it `takesSpace`, one may stand between the date and the time, as that section's note has it.
    package init?(_ text: Span<UInt8>, takesSpace: Bool = false) {
        func number(_ start: Int, _ length: Int) -> Int? {
            guard start + length <= text.count else { return nil }
            var value = 0
            for at in start..<start + length {
                guard ASCII.isDigit(text[at]) else { return nil }
                value = value * 10 + Int(text[at] &- 0x30)
            }
            return value
        }
        func has(_ character: UInt8, at index: Int) -> Bool { index < text.count && text[index] == character }
        let dash = UInt8(ascii: "-")
        let colon = UInt8(ascii: ":")
        guard let year = number(0, 4), has(dash, at: 4), let month = number(5, 2), has(dash, at: 7),
            let day = number(8, 2), month >= 1, month <= 12, day >= 1
        else { return nil }
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let days = month == 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
        guard day <= days else { return nil }
        self.day = CivilDay(year: Int64(year), month: Int64(month), day: Int64(day))
        if text.count == 10 { return }
        guard text.count > 10, text[10] | 0x20 == UInt8(ascii: "t") || takesSpace && text[10] == ASCII.space,
            let hour = number(11, 2), has(colon, at: 13),
            let minute = number(14, 2), has(colon, at: 16), let second = number(17, 2), hour <= 23, minute <= 59,
            second <= 60
        else { return nil }
        (hasTime, self.hour, self.minute, self.second) = (true, hour, minute, second)
        var at = 19
        if has(UInt8(ascii: "."), at: at) {
            at += 1
            let start = at
            while at < text.count, ASCII.isDigit(text[at]) { at += 1 }
            guard at > start else { return nil }
            fraction = start..<at
        }
        guard at < text.count else { return nil }
        if text[at] | 0x20 == UInt8(ascii: "z") {
            guard at + 1 == text.count else { return nil }
            return
        }
        let isBehind = text[at] == dash
        guard isBehind || text[at] == UInt8(ascii: "+"), let hours = number(at + 1, 2), has(colon, at: at + 3),
            let minutes = number(at + 4, 2), hours <= 23, minutes <= 59, at + 6 == text.count
        else { return nil }
        offset = (hours * 60 + minutes) * (isBehind ? -60 : 60)
    }

    /// Seconds since 1970 without leap seconds: one is the second after it.
    package var secondsSince1970: Int64 {
        day.daysSince1970 * 86_400 + Int64(hour * 3600 + minute * 60 + second - offset)
    }
}

extension Span where Element == UInt8 {
    /// Whether the text is a full-date or a date-time of RFC 3339 §5.6, and the date one of the calendar.
    package var isRFC3339: Bool { RFC3339Time(self) != nil }
}
