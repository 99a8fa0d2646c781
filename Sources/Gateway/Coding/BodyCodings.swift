package import ContentCoding
package import HTTPWire
internal import Octets
internal import Transcoding

extension MessageHead {
    /// Whether the body has a content coding, other than `identity`.
    package var hasContentCoding: Bool {
        contains(.contentEncoding) && appliedCodings(among: []) == nil
    }

    /// The codings that were applied to the body, in their order; `identity` and empty members of the list are none. Nil
    /// when one isn't among `allowed`, or when there are more than can be undone.
    package func appliedCodings(among allowed: [Coding]) -> AppliedCodings? {
        var codings = AppliedCodings()
        for line in 0..<fieldCount where known(line) == .contentEncoding {
            let value = value(line)
            var start = 0
            while start < value.count {
                let member = ListMember.at(start, in: value)
                let name = value.extracting(member.range)
                start = member.next
                if name.isEmpty || name.isEqualIgnoringCase(to: "identity") { continue }
                guard let coding = Coding(name: name), allowed.contains(coding), codings.append(coding) else {
                    return nil
                }
            }
        }
        return codings
    }
}

extension ConversionError {
    /// A body that was refused for its coding. It has no offset: that of the coded bytes would not help.
    package init(_ error: CodingError) {
        let kind: Kind =
            if case .malformed = error { .malformed } else { .limit }
        self.init(kind, code: error.code, reason: error.reason, setting: error.setting)
    }
}
