/// A day of the Gregorian calendar, also before there was one (RFC 3339 §1).
package struct CivilDay {
    package var year: Int64
    package var month: Int64
    package var day: Int64

    package init(year: Int64, month: Int64, day: Int64) {
        self.year = year
        self.month = month
        self.day = day
    }

    /// The day that is so many days after 1970-01-01: the inverse of `daysSince1970`.
    package init(daysSince1970: Int64) {
        let days = daysSince1970 + Self.epoch
        let era = (days >= 0 ? days : days - 146_096) / 146_097
        let dayOfEra = days - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        month = shifted < 10 ? shifted + 3 : shifted - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        day = dayOfYear - (153 * shifted + 2) / 5 + 1
    }

    /// Days since 1970-01-01. The year is counted from March, so that the leap day is its last; 400 of those years have
    /// 146,097 days.
    package var daysSince1970: Int64 {
        let marchYear = month > 2 ? year : year - 1
        let era = (marchYear >= 0 ? marchYear : marchYear - 399) / 400
        let yearOfEra = marchYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - Self.epoch
    }

    /// Appends `2001-01-31T12:00:00`: what so many seconds after the beginning of 1970 are, in a year from 0 to 9999.
    package static func append(
        secondsSince1970 seconds: Int64, separator: UInt8 = UInt8(ascii: "T"), to text: inout [UInt8]
    ) {
        func append(_ mark: UInt8?, _ value: Int64) {
            if let mark { text.append(mark) }
            text.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value / 10 % 10))
            text.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value % 10))
        }
        let days = seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400
        let date = CivilDay(daysSince1970: days)
        let second = seconds - days * 86_400
        append(nil, date.year / 100)
        append(nil, date.year)
        append(UInt8(ascii: "-"), date.month)
        append(UInt8(ascii: "-"), date.day)
        append(separator, second / 3600)
        append(UInt8(ascii: ":"), second / 60 % 60)
        append(UInt8(ascii: ":"), second % 60)
    }

    /// Days from 1970-01-01 to 2001-01-01, from where Apple's dates count.
    package static let daysTo2001: Int64 = 11_323

    /// Days from 0000-03-01 to 1970-01-01.
    private static let epoch: Int64 = 719_468
}
