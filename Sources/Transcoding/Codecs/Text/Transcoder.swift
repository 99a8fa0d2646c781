internal import Octets

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// Turns text of a charset into UTF-8, wherever it is cut. Bytes that are no text of the charset are refused, or become
/// U+FFFD, or the character of ISO 8859-1 with their number.
///
/// iconv does the work: it is in the C library, and linear. It is the one thing that this target asks of the system.
@safe internal final class Transcoder {
    private enum Outcome {
        case done
        /// The bytes end within a character.
        case cut
        case illegal
    }

    /// A byte that is no text of the charset, counted from the first of the piece; negative when an earlier piece has it.
    struct Invalid: Error {
        let index: Int
    }

    let charset: Charset
    private let mode: UTF8Repair.Mode?
    /// Whether a byte order mark at the start of a text says in which order its bytes are, and is none of it.
    private let readsMarks: Bool
    private let handle: iconv_t
    /// That of the other order of bytes, once a mark has asked for it.
    private var otherHandle: iconv_t?
    private var isOther = false
    /// Whether the text begins, and its mark may come.
    private var awaitsMark: Bool
    /// The bytes of a character that has begun.
    private var carried: [UInt8] = []
    private let ownBytes: [UInt8: Unicode.Scalar]?

    /// Nil when the system can't convert from that charset. Without a `mode`, bytes that are no text are refused. With `readsMarks`,
    /// texts of UTF-16 may begin with a byte order mark, as those that the standard decodes (§6, "decode").
    init?(_ charset: Charset, mode: UTF8Repair.Mode?, readsMarks: Bool = false) {
        // SAFETY: both names are C strings for the time of the call; the handle is kept until deinit.
        guard let opened = unsafe iconv_open("UTF-8", charset.system), Int(bitPattern: opened) != -1 else {
            return nil
        }
        self.charset = charset
        self.mode = mode
        ownBytes = charset.ownBytes
        self.readsMarks = readsMarks && charset.unitSize == 2
        awaitsMark = self.readsMarks
        unsafe handle = opened
    }

    deinit {
        // SAFETY: opened here, used by no other code.
        _ = unsafe iconv_close(handle)
        if let otherHandle = unsafe otherHandle { _ = unsafe iconv_close(otherHandle) }
    }

    /// The converter of the text at hand.
    private var current: iconv_t {
        // SAFETY: both stay open until deinit; `isOther` is true only where the other one is there.
        isOther ? unsafe otherHandle! : unsafe handle
    }

    /// Forgets a text that was begun.
    func restart() {
        carried.removeAll(keepingCapacity: true)
        // SAFETY: without buffers iconv goes back to its first state.
        _ = unsafe iconv(current, nil, nil, nil, nil)
        isOther = false
        awaitsMark = readsMarks
    }

    /// Reads on in what may be a byte order mark, and converts what is none.
    private func readMark(_ bytes: Span<UInt8>, _ at: inout Int, to output: inout [UInt8]) throws(Invalid) {
        while carried.count < 2, at < bytes.count {
            carried.append(bytes[at])
            at += 1
        }
        guard carried.count == 2 else { return }
        awaitsMark = false
        guard carried == [0xFE, 0xFF] || carried == [0xFF, 0xFE] else {
            return try settleCarried(before: at, to: &output)
        }
        let isBig = carried[0] == 0xFE
        carried.removeAll(keepingCapacity: true)
        guard isBig != (charset.system == "UTF-16BE") else { return }
        if unsafe otherHandle == nil {
            // SAFETY: both names are C strings for the time of the call; the handle is kept until deinit.
            let opened = unsafe iconv_open("UTF-8", isBig ? "UTF-16BE" : "UTF-16LE")
            guard let opened = unsafe opened, Int(bitPattern: opened) != -1 else { throw Invalid(index: at - 2) }
            unsafe otherHandle = opened
        }
        isOther = true
    }

    /// Appends what `bytes` make certain.
    func append(_ bytes: Span<UInt8>, to output: inout [UInt8]) throws(Invalid) {
        var at = 0
        if let ownBytes { return try appendEach(bytes, ownBytes, to: &output) }
        if awaitsMark { try readMark(bytes, &at, to: &output) }
        while !carried.isEmpty, at < bytes.count {
            carried.append(bytes[at])
            at += 1
            try settleCarried(before: at, to: &output)
        }
        while at < bytes.count {
            var consumed = 0
            let outcome = convert(bytes.extracting(at..<bytes.count), &consumed, to: &output)
            at += consumed
            switch outcome {
            case .done: return
            case .cut:
                for index in at..<bytes.count { carried.append(bytes[index]) }
                return
            case .illegal:
                let end = min(bytes.count, at + charset.unitSize)
                for index in at..<end where index == at || mode == .latin1 {
                    try replace(bytes[index], index: index, to: &output)
                }
                at = end
            }
        }
    }

