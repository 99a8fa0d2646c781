internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// What single bytes are in a charset. iconv says it, once for all that read texts of that charset.
internal struct CharsetTable: Sendable {
    /// Whether each byte below 0x80 is that of ASCII where a character begins, and nothing that goes on. It isn't in the charsets of
    /// which each unit has more bytes, and in ISO-2022-JP, where an escape changes what follows.
    let keepsASCII: Bool
    /// Where each byte is a character whatever stands around it: its UTF-8, the first byte lowest, and how many bytes that has in the
    /// highest one; 0 for a byte that is no text. Empty for other charsets.
    let characters: [UInt32]

    private static let known = Mutex<[String: CharsetTable]>([:])

    /// The table of `charset`.
    ///
    /// Unsafe: `handle` has to convert from it to UTF-8. It is left in its first state.
    @unsafe
    static func of(_ charset: Charset, asking handle: iconv_t) -> CharsetTable {
        if let table = known.withLock({ $0[charset.name] }) { return table }
        // SAFETY: the caller's handle is passed on.
        let table = unsafe CharsetTable(charset, asking: handle)
        known.withLock { $0[charset.name] = table }
        return table
    }

    @unsafe
    private init(_ charset: Charset, asking handle: iconv_t) {
        var characters: [UInt32] = []
        var keepsASCII = true
        var areSingle = true
        let ownBytes = charset.ownBytes
        for byte in UInt8.min...UInt8.max {
            // SAFETY: as above.
            let answer = unsafe Answer(of: handle, to: byte)
            if let ownBytes {
                // A byte that iconv would compose with the next one stands for itself, too.
                let own = byte < 0x80 ? Unicode.Scalar(byte) : ownBytes[byte]
                characters.append(Self.entry(own.map { Array(String($0).utf8) } ?? answer.text))
                continue
            }
            if byte < 0x80, answer.isLater || answer.text != [byte] { keepsASCII = false }
            if answer.isLater || answer.text.count > 3 { areSingle = false }
            characters.append(Self.entry(answer.text))
        }
        self.keepsASCII = keepsASCII
        self.characters = areSingle && keepsASCII ? characters : []
    }

    private static func entry(_ text: [UInt8]) -> UInt32 {
        var entry = UInt32(text.count) << 24
        for (index, byte) in text.prefix(3).enumerated() { entry |= UInt32(byte) << UInt32(8 * index) }
        return entry
    }

    /// What iconv says of one byte at the start of a text, and at its end.
    private struct Answer {
        /// Empty where the byte is no text.
        var text: [UInt8] = []
        /// Whether more bytes are wanted before anything is said, or all of it.
        var isLater = false

        @unsafe
        init(of handle: iconv_t, to byte: UInt8) {
            var source = [CChar(bitPattern: byte)]
            var target = [CChar](repeating: 0, count: 32)
            var status: Int32 = 0
            var sooner = 0
            var all = 0
            // SAFETY: iconv reads one byte and writes within the 32; without buffers it goes back to its first state.
            unsafe source.withUnsafeMutableBufferPointer { source in
                unsafe target.withUnsafeMutableBufferPointer { target in
                    var from = source.baseAddress
                    var to = target.baseAddress
                    var left = 1
                    var room = target.count
                    _ = unsafe iconv(handle, nil, nil, nil, nil)
                    if unsafe iconv(handle, &from, &left, &to, &room) == -1 { status = errno }
                    sooner = target.count - room
                    _ = unsafe iconv(handle, nil, nil, &to, &room)
                    all = target.count - room
                }
            }
            isLater = status == EINVAL || status == 0 && (sooner == 0 || all > sooner)
            if status == 0 { text = target[0..<all].map { UInt8(bitPattern: $0) } }
        }
    }
}
