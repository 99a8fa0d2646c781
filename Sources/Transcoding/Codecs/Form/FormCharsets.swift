internal import Octets

/// Reads the names and values of a form in another charset than UTF-8: that of the Content-Type, of `charset`, or of a field
/// `_charset_` that came before.
internal final class FormCharsets {
    /// Which pairs are read as in UTF-8, until another charset is named.
    enum Reach {
        case all
        /// Those whose names and values are of ASCII, once they are decoded.
        case ascii
        case none
    }

    private let options: FieldDecodingOptions
    private let usesHint: Bool
    private var transcoder: Transcoder?
    private var validator = UTF8Validator()
    private var repair: UTF8Repair?
    private var isHint = false
    private var hint = CharsetField()

    /// Nil where every form is in UTF-8.
    init?(_ options: FieldDecodingOptions) {
        usesHint = options.charsetHint == .use
        guard usesHint || options.charsets.contains(where: { !$0.isUTF8 }) else { return nil }
        self.options = options
        restart(declared: nil)
    }

    /// Makes ready for another form. `declared` is the charset that its Content-Type names.
    func restart(declared: Charset?) {
        isHint = false
        validator = UTF8Validator()
        repair = options.repair
        use(declared ?? options.charsets.first ?? .utf8)
    }

    /// Which pairs are read as in UTF-8 from here on.
    var reach: Reach {
        guard let transcoder else { return .all }
        return transcoder.keepsASCII ? .ascii : .none
    }

    private func use(_ charset: Charset) {
        if charset.isUTF8 {
            transcoder = nil
        } else if transcoder?.charset == charset {
            transcoder?.restart()
        } else {
            transcoder = Transcoder(charset, mode: options.transcoderMode)
        }
    }

    /// Reads a whole name. Throws at `offset`.
    func name(_ bytes: ByteStore, offset: Int) throws(ConversionError) -> [UInt8] {
        var text: [UInt8] = []
        try append(bytes.span, isLast: true, to: &text, offset: offset, field: bytes.span.lossyString())
        return text
    }

    /// Begins a value. Returns false for one that names a charset and is no field.
    func beginValue(of name: Span<UInt8>) -> Bool {
        isHint = usesHint && name.isEqual(to: CharsetField.name)
        hint.begin()
        return !isHint
    }

    /// Reads a piece of a value. Returns whether it is for the sink.
    func value(
        _ piece: Span<UInt8>, isLast: Bool, to text: inout [UInt8], offset: Int, field: Span<UInt8>
    ) throws(ConversionError) -> Bool {
        guard isHint else {
            try append(piece, isLast: isLast, to: &text, offset: offset, field: field.lossyString())
            return true
        }
        guard let charset = try hint.take(piece, isLast: isLast, offset: offset) else { return false }
        isHint = false
        use(charset)
        return false
    }

    private func append(
        _ piece: Span<UInt8>, isLast: Bool, to text: inout [UInt8], offset: Int, field: @autoclosure () -> String
    ) throws(ConversionError) {
        guard let transcoder else {
            if repair != nil {
                repair?.append(piece, to: &text)
                if isLast { repair?.finish(to: &text) }
            } else if validator.firstFault(in: piece, isLast: isLast) != nil {
                throw Form.Fault.invalidUTF8.error(offset: offset, field: field())
            } else {
                text.append(contentsOf: piece)
            }
            return
        }
        do throws(Transcoder.Invalid) {
            try transcoder.append(piece, to: &text)
            if isLast { try transcoder.finish(at: piece.count, to: &text) }
        } catch {
            throw Charset.Fault.invalid.error(offset: offset, field: field())
        }
    }
}

extension Form.Decoder {
    /// Says in which charset the Content-Type declares the form to be.
    internal func declare(_ contentType: Span<UInt8>) {
        guard let charsets else { return }
        charsets.restart(declared: Charset.named(in: contentType))
    }
}
