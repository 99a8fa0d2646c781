internal import Octets

extension [UInt8] {
    internal mutating func append(_ character: UTF8Character) {
        for at in 0..<character.count { append(UInt8(truncatingIfNeeded: character.bytes >> UInt32(8 * at))) }
    }
}

extension ByteStore {
    internal mutating func append(_ character: UTF8Character) {
        for at in 0..<character.count { append(UInt8(truncatingIfNeeded: character.bytes >> UInt32(8 * at))) }
    }
}
