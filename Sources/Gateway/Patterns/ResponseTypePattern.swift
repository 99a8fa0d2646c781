internal import Octets

/// Media types of responses: a range (`text/xml`, `application/*`), or all with a suffix (`+json`, RFC 6839).
public enum ResponseTypePattern: Hashable, Sendable {
    case range(MediaRange)
    /// In lower case, with the plus sign.
    case suffix(String)

    /// Throws a reason when `text` is neither.
    public init(parsing text: String) throws(PatternFault) {
        let bytes = Array(text.utf8)
        guard bytes.first == UInt8(ascii: "+") else {
            self = .range(try MediaRange(parsing: text))
            return
        }
        guard bytes.count > 1, bytes[1...].allSatisfy({ ASCII.isToken($0) && $0 != UInt8(ascii: "+") }) else {
            throw PatternFault("a suffix of media types is a plus sign and a name, as in +json", at: 0)
        }
        self = .suffix(String(decoding: bytes.map(ASCII.lowercased), as: UTF8.self))
    }

    /// Whether each type of `other` is one of these, too.
    package func covers(_ other: ResponseTypePattern) -> Bool {
        switch (self, other) {
        case (.range(let mine), .range(let theirs)): mine.covers(theirs)
        case (.suffix(let mine), .suffix(let theirs)): mine == theirs
        case (.range(let mine), .suffix): mine.isAny
        case (.suffix(let mine), .range(let theirs)): theirs.hasSuffix(mine)
        }
    }

    /// Whether the value of a Content-Type field is of these types.
    func matches(contentType: Span<UInt8>) -> Bool {
        switch self {
        case .range(let range): return range.matches(contentType: contentType)
        case .suffix(let suffix):
            let essence = MediaRange.essence(contentType)
            let wanted = suffix.utf8Span.span
            guard let slash = Scan.firstIndex(of: UInt8(ascii: "/"), in: essence),
                essence.count - slash - 1 > wanted.count
            else { return false }
            return essence.extracting(essence.count - wanted.count..<essence.count).isEqualIgnoringCase(to: wanted)
        }
    }
}

extension ResponseTypePattern: CustomStringConvertible {
    public var description: String {
        switch self {
        case .range(let range): range.description
        case .suffix(let suffix): suffix
        }
    }
}

extension MediaRange {
    fileprivate var isAny: Bool { type.isEmpty }
    fileprivate func hasSuffix(_ suffix: String) -> Bool {
        subtype.hasSuffix(suffix) && subtype.utf8.count > suffix.utf8.count
    }
}
