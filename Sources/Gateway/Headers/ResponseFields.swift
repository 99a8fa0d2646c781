package import ContentCoding
package import HTTPWire
package import Octets

// What becomes of a response's fields.
extension PassedFields {
    private static let framingFields: KnownFieldSet = [.contentLength, .transferEncoding]
    private static let fieldsOfOldBytes: KnownFieldSet = [
        .contentMD5, .contentDigest, .reprDigest, .digest, .acceptRanges, .contentRange, .contentEncoding,
    ]

    /// Whether a field of that name tells of the very bytes of the content: a digest, or the tag, which trailers can't have weakly.
    package static func isOfBytes(_ name: Span<UInt8>) -> Bool {
        let known = KnownField.find(name)
        return known == .etag || fieldsOfOldBytes.contains(known)
    }

    /// What goes on of a response's received fields: all but those of this hop and of the framing, and of what `changes` take.
    /// `replacesType`: Content-Type is that of a converted body; `replaced`: what is written anew besides.
    package init(
        response head: borrowing MessageHead, _ changes: HeadChanges = [], replacesType: Bool = false,
        replacing replaced: KnownFieldSet = []
    ) {
        var removed = Self.framingFields
        removed.formUnion(replaced)
        if replacesType || changes.contains(.otherType) { removed.formUnion([.contentType]) }
        if changes.contains(.otherBytes) { removed.formUnion(Self.fieldsOfOldBytes) }
        self.init(removing: removed, weakensTags: changes.contains(.weakTag) && head.contains(.etag))
    }
}

extension HeadChanges {
    /// Appends the lines that are new in a response with that head: `contentType` is that of a converted body, `coding` the one that
    /// the body gets from us; `vary` is the request's fields that Vary is to name, nil where the head's own says enough.
    package func appendLines(
        to output: inout OutputBuffer, of head: borrowing MessageHead, contentType: Span<UInt8>?, coding: Coding?,
        vary: [String]?
    ) {
        if let contentType { HeadWriter.clean("Content-Type", contentType, into: &output) }
        if let vary { appendVary(vary, of: head, to: &output) }
        if let coding { HeadWriter.field("Content-Encoding", coding.name, into: &output) }
    }

    /// Whether the response depends on a field of the request that the head's Vary doesn't name: then Vary is written anew, and those lines
    /// stay behind.
    ///
    /// - Parameter sourceFields: the request's that are in the converted body, or in what rules write into the head, or by which it
    ///   was decided who answers; in lower case.
    package func addsVary(to head: borrowing MessageHead, _ sourceFields: [String]) -> Bool {
        if contains(.variesByAccept), !head.varies(by: "accept") { return true }
        if contains(.variesByCoding), !head.varies(by: "accept-encoding") { return true }
        for field in sourceFields where !head.varies(by: field.utf8Span.span) { return true }
        return false
    }

    /// Appends Vary with the names of the head's own lines and those that are new, as one line: of several nginx before 1.23 heeds the last
    /// alone, and would give a client what was made for another.
    private func appendVary(_ sourceFields: [String], of head: borrowing MessageHead, to output: inout OutputBuffer) {
        output.append("Vary: ")
        // With a star all else says nothing, and few look for one among names.
        if sourceFields.contains("*") { return output.append("*\r\n") }
        let start = output.count
        func separate() { if output.count > start { output.append(", ") } }
        for line in 0..<head.fieldCount where head.known(line) == .vary && !head.value(line).isEmpty {
            separate()
            output.append(head.value(line))
        }
        if contains(.variesByAccept), !head.varies(by: "accept") {
            separate()
            output.append("Accept")
        }
        if contains(.variesByCoding), !head.varies(by: "accept-encoding") {
            separate()
            output.append("Accept-Encoding")
        }
        for field in sourceFields {
            if contains(.variesByAccept) && field == "accept" || contains(.variesByCoding) && field == "accept-encoding"
                || head.varies(by: field.utf8Span.span)
            {
                continue
            }
            separate()
            output.append(text: field)
        }
        output.append("\r\n")
    }
}
