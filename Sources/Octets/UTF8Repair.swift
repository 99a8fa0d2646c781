/// Turns any bytes into UTF-8 wherever they are cut: what is well-formed passes, what is not is replaced or read as
/// ISO 8859-1.
///
/// An ill-formed sequence is a maximal subpart in the sense of Unicode §3.9 (table 3-8), as the WHATWG Encoding standard
/// has it: `E2 82 28` is one fault of two bytes and then `(`.
public struct UTF8Repair: Sendable {
    /// What becomes of an ill-formed sequence.
    public enum Mode: Hashable, Sendable {
        /// One U+FFFD.
        case replace
        /// Each of its bytes as the character of ISO 8859-1 with that number.
        case latin1
    }

    private let mode: Mode
    private var validator = UTF8Validator()
    /// The bytes of a character that has begun and isn't whole yet; at most three.
    private var held: [UInt8] = []

    public init(_ mode: Mode) {
        self.mode = mode
    }

    /// Appends `bytes` to `output`, mended. The start of a character that they cut is kept back until it is whole.
    public mutating func append(_ bytes: Span<UInt8>, to output: inout [UInt8]) {
        var at = 0
        while at < bytes.count {
            if held.isEmpty {
                // Whole characters go at once, so that what is left is a fault, or a character that the end cuts.
                let end = UTF8Validator.skipCharacters(bytes, from: at)
                output.append(contentsOf: bytes.extracting(at..<end))
                at = end
                guard at < bytes.count else { return }
            }
            if validator.check(bytes.extracting(at..<at + 1)) == nil {
                held.append(bytes[at])
                if validator.isComplete {
                    output.append(contentsOf: held)
                    held.removeAll(keepingCapacity: true)
                }
                at += 1
            } else if held.isEmpty {
                writeFault(bytes[at], to: &output)
                at += 1
            } else {
                // What was begun is the fault; this byte is looked at again as a first one.
                flush(to: &output)
            }
        }
    }

    /// Says that the text has ended: a character that is not whole is a fault. The next text may follow.
    public mutating func finish(to output: inout [UInt8]) {
        if !held.isEmpty { flush(to: &output) }
    }

    private mutating func flush(to output: inout [UInt8]) {
        switch mode {
        case .replace: writeFault(0, to: &output)
        case .latin1: for byte in held { writeFault(byte, to: &output) }
        }
        held.removeAll(keepingCapacity: true)
        validator = UTF8Validator()
    }

    private func writeFault(_ byte: UInt8, to output: inout [UInt8]) {
        switch mode {
        case .replace:
            output.append(0xEF)
            output.append(0xBF)
            output.append(0xBD)
        case .latin1:
            output.append(0xC0 | byte >> 6)
            output.append(0x80 | byte & 0x3F)
        }
    }
}
