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
    /// What is known of the charset's bytes.
    private let table: CharsetTable
    /// Whether iconv has converted nothing of the text at hand: it is in its first state and keeps no character back.
    private var isFresh = true
    /// Where iconv writes.
    private var room: [UInt8] = []
    /// The bytes that `table` spells at once: what comes of them lies on the stack.
    private static let spelledAtOnce = 256

    /// Nil when the system can't convert from that charset. Without a `mode`, bytes that are no text are refused. With `readsMarks`,
    /// texts of UTF-16 may begin with a byte order mark, as those that the standard decodes (§6, "decode").
    init?(_ charset: Charset, mode: UTF8Repair.Mode?, readsMarks: Bool = false) {
        // SAFETY: both names are C strings for the time of the call; the handle is kept until deinit.
        guard let opened = unsafe iconv_open("UTF-8", charset.system), Int(bitPattern: opened) != -1 else {
            return nil
        }
        self.charset = charset
        self.mode = mode
        // SAFETY: the handle is open, and used by nobody else yet.
        table = unsafe CharsetTable.of(charset, asking: opened)
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

    /// Whether bytes below 0x80 are ASCII wherever a character begins, so that a text of such bytes is one of UTF-8.
    var keepsASCII: Bool { table.keepsASCII }

    /// Forgets a text that was begun.
    func restart() {
        if !carried.isEmpty { carried.removeAll(keepingCapacity: true) }
        if !isFresh {
            // SAFETY: without buffers iconv goes back to its first state.
            _ = unsafe iconv(current, nil, nil, nil, nil)
            isFresh = true
        }
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
        guard table.characters.isEmpty else { return try appendEach(bytes, to: &output) }
        var at = 0
        if isFresh, table.keepsASCII {
            // Behind the first other byte iconv may keep something back, so what follows is left to it.
            at = UTF8Validator.skipASCII(bytes, from: 0)
            output.append(contentsOf: bytes.extracting(0..<at))
        }
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
    private func appendEach(_ bytes: Span<UInt8>, to output: inout [UInt8]) throws(Invalid) {
        var at = 0
        while at < bytes.count {
            let end = UTF8Validator.skipASCII(bytes, from: at)
            output.append(contentsOf: bytes.extracting(at..<end))
            at = end + spell(bytes.extracting(end..<min(bytes.count, end + Self.spelledAtOnce)), to: &output)
            if at < bytes.count, table.characters[Int(bytes[at])] == 0 {
                try replace(bytes[at], index: at, to: &output)
                at += 1
            }
        }
    }

    /// Appends the characters that bytes stand for, up to the first one that stands for none. Returns the number of these bytes.
    private func spell(_ bytes: Span<UInt8>, to output: inout [UInt8]) -> Int {
        let characters = table.characters
        var taken = 0
        // SAFETY: a character is stored as four bytes, of which at most three count, so that the last one ends within the room; what is
        // handed on has been written.
        unsafe withUnsafeTemporaryAllocation(byteCount: Self.spelledAtOnce * 3 + 1, alignment: 4) { room in
            var written = 0
            while taken < bytes.count {
                let character = characters[Int(bytes[taken])]
                guard character != 0 else { break }
                unsafe room.storeBytes(of: character.littleEndian, toByteOffset: written, as: UInt32.self)
                written += Int(character >> 24)
                taken += 1
            }
            unsafe output.append(contentsOf: UnsafeRawBufferPointer(rebasing: room[..<written]))
        }
        return taken
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
        var room: [UInt8] = []
        swap(&room, &self.room)
        isFresh = false
        // SAFETY: iconv reads within the span and writes within `room`, and says how far it came in both. It doesn't write
        // to its input, whatever its type says.
        unsafe bytes.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return }
            var source: UnsafeMutablePointer<CChar>? = unsafe UnsafeMutableRawPointer(mutating: base)
                .assumingMemoryBound(to: CChar.self)
            var left = buffer.count
            while left > 0 {
                let status = unsafe Self.step(current, &source, &left, by: &room, to: &output)
                if status == 0 { continue }
                if status == E2BIG { continue }
                outcome = status == EINVAL ? .cut : .illegal
                break
            }
            taken = buffer.count - left
        }
        swap(&room, &self.room)
        consumed = taken
        return outcome
    }

    private func flush(to output: inout [UInt8]) {
        guard !isFresh else { return }
        var left = 0
        var source: UnsafeMutablePointer<CChar>?
        var room: [UInt8] = []
        swap(&room, &self.room)
        // SAFETY: without a source iconv writes what it keeps of a character that could have gone on.
        while unsafe Self.step(current, &source, &left, by: &room, to: &output) == E2BIG {}
        swap(&room, &self.room)
    }

    /// One call, with room for some output, which `room` is made to have. Returns 0 or the error's number.
    @unsafe
    private static func step(
        _ handle: iconv_t, _ source: inout UnsafeMutablePointer<CChar>?, _ left: inout Int, by room: inout [UInt8],
        to output: inout [UInt8]
    ) -> Int32 {
        let size = min(max(64, left * 2), 16 * 1024)
        if room.count < size { room = [UInt8](repeating: 0, count: size) }
        var status: Int32 = 0
        var written = 0
        unsafe room.withUnsafeMutableBufferPointer { buffer in
            var target: UnsafeMutablePointer<CChar>? = unsafe UnsafeMutableRawPointer(buffer.baseAddress!)
                .assumingMemoryBound(to: CChar.self)
            var free = buffer.count
            // SAFETY: `free` bytes are at the target, and iconv says how many of them it has left.
            let result =
                unsafe source == nil
                ? iconv(handle, nil, nil, &target, &free) : iconv(handle, &source, &left, &target, &free)
            if result == -1 { status = errno }
            written = buffer.count - free
        }
        output.append(contentsOf: room.span.extracting(0..<written))
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
