internal import Octets

// Fields whose values are comma-separated lists (RFC 9110 §5.6.1).
extension MessageHead {
    /// Whether a line of `field` holds the member `word`, letters in either case. Lists with quoted commas aren't known.
    public func lists(member word: Span<UInt8>, in field: KnownField) -> Bool {
        guard contains(field) else { return false }
        for line in 0..<fieldCount where known(line) == field {
            var start = 0
            while start <= value(line).count {
                let member = ListMember.at(start, in: value(line))
                if value(line).extracting(member.range).isEqualIgnoringCase(to: word) { return true }
                start = member.next
            }
        }
        return false
    }

    /// Whether the client takes trailer fields: `TE: trailers` in HTTP/1.1 (RFC 9110 §10.1.4).
    public var acceptsTrailers: Bool {
        guard contains(.te), capabilities.contains(.trailers) else { return false }
        for line in 0..<fieldCount where known(line) == .te {
            if ListMember.contains("trailers", in: value(line)) { return true }
        }
        return false
    }
}
