internal import Octets

extension FieldDecodingOptions {
    /// How bytes that are not UTF-8 are mended; nil when they are refused.
    internal var repair: UTF8Repair? {
        switch invalidUTF8 {
        case .reject: nil
        case .replace: UTF8Repair(.replace)
        case .latin1: UTF8Repair(.latin1)
        }
    }
}

extension UTF8Validator {
    /// Takes the next piece of a text. Returns the index of the first byte that can't be part of UTF-8, or the count when
    /// the text ends inside a character; nil when all is fine. After the last piece the next text may follow.
    internal mutating func firstFault(in piece: Span<UInt8>, isLast: Bool) -> Int? {
        if let fault = check(piece) { return fault }
        guard isLast else { return nil }
        let isWhole = isComplete
        self = UTF8Validator()
        return isWhole ? nil : piece.count
    }

    /// The same for bytes in a store: a span of a stored property would hold all of a non-copyable owner.
    internal mutating func firstFault(in piece: ByteStore, isLast: Bool) -> Int? {
        firstFault(in: piece.span, isLast: isLast)
    }
}

extension PartHead {
    /// `setName` for bytes in a store: a span of a stored property would hold all of a non-copyable owner.
    internal mutating func setName(copying name: ByteStore) { setName(name.span) }
}
