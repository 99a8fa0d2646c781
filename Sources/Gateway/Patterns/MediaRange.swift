internal import Octets

/// A media type, or all of a kind: `application/json`, `image/*`, `*/*`. Parameters play no part.
public struct MediaRange: Hashable, Sendable {
    /// In lower case; empty: any.
    let type: String
    /// In lower case; empty: any.
    let subtype: String

    /// Throws a reason when `text` is no media type.
    public init(parsing text: String) throws(PatternFault) {
        let bytes = Array(text.utf8)
        guard let slash = bytes.firstIndex(of: UInt8(ascii: "/")) else {
            throw PatternFault("a media type has a slash, as in application/json", at: bytes.count)
        }
        for (index, byte) in bytes.enumerated() where index != slash && !ASCII.isToken(byte) {
            throw PatternFault(
                byte == UInt8(ascii: ";")
                    ? "a media type is matched without its parameters" : "this byte does not occur in a media type",
                at: index)
        }
        func half(_ range: Range<Int>) throws(PatternFault) -> String {
            let part = String(decoding: bytes[range].map(ASCII.lowercased), as: UTF8.self)
            if part == "*" { return "" }
            if part.isEmpty { throw PatternFault("a media type has two halves, as in application/json", at: slash) }
            if part.contains("*") {
                throw PatternFault("a star stands for a whole half, as in image/*", at: range.lowerBound)
            }
            return part
        }
        type = try half(0..<slash)
        subtype = try half(slash + 1..<bytes.count)
        if type.isEmpty && !subtype.isEmpty {
            throw PatternFault("a media type's first half is a star only in */*", at: 0)
        }
    }

    func covers(_ other: MediaRange) -> Bool {
        type.isEmpty || type == other.type && (subtype.isEmpty || subtype == other.subtype)
    }

    /// The ranges that cover this one: itself, and those with stars.
    var covering: [MediaRange] {
        var all = [self]
        if !subtype.isEmpty { all.append(MediaRange(type: type, subtype: "")) }
        if !type.isEmpty { all.append(MediaRange(type: "", subtype: "")) }
        return all
    }

    private init(type: String, subtype: String) {
        self.type = type
        self.subtype = subtype
    }

    /// Whether the value of a Content-Type field is of this range.
    package func matches(contentType: Span<UInt8>) -> Bool {
        let essence = Self.essence(contentType)
        guard let slash = Scan.firstIndex(of: UInt8(ascii: "/"), in: essence) else { return false }
        guard !type.isEmpty else { return true }
        return essence.extracting(first: slash).isEqualIgnoringCase(to: type.utf8Span.span)
            && (subtype.isEmpty
                || essence.extracting(slash + 1..<essence.count).isEqualIgnoringCase(to: subtype.utf8Span.span))
    }

    /// The value without parameters and the blanks around it.
    @_lifetime(copy value)
    package static func essence(_ value: Span<UInt8>) -> Span<UInt8> {
        let end = Scan.firstIndex(of: UInt8(ascii: ";"), in: value) ?? value.count
        return value.extracting(first: end).withoutBlanks
    }
}

extension MediaRange: CustomStringConvertible {
    public var description: String { "\(type.isEmpty ? "*" : type)/\(subtype.isEmpty ? "*" : subtype)" }
}
