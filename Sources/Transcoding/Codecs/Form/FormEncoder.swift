package import Octets

extension Form {
    /// Writes fields as application/x-www-form-urlencoded: `name=value` joined with `&`, in the order they come.
    ///
    /// Letters, digits and `*-._` stand for themselves (WHATWG URL §5.2); a space is `%20` or `+` by `spaces`; everything
    /// else is percent-encoded with upper-case digits. A head with `hasValue == false` is written as a bare name, unless the
    /// name is empty: nothing at all would be no pair, so that one is written `=`.
    ///
    /// Under another dialect the bytes that stand for themselves are those of its library. A bare empty name is then
    /// nothing between two `&`, and `whatwg` has no bare names unless `nulls: key` asks for them.
    ///
    /// A file is refused with `form_file`, except under `files: base64`, which writes its bytes as a base64 text and gives
    /// up filename and media type, and under `files: drop`.
    package struct Encoder: FieldEncoder {
        package var output = OutputBuffer()

        internal let options: FieldEncodingOptions
        /// The bytes that stand for themselves.
        private let kept: ByteSet
        /// What each byte becomes.
        internal let table: [UInt32]
        private let hasBareNames: Bool
        /// Whether a bare name may be empty: nothing at all would be no pair to a reader.
        private let hasNamelessNulls: Bool
        /// Whether a space becomes `+`. qs doesn't reach those of a bare name.
        private let hasPlus: Bool
        private let hasPlusInBareNames: Bool
        internal var hasPairs = false
        private var content = Content.text
        private var base64 = Base64Encoder()
        private var base64Text = OutputBuffer()

        /// What is done with the content of the part at hand.
        private enum Content {
            /// It is written, after the `=`.
            case text
            /// The name was written bare: nothing is expected.
            case bare
            case base64
            case dropped
        }

        /// An encoder of one body under `options` (`dialect`, `spaces`, `files`).
        package init(options: FieldEncodingOptions) {
            self.options = options
            let style = FieldStyle.of(options.dialect)
            let escaping = style.escaping(options.spaces)
            kept = escaping.kept
            table = escaping.table
            hasPlus = options.spaces == .plus
            hasPlusInBareNames = hasPlus && style.hasPlusInBareNames
            hasBareNames = style.hasBareNames || options.nulls == .key
            hasNamelessNulls = style.namelessNull != .pair
        }

        /// Makes the encoder as new for another body, with its allocations kept. Bytes that were not taken are gone.
        package mutating func reset() {
            output.removeAll()
            base64Text.removeAll()
            base64 = Base64Encoder()
            hasPairs = false
            content = .text
        }

        /// Whether the body's Content-Type names the charset, as Alamofire's does.
        internal var hasCharset: Bool { options.dialect == .alamofire }

        package var isFull: Bool { output.isFull }

        package mutating func beginPart(_ head: borrowing PartHead) throws(ConversionError) {
            content = .text
            if head.isFile {
                switch options.files {
                case .base64: content = .base64
                case .drop:
                    content = .dropped
                    return
                case .stream, .object, .reject: throw Fault.file.error(field: head.name.lossyString())
                }
            } else if !head.hasValue, hasBareNames, hasNamelessNulls || !head.name.isEmpty {
                content = .bare
            }
            if hasPairs { output.append(UInt8(ascii: "&")) }
            hasPairs = true
            if content == .bare, hasPlus, !hasPlusInBareNames {
                output.append(percentEncoding: head.name, keeping: kept, plusForSpace: false)
            } else if content == .bare {
                write(head.name)
            } else {
                write(head.name)
                output.append(UInt8(ascii: "="))
            }
        }

        package mutating func content(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
            switch content {
            case .text: write(piece)
            case .bare:
                guard !piece.isEmpty else { return }
                output.append(UInt8(ascii: "="))
                content = .text
                write(piece)
            case .base64:
                base64.encode(piece, into: &base64Text)
                if isLast { base64.finish(into: &base64Text) }
                writeBase64()
            case .dropped: break
            }
        }

        /// Writes nothing between two `&`: what some libraries leave of an empty array.
        package mutating func gap() throws(ConversionError) {
            if hasPairs { output.append(UInt8(ascii: "&")) }
            hasPairs = true
        }

        package mutating func finish() throws(ConversionError) {}

        private mutating func writeBase64() {
            // A span of a property holds all of self, so the buffer is taken out.
            var text = OutputBuffer()
            swap(&text, &base64Text)
            write(text.span)
            text.removeAll()
            swap(&text, &base64Text)
        }

        private mutating func write(_ text: Span<UInt8>) {
            var at = 0
            while at < text.count {
                let end = min(text.count, at + Self.block)
                write(block: text.extracting(at..<end))
                at = end
            }
        }

        /// The bytes that room is made for at once, as if each were escaped.
        private static var block: Int { 2048 }

        private mutating func write(block: Span<UInt8>) {
            // SAFETY: the span holds what is read; there is room for three bytes for each of its own and the overhang.
            unsafe block.withUnsafeBytes { source in
                guard let bytes = source.baseAddress else { return }
                unsafe table.withUnsafeBufferPointer { table in
                    guard let table = table.baseAddress else { return }
                    unsafe output.fill(atLeast: 3 * source.count + FieldText.overhang) { target, _ in
                        unsafe FieldText.encode(
                            bytes, source.count, readable: source.count, to: UnsafeMutableRawPointer(target),
                            table: table)
                    }
                }
            }
        }
    }
}
