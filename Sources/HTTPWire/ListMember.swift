internal import Octets

/// One member of a comma-separated field value (RFC 9110 §5.6.1), without the white space around it.
package struct ListMember {
    package var range: Range<Int>
    /// Where the next member starts; beyond the count when this was the last one.
    package var next: Int

    /// The member that starts at `start`; it is empty where the list has an empty one. Commas in quoted strings and comments aren't known
    /// here: no list that is read by this has them, but Via, whose comments name no proxy.
    package static func at(_ start: Int, in value: Span<UInt8>) -> ListMember {
        let comma = Scan.firstIndex(of: UInt8(ascii: ","), in: value, from: start) ?? value.count
        return ListMember(range: value.rangeWithoutBlanks(in: start..<comma), next: comma + 1)
    }

    /// Whether a member of the list is the word `word`, letters in either case.
    static func contains(_ word: StaticString, in value: Span<UInt8>) -> Bool {
        var start = 0
        while start <= value.count {
            let member = at(start, in: value)
            if value.extracting(member.range).isEqualIgnoringCase(to: word) { return true }
            start = member.next
        }
        return false
    }

    /// Whether the bytes are one token.
    package static func isToken(_ bytes: Span<UInt8>) -> Bool {
        bytes.count > 0 && Scan.endOfToken(in: bytes, from: 0) == bytes.count
    }
}
