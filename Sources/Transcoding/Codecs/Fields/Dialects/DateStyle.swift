internal import Octets

/// How a library prints a point in time.
internal enum DateStyle {
    /// As it came.
    case text
    /// AFNetworking: the description of an `NSDate`, `2001-01-01 00:00:00 +0000`.
    case description
    /// qs: `2001-01-01T00:00:00.000Z`.
    case milliseconds
    /// Alamofire: the seconds since 2001, `0.0`.
    case secondsSince2001

    /// Appends the time `2001-01-01T00:00:00Z` as the library prints it. A time in another form keeps its text.
    func append(_ source: Span<UInt8>, to text: inout ByteStore) {
        guard let seconds = Self.secondsSince2001(source) else { return text.append(contentsOf: source) }
        switch self {
        case .description:
            text.append(contentsOf: source.extracting(0..<10))
            text.append(UInt8(ascii: " "))
            text.append(contentsOf: source.extracting(11..<19))
            text.append(" +0000")
        case .milliseconds:
            text.append(contentsOf: source.extracting(0..<19))
            text.append(".000Z")
        case .secondsSince2001:
            text.append(contentsOf: Array(Double(seconds).description.utf8))
        case .text: text.append(contentsOf: source)
        }
    }

    /// The number of a text `YYYY-MM-DDTHH:MM:SSZ`; nil for another one.
    private static func secondsSince2001(_ text: Span<UInt8>) -> Int? {
        guard text.count == 20, text[10] == UInt8(ascii: "T"), text[19] == UInt8(ascii: "Z"),
            let time = RFC3339Time(text)
        else { return nil }
        return Int(time.secondsSince1970 - CivilDay.daysTo2001 * 86_400)
    }
}