    /// As above, of a charset of which each byte is a character.
    private func appendEach(
        _ bytes: Span<UInt8>, _ ownBytes: [UInt8: Unicode.Scalar], to output: inout [UInt8]
    ) throws(Invalid) {
        for index in bytes.indices {
            if bytes[index] < 0x80 {
                output.append(bytes[index])
            } else if let own = ownBytes[bytes[index]] {
                output.append(contentsOf: Array(String(own).utf8))
            } else {
                var consumed = 0
                if convert(bytes.extracting(index..<index + 1), &consumed, to: &output) != .done {
                    try replace(bytes[index], index: index, to: &output)
                }
                flush(to: &output)
            }
        }
    }

    /// Says that the text has ended, `end` bytes behind the start of the last piece, and makes ready for the next one.
    func finish(at end: Int, to output: inout [UInt8]) throws(Invalid) {
        // One character was begun, and so there is one fault, as in UTF-8.
        for (index, byte) in carried.enumerated() where index == 0 || mode == .latin1 {
            try replace(byte, index: end - carried.count, to: &output)
        }
        flush(to: &output)
        restart()
    }

    /// All bytes of one text.
    func convert(whole bytes: Span<UInt8>, to output: inout [UInt8]) throws(Invalid) {
        restart()
        try append(bytes, to: &output)
        try finish(at: bytes.count, to: &output)
    }

    /// Converts what is carried as far as it is whole; `end` is the index in the piece behind it.
    private func settleCarried(before end: Int, to output: inout [UInt8]) throws(Invalid) {
        while !carried.isEmpty {
            var consumed = 0
            let character = carried
            let outcome = convert(character.span, &consumed, to: &output)
            carried.removeFirst(consumed)
            switch outcome {
            case .done, .cut: return
            case .illegal:
                let size = min(carried.count, charset.unitSize)
                for index in 0..<size where index == 0 || mode == .latin1 {
                    try replace(carried[index], index: end - carried.count, to: &output)
                }
                carried.removeFirst(size)
            }
        }
    }

    private func replace(_ byte: UInt8, index: Int, to output: inout [UInt8]) throws(Invalid) {
        if charset.hasControls, byte >= 0x80, byte < 0xA0 {
            output += [0xC2, byte]
            return
        }
        switch mode {
        case nil: throw Invalid(index: index)
        case .replace: output += [0xEF, 0xBF, 0xBD]
        case .latin1: output += byte < 0x80 ? [byte] : [0xC0 | byte >> 6, 0x80 | byte & 0x3F]
        }
    }

    private func convert(_ bytes: Span<UInt8>, _ consumed: inout Int, to output: inout [UInt8]) -> Outcome {
        var outcome = Outcome.done
        var taken = 0
        // SAFETY: iconv reads within the span and writes within `room`, and says how far it came in both. It doesn't write
        // to its input, whatever its type says.
        unsafe bytes.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return }
            var source: UnsafeMutablePointer<CChar>? = unsafe UnsafeMutableRawPointer(mutating: base)
                .assumingMemoryBound(to: CChar.self)
            var left = buffer.count
            while left > 0 {
                let status = unsafe Self.step(current, &source, &left, to: &output)
                if status == 0 { continue }
                if status == E2BIG { continue }
                outcome = status == EINVAL ? .cut : .illegal
                break
            }
            taken = buffer.count - left
        }
        consumed = taken
        return outcome
    }

    private func flush(to output: inout [UInt8]) {
        var left = 0
        var source: UnsafeMutablePointer<CChar>?
        // SAFETY: without a source iconv writes what it keeps of a character that could have gone on.
        while unsafe Self.step(current, &source, &left, to: &output) == E2BIG {}
    }

    /// One call, with room for some output. Returns 0 or the error's number.
    @unsafe
    private static func step(
        _ handle: iconv_t, _ source: inout UnsafeMutablePointer<CChar>?, _ left: inout Int, to output: inout [UInt8]
    ) -> Int32 {
        let size = min(max(64, left * 2), 16 * 1024)
        var status: Int32 = 0
        let piece = unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            var target: UnsafeMutablePointer<CChar>? = unsafe UnsafeMutableRawPointer(buffer.baseAddress!)
                .assumingMemoryBound(to: CChar.self)
            var room = size
            // SAFETY: `size` bytes are at the target; what iconv wrote is initialised.
            let result =
                unsafe source == nil
                ? iconv(handle, nil, nil, &target, &room) : iconv(handle, &source, &left, &target, &room)
            if result == -1 { status = errno }
            count = size - room
        }
        output += piece
        return status
    }
}

extension Charset {
    /// The text that bytes are in this charset, without a byte order mark of UTF-8 or UTF-16 in front of it; nil where they are none,
    /// or where this system can't convert from it.
    package func text(of bytes: Span<UInt8>) -> String? {
        guard !isUTF8 else {
            let bytes = bytes.copied()
            let mark = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
            return String(validating: bytes[mark...], as: UTF8.self)
        }
        guard let transcoder = Transcoder(self, mode: nil, readsMarks: true) else { return nil }
        var text: [UInt8] = []
        guard (try? transcoder.convert(whole: bytes, to: &text)) != nil else { return nil }
        return String(decoding: text, as: UTF8.self)
    }
}
