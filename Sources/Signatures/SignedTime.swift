internal import Octets
internal import Transcoding

/// Times as senders write them.
package enum SignedTime {
    /// Milliseconds since 1970; nil where `text` is no time of this unit. Digits alone, as many as a time of the next 30,000 years
    /// has: `Infinity`, signs and fractions are none.
    package static func milliseconds(_ text: Span<UInt8>, _ unit: TimestampUnit) -> Int? {
        if unit == .iso { return iso(text) }
        guard (1...15).contains(text.count) else { return nil }
        var value = 0
        for at in text.indices {
            guard ASCII.isDigit(text[at]) else { return nil }
            value = value * 10 + Int(text[at] - 0x30)
        }
        return unit == .seconds ? value * 1000 : value
    }

    /// RFC 3339 §5.6, with a `Z` or an offset. A leap second is the one before.
    private static func iso(_ text: Span<UInt8>) -> Int? {
        func number(_ start: Int, _ count: Int) -> Int? {
            guard start + count <= text.count else { return nil }
            var value = 0
            for at in start..<start + count {
                guard ASCII.isDigit(text[at]) else { return nil }
                value = value * 10 + Int(text[at] - 0x30)
            }
            return value
        }
        func has(_ byte: UInt8, at index: Int) -> Bool { index < text.count && text[index] == byte }
        guard let year = number(0, 4), has(UInt8(ascii: "-"), at: 4), let month = number(5, 2),
            (1...12).contains(month),
            has(UInt8(ascii: "-"), at: 7), let day = number(8, 2), (1...31).contains(day),
            has(UInt8(ascii: "T"), at: 10) || has(UInt8(ascii: "t"), at: 10) || has(ASCII.space, at: 10),
            let hour = number(11, 2), hour < 24, has(UInt8(ascii: ":"), at: 13), let minute = number(14, 2),
            minute < 60,
            has(UInt8(ascii: ":"), at: 16), let second = number(17, 2), second <= 60
        else { return nil }
        var at = 19
        var fraction = 0
        if has(UInt8(ascii: "."), at: at) {
            at += 1
            let start = at
            var unit = 100
            while at < text.count, ASCII.isDigit(text[at]) {
                fraction += Int(text[at] - 0x30) * unit
                unit /= 10
                at += 1
            }
            guard at > start, at - start <= 12 else { return nil }
        }
        var offset = 0
        if has(UInt8(ascii: "Z"), at: at) || has(UInt8(ascii: "z"), at: at) {
            at += 1
        } else {
            let isBehind = has(UInt8(ascii: "-"), at: at)
            guard isBehind || has(UInt8(ascii: "+"), at: at), let hours = number(at + 1, 2), hours < 24,
                has(UInt8(ascii: ":"), at: at + 3), let minutes = number(at + 4, 2), minutes < 60
            else { return nil }
            offset = (hours * 60 + minutes) * (isBehind ? -60 : 60)
            at += 6
        }
        guard at == text.count else { return nil }
        let date = CivilDay(year: Int64(year), month: Int64(month), day: Int64(day))
        let seconds = Int(date.daysSince1970) * 86_400 + hour * 3600 + minute * 60 + min(second, 59) - offset
        return seconds * 1000 + fraction
    }

    /// Seconds, milliseconds or RFC 3339, as a signer writes `milliseconds` since 1970.
    package static func text(_ milliseconds: Int, _ unit: TimestampUnit) -> String {
        switch unit {
        case .seconds: return String(milliseconds / 1000)
        case .milliseconds: return String(milliseconds)
        case .iso:
            let seconds = milliseconds / 1000
            let date = CivilDay(daysSince1970: Int64(seconds / 86_400))
            func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
            return "\(date.year)-\(two(Int(date.month)))-\(two(Int(date.day)))T\(two(seconds / 3600 % 24)):"
                + "\(two(seconds / 60 % 60)):\(two(seconds % 60))Z"
        }
    }
}
