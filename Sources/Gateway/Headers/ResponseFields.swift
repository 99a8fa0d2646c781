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
    /// the body gets from us; `sourceFields` are the request's that are in the converted body, or in what rules write into the head.
    package func appendLines(
        to output: inout OutputBuffer, of head: borrowing MessageHead, contentType: Span<UInt8>?, coding: Coding?,
        sourceFields: [String]
    ) {
        if let contentType { HeadWriter.clean("Content-Type", contentType, into: &output) }
        if contains(.variesByAccept), !head.varies(by: "accept") {
            HeadWriter.field("Vary", "Accept", into: &output)
        }
        if contains(.variesByCoding), !head.varies(by: "accept-encoding") {
            HeadWriter.field("Vary", "Accept-Encoding", into: &output)
        }
        for field in sourceFields {
            if contains(.variesByAccept) && field == "accept" || contains(.variesByCoding) && field == "accept-encoding"
            {
                continue
            }
            let name = Array(field.utf8)
            if !head.varies(by: name.span) { HeadWriter.clean("Vary", name.span, into: &output) }
        }
        if let coding { HeadWriter.field("Content-Encoding", coding.name, into: &output) }
    }
}
