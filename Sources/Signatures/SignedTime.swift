internal import Octets
internal import Transcoding

/// Times as senders write them.
package enum SignedTime {
    /// Milliseconds since 1970; nil where `text` is no time of this unit. Digits alone, as many as a time of the next 30,000 years
    /// has: `Infinity`, signs and fractions are none.
    package static func milliseconds(_ text: Span<UInt8>, _ unit: TimestampUnit) -> Int? {
        if unit == .iso { return iso(text) }
        return ASCII.decimal(text, most: 15).map { unit == .seconds ? $0 * 1000 : $0 }
    }

    /// The text of the time that the member `name` of JSON content is. Throws where there is none, or no time.
    static func member(
        _ name: String, of content: Span<UInt8>, _ unit: TimestampUnit
    ) throws(SignatureError) -> [UInt8] {
        let pointer = MemberSearch.pointer(to: name)
        guard let text = try MemberSearch.texts(at: [pointer], in: content)[pointer] else { throw .lacking(pointer) }
        guard milliseconds(text.span, unit) != nil else { throw .malformed }
        return text
    }

    /// RFC 3339 §5.6, with a `Z` or an offset, and perhaps a space for the `T`. A leap second is the one before.
    private static func iso(_ text: Span<UInt8>) -> Int? {
        guard let time = RFC3339Time(text, takesSpace: true), time.hasTime, time.fraction.count <= 12 else {
            return nil
        }
        var fraction = 0
        var unit = 100
        for at in time.fraction {
            fraction += Int(text[at] - 0x30) * unit
            unit /= 10
        }
        return (Int(time.secondsSince1970) - (time.second == 60 ? 1 : 0)) * 1000 + fraction
    }

    /// Seconds, milliseconds or RFC 3339, as a signer writes `milliseconds` since 1970.
    package static func text(_ milliseconds: Int, _ unit: TimestampUnit) -> String {
        switch unit {
        case .seconds: return String(milliseconds / 1000)
        case .milliseconds: return String(milliseconds)
        case .iso:
            var text: [UInt8] = []
            CivilDay.append(secondsSince1970: Int64(milliseconds / 1000), to: &text)
            return String(decoding: text, as: UTF8.self) + "Z"
        }
    }
}
