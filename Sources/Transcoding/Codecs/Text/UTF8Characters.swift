internal import Octets

extension [UInt8] {
    internal mutating func append(_ character: UTF8Character) {
        for at in 0..<character.count { append(UInt8(truncatingIfNeeded: character.bytes >> UInt32(8 * at))) }
    }
}

// A span of a stored property would hold all of its owner.
extension ByteStore {
    internal var isValidUTF8: Bool { UTF8Validator.isValid(span) }

    internal mutating func append(_ other: ByteStore, _ range: Range<Int>) {
        append(contentsOf: other.slice(range))
    }

    internal mutating func append(_ character: UTF8Character) {
        for at in 0..<character.count { append(UInt8(truncatingIfNeeded: character.bytes >> UInt32(8 * at))) }
    }
}
