internal import Octets

/// Reads quoted-printable (RFC 2045 §6.7), wherever it is cut: `=` and two hexadecimal digits are a byte, `=` at the end of a
/// line joins it with the next one, and white space at the end of a line is none of the content's.
///
/// Lines end in CRLF. A control, a byte above 0x7E, or an `=` before anything else is a fault. At most 998 bytes of white
/// space are held, until it is known whether the line ends behind them.
internal struct QuotedPrintableDecoder {
    private enum State {
        case text, equals
        case digit(UInt8)
        case carriageReturn
        /// Behind an `=` and white space, where only a line end can follow.
        case softEnd
        case softCarriageReturn
    }

    private static var blankLimit: Int { 998 }

    private var state = State.text
    private var blanks = ByteStore()

    /// Appends the bytes that `text` makes certain. Returns nil, or the index of the first byte that can't stand where it
    /// does; the decoder must be made as new after that.
    mutating func decode(_ text: Span<UInt8>, into output: inout OutputBuffer) -> Int? {
        for index in text.indices {
            let byte = text[index]
            switch state {
            case .text:
                switch byte {
                case UInt8(ascii: "="):
                    flush(&output)
                    state = .equals
                case ASCII.space, ASCII.tab:
                    guard blanks.count < Self.blankLimit else { return index }
                    blanks.append(byte)
                case ASCII.carriageReturn: state = .carriageReturn
                case 0x21...0x7E:
                    flush(&output)
                    output.append(byte)
                default: return index
                }
            case .equals:
                if let high = ASCII.hexValue(byte) {
                    state = .digit(high)
                } else if byte == ASCII.carriageReturn {
                    state = .softCarriageReturn
                } else if byte == ASCII.space || byte == ASCII.tab {
                    state = .softEnd
                } else {
                    return index
                }
            case .digit(let high):
                guard let low = ASCII.hexValue(byte) else { return index }
                output.append(high << 4 | low)
                state = .text
            case .carriageReturn:
                guard byte == ASCII.lineFeed else { return index }
                blanks.removeAll()
                output.append("\r\n")
                state = .text
            case .softEnd:
                if byte == ASCII.carriageReturn {
                    state = .softCarriageReturn
                } else if byte != ASCII.space, byte != ASCII.tab {
                    return index
                }
            case .softCarriageReturn:
                guard byte == ASCII.lineFeed else { return index }
                state = .text
            }
        }
        return nil
    }

    /// Says that the text has ended and makes the decoder as new. Returns false when it ended within an escape.
    mutating func finish() -> Bool {
        defer {
            state = .text
            blanks.removeAll()
        }
        if case .text = state { return true }
        return false
    }

    private mutating func flush(_ output: inout OutputBuffer) {
        guard !blanks.isEmpty else { return }
        output.append(blanks)
        blanks.removeAll()
    }
}
