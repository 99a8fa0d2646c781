internal import Gateway
internal import HTTPWire
internal import Octets

/// What becomes of a response's head where the route converts responses (docs/rules.md F2, F8, F9).
struct HeadChanges: OptionSet {
    let rawValue: UInt8

    /// The body isn't the upstream's, or wouldn't be in the answer to GET: what speaks of its very bytes goes.
    static let otherBytes = HeadChanges(rawValue: 1)
    /// A strong entity tag becomes a weak one, as that of the converted response is.
    static let weakTag = HeadChanges(rawValue: 2)
    /// Another Accept could have led to another body: Vary says so.
    static let variesByAccept = HeadChanges(rawValue: 4)
    /// Another Accept-Encoding could have led to another coding: Vary says so.
    static let variesByCoding = HeadChanges(rawValue: 8)
}

extension ResponseHeadWriter {
    private static let fieldsOfOldBytes: KnownFieldSet = [
        .contentMD5, .contentDigest, .reprDigest, .digest, .acceptRanges, .contentRange, .contentEncoding,
    ]

    /// Copies the end-to-end fields with the changes; `contentType` replaces the body's type. Returns where in the output
    /// begins what didn't come with `head`.
    static func copyFields(
        of head: borrowing MessageHead, _ changes: HeadChanges, contentType: Span<UInt8>?,
        into output: inout OutputBuffer
    ) -> Int {
        var others = framingFields
        if contentType != nil { others.formUnion([.contentType]) }
        if changes.contains(.otherBytes) { others.formUnion(fieldsOfOldBytes) }
        var start = 0
        if changes.contains(.weakTag), head.contains(.etag) {
            for index in 0..<head.fieldCount where head.known(index) == .etag && !head.isHopByHop(index) {
                HeadWriter.fields(of: head, lines: start..<index, without: others, into: &output)
                writeWeakTag(head.value(index), into: &output)
                start = index + 1
            }
        }
        HeadWriter.fields(of: head, lines: start..<head.fieldCount, without: others, into: &output)
        let own = output.count
        if let contentType { HeadWriter.clean("Content-Type", contentType, into: &output) }
        if changes.contains(.variesByAccept), !head.varies(by: "accept") {
            HeadWriter.field("Vary", "Accept", into: &output)
        }
        if changes.contains(.variesByCoding), !head.varies(by: "accept-encoding") {
            HeadWriter.field("Vary", "Accept-Encoding", into: &output)
        }
        return own
    }

    /// The representation is another, equivalent one: its tag says the same weakly (RFC 9110 §8.8.1). What is no entity tag is
    /// left out.
    private static func writeWeakTag(_ tag: Span<UInt8>, into output: inout OutputBuffer) {
        let isWeak = tag.count > 3 && tag[0] == UInt8(ascii: "W") && tag[1] == UInt8(ascii: "/")
        guard isWeak || tag.count > 1 && tag[0] == UInt8(ascii: "\"") else { return }
        output.append(isWeak ? "ETag: " : "ETag: W/")
        output.append(tag)
        output.append("\r\n")
    }
}

extension MessageHead {
    /// Whether Vary names that field, or everything.
    fileprivate func varies(by field: StaticString) -> Bool { lists(field, in: .vary) || lists("*", in: .vary) }

    /// Whether Cache-Control forbids to transform the body (RFC 9110 §7.7).
    var forbidsTransform: Bool { lists("no-transform", in: .cacheControl) }

    /// Whether the body is a range of the representation, or several.
    var isPartial: Bool {
        if status == 206 || contains(.contentRange) { return true }
        guard let line = first(.contentType) else { return false }
        return MediaRange.essence(value(line)).isEqualIgnoringCase(to: "multipart/byteranges")
    }

    /// Whether a line of `field`, whose values are lists of words, holds `word`, letters in either case.
    private func lists(_ word: StaticString, in field: KnownField) -> Bool {
        guard contains(field) else { return false }
        for line in 0..<fieldCount where known(line) == field {
            let value = value(line)
            var start = 0
            while start <= value.count {
                let end = Scan.firstIndex(of: UInt8(ascii: ","), in: value, from: start) ?? value.count
                if MediaRange.essence(value.extracting(start..<end)).isEqualIgnoringCase(to: word) { return true }
                start = end + 1
            }
        }
        return false
    }
}
