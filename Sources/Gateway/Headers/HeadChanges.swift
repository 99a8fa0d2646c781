package import HTTPWire
internal import Octets

/// What becomes of a response's head where the route converts responses (docs/rules.md F2, F8, F9).
public struct HeadChanges: OptionSet, Sendable {
    public let rawValue: UInt8

    @inlinable
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The body isn't the upstream's, or wouldn't be in the answer to GET: what speaks of its very bytes goes.
    @inlinable public static var otherBytes: HeadChanges { HeadChanges(rawValue: 1) }
    /// The type isn't the upstream's, and what it is isn't known here: Content-Type goes.
    @inlinable public static var otherType: HeadChanges { HeadChanges(rawValue: 16) }
    /// A strong entity tag becomes a weak one, as that of the converted response is.
    @inlinable public static var weakTag: HeadChanges { HeadChanges(rawValue: 2) }
    /// Another Accept could have led to another body: Vary says so.
    @inlinable public static var variesByAccept: HeadChanges { HeadChanges(rawValue: 4) }
    /// Another Accept-Encoding could have led to another coding: Vary says so.
    @inlinable public static var variesByCoding: HeadChanges { HeadChanges(rawValue: 8) }
}

extension MessageHead {
    /// Whether Vary names that field, or everything.
    package func varies(by field: StaticString) -> Bool { lists(field, in: .vary) || lists("*", in: .vary) }

    /// As above, for a name in lower case.
    func varies(by field: Span<UInt8>) -> Bool {
        lists("*", in: .vary) || lists(in: .vary) { $0.isEqualIgnoringCase(to: field) }
    }

    /// Whether Cache-Control forbids to transform the body (RFC 9110 §7.7).
    package var forbidsTransform: Bool { lists("no-transform", in: .cacheControl) }

    /// Whether the body is a range of the representation, or several.
    package var isPartial: Bool {
        status == 206 || contains(.contentRange) || hasRanges
    }

    /// Whether the body is several ranges, whose type stands in front of each of them.
    package var hasRanges: Bool {
        guard let line = first(.contentType) else { return false }
        return MediaRange.essence(value(line)).isEqualIgnoringCase(to: "multipart/byteranges")
    }

    /// Whether the body is a problem of RFC 9457 already.
    package var isProblem: Bool {
        guard let line = contentTypeLine else { return false }
        let type = MediaRange.essence(value(line))
        return type.isEqualIgnoringCase(to: "application/problem+json")
            || type.isEqualIgnoringCase(to: "application/problem+xml")
    }

    /// Whether a line of `field`, whose values are lists of words, holds `word`, letters in either case.
    private func lists(_ word: StaticString, in field: KnownField) -> Bool {
        lists(in: field) { $0.isEqualIgnoringCase(to: word) }
    }

    private func lists(in field: KnownField, _ isWanted: (Span<UInt8>) -> Bool) -> Bool {
        guard contains(field) else { return false }
        for line in 0..<fieldCount where known(line) == field {
            let value = value(line)
            var start = 0
            while start <= value.count {
                let member = ListMember.at(start, in: value)
                if isWanted(MediaRange.essence(value.extracting(member.range))) { return true }
                start = member.next
            }
        }
        return false
    }
}
