package import Octets

extension JSON {
    /// Writes events as a compact JSON text (RFC 8259).
    ///
    /// Of a string only `"`, `\` and the controls below U+0020 are escaped: `\b \t \n \f \r` and `\u00xx`. Everything else
    /// goes out as it came, numbers as their text. A file becomes a string in base64 (RFC 4648 §4) while its pieces come, in an
    /// object under `files: object`.
    /// Nothing but two bytes of a file is held besides the output.
    package struct Encoder: EventEncoder {
        /// The bytes written so far and not taken yet.
        package var output = OutputBuffer()

        private let options: EncodingOptions
        /// Whether a value stands before the next one in the same container.
        internal var needsComma = false
        internal private(set) var isInText = false
        private var base64 = Base64Encoder()
        /// Whether the file at hand is the `data` of an object.
        private var isInFileObject = false

        package init(options: EncodingOptions) {
            self.options = options
        }

        package var isFull: Bool { output.isFull }

        /// Whether something stands before what comes next, in this document.
        internal var hasBegun: Bool { needsComma || isInText }

        /// Makes the encoder ready for another body. The output is emptied and its allocation kept.
        package mutating func reset() {
            output.removeAll()
            needsComma = false
            isInText = false
            base64 = Base64Encoder()
            isInFileObject = false
        }

        package mutating func beginObject() {
            output.append(opening(OutputBuffer.Word("{")))
            needsComma = false
        }

        package mutating func endObject() {
            output.append(OutputBuffer.Word("}"))
            needsComma = true
        }

        package mutating func beginArray() {
            output.append(opening(OutputBuffer.Word("[")))
            needsComma = false
        }

        package mutating func endArray() {
            output.append(OutputBuffer.Word("]"))
            needsComma = true
        }

        package mutating func key(_ name: Span<UInt8>) {
            if Scan.isPlainText(name) {
                output.append(opening(Self.quote), name, Self.quoteColon)
            } else {
                output.append(opening(Self.quote))
                appendEscaped(name)
                output.append(Self.quoteColon)
            }
            needsComma = false
        }

        package mutating func string(_ piece: Span<UInt8>, isLast: Bool) {
            if isLast, !isInText, Scan.isPlainText(piece) {
                output.append(opening(Self.quote), piece, Self.quote)
                needsComma = true
                return
            }
            if !isInText { output.append(opening(Self.quote)) }
            appendEscaped(piece)
            isInText = !isLast
            if isLast { endText() }
        }

        package mutating func number(_ text: Span<UInt8>) {
            output.append(opening(OutputBuffer.Word()), text, OutputBuffer.Word())
            needsComma = true
        }

        package mutating func bool(_ value: Bool) {
            output.append(opening(value ? OutputBuffer.Word("true") : OutputBuffer.Word("false")))
            needsComma = true
        }

        package mutating func null() {
            output.append(opening(OutputBuffer.Word("null")))
            needsComma = true
        }

        /// Begins a file. Throws `JSON.Fault.file` unless the options say `base64` or `object`.
        package mutating func beginFile(_ head: borrowing PartHead) throws(ConversionError) {
            try beginFile(head, as: options.files)
        }

        /// As above, by a policy of the file's own. Throws `JSON.Fault.fileType` where an object is to hold a media type
        /// that is not UTF-8.
        internal mutating func beginFile(
            _ head: borrowing PartHead, as policy: FilePolicy
        ) throws(ConversionError) {
            isInFileObject = try openFile(head, as: policy, refusal: Fault.file, typeRefusal: .fileType)
            output.append(opening(Self.quote))
        }

        package mutating func fileContent(_ piece: Span<UInt8>, isLast: Bool) {
            base64.encode(piece, into: &output)
            guard isLast else { return }
            base64.finish(into: &output)
            endText()
            if isInFileObject { endObject() }
            isInFileObject = false
        }

        package mutating func finish() {}

        private static var quote: OutputBuffer.Word { OutputBuffer.Word(bits: 0x22, count: 1) }
        private static var quoteColon: OutputBuffer.Word { OutputBuffer.Word(bits: 0x3A22, count: 2) }

        /// What begins a value or a name, behind a comma where one is due.
        private func opening(_ word: OutputBuffer.Word) -> OutputBuffer.Word {
            needsComma ? word.preceded(by: UInt8(ascii: ",")) : word
        }

        private mutating func endText() {
            output.append(Self.quote)
            needsComma = true
        }

        private mutating func appendEscaped(_ piece: Span<UInt8>) {
            var at = 0
            while true {
                let end = Scan.textRun(in: piece, from: at).end
                if end > at { output.append(piece.extracting(at..<end)) }
                guard end < piece.count else { return }
                appendEscape(of: piece[end])
                at = end + 1
            }
        }

        private mutating func appendEscape(of byte: UInt8) {
            switch byte {
            case UInt8(ascii: "\""): output.append("\\\"")
            case UInt8(ascii: "\\"): output.append("\\\\")
            case 0x08: output.append("\\b")
            case 0x09: output.append("\\t")
            case 0x0A: output.append("\\n")
            case 0x0C: output.append("\\f")
            case 0x0D: output.append("\\r")
            default:
                output.append("\\u00")
                output.append(ASCII.lowerHexDigit(byte >> 4))
                output.append(ASCII.lowerHexDigit(byte & 15))
            }
        }
    }
}

// Members of objects that programs write by themselves: problems, answers of the admin port, what the echo saw.
extension JSON.Encoder {
    /// A member's name.
    package mutating func key(_ name: String) {
        key(name.utf8Span.span)
    }

    /// A string.
    package mutating func string(_ value: String) {
        string(value.utf8Span.span, isLast: true)
    }

    /// A number.
    package mutating func number(_ value: Int) {
        var text = OutputBuffer()
        text.append(decimal: value)
        number(text.span)
    }

    /// A member with a string.
    package mutating func member(_ name: String, _ value: String) {
        key(name)
        string(value)
    }

    /// A member with a string of bytes; what of them is no UTF-8 is shown as U+FFFD.
    package mutating func member(_ name: String, bytes value: Span<UInt8>) {
        guard UTF8Validator.isValid(value) else { return member(name, value.lossyString()) }
        key(name)
        string(value, isLast: true)
    }

    /// A member with a number.
    package mutating func member(_ name: String, number value: Int) {
        key(name)
        number(value)
    }

    /// A member whose value is JSON text already.
    package mutating func member(_ name: String, document: Span<UInt8>) {
        key(name)
        number(document)
    }
}
