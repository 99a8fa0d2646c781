internal import Octets

/// Whether a field named `_charset_` (RFC 7578 §4.6, HTML) says in which charset the texts after it are.
public enum CharsetHint: String, Hashable, Sendable, CaseIterable {
    /// It is a field like any other.
    case field
    /// It does, and is used up: what goes out is in UTF-8.
    case use
}

/// What happens to a part with a Content-Transfer-Encoding other than 7bit, 8bit and binary, which RFC 7578 §4.7 deprecates.
public enum TransferEncodingPolicy: String, Hashable, Sendable, CaseIterable {
    /// The request is refused with 400.
    case reject
    /// `base64` and `quoted-printable` (RFC 2045 §6) are decoded, and others refused.
    case decode
}

/// What happens to a part that is a multipart/mixed body of its own: several files in one field (RFC 2388 §4.2), which RFC
/// 7578 §4.3 deprecates.
public enum MixedPolicy: String, Hashable, Sendable, CaseIterable {
    /// It is a text like any other.
    case opaque
    /// The request is refused with 422.
    case reject
    /// Its parts become files of their own, under the name of the part.
    case flatten
}

/// What is kept of the name of a file, of which senders may give the folders too (RFC 7578 §4.2).
public enum FilenamePolicy: String, Hashable, Sendable, CaseIterable {
    /// All of it, `dir/sub/a.txt`.
    case keep
    /// What follows the last `/` or `\`: `a.txt`, and `sub` of `dir/sub/`. A name that has nothing else, or that is a folder's by
    /// its last part, `.` or `..`, is refused with 422.
    case base

    /// Where what is kept stands in `name`; nil: nothing would be left of it. An empty name is one that was given empty.
    internal func range(in name: Span<UInt8>) -> Range<Int>? {
        guard self == .base, !name.isEmpty else { return 0..<name.count }
        let range = Self.rangeOfLastPart(in: name)
        let kept = name.extracting(range)
        return kept.isEmpty || kept.isEqual(to: ".") || kept.isEqual(to: "..") ? nil : range
    }

    /// What follows the last `/` or `\` that isn't the end; empty where there is nothing else.
    @_lifetime(copy name)
    internal static func lastPart(of name: Span<UInt8>) -> Span<UInt8> { name.extracting(rangeOfLastPart(in: name)) }

    private static func rangeOfLastPart(in name: Span<UInt8>) -> Range<Int> {
        var end = name.count
        while end > 0, isSeparator(name[end - 1]) { end -= 1 }
        var start = end
        while start > 0, !isSeparator(name[start - 1]) { start -= 1 }
        return start..<end
    }

    private static func isSeparator(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\") }
}

/// What a text part with a media type of JSON is read as.
public enum JSONPartPolicy: String, Hashable, Sendable, CaseIterable {
    /// A string.
    case text
    /// The value that it spells.
    case parse
}
