internal import Octets

/// What is done with the content of one part before it is handed on. Made for the first part that needs it, then reused.
internal final class ContentReading {
    var transfer: TransferDecoder.Encoding?
    var transferDecoder = TransferDecoder()
    /// Where the content is text of another charset than UTF-8.
    var usesTranscoder = false
    var transcoder: Transcoder?
    /// Whether the content is the name of a charset, and what there is of it.
    var isHint = false
    var hint = CharsetField()
    /// Where the content is a body of its own.
    var nested: NestedParts?
}

/// A multipart body in a part of another one.
internal final class NestedParts {
    var decoder: Multipart.Decoder

    init(_ decoder: consuming Multipart.Decoder) { self.decoder = decoder }
}

extension Multipart.Decoder {
    /// The charset of text that names none; nil for UTF-8.
    private var textCharset: Charset? {
        let charset = hintedCharset ?? declaredCharset ?? options.charsets.first
        return charset.flatMap { $0.isUTF8 ? nil : $0 }
    }

    /// Names are in the charset of the body.
    mutating func updateCharset() {
        let charset = textCharset
        hasTextCharset = charset != nil
        guard headReader.transcoder?.charset != charset else { return }
        headReader.transcoder = charset.flatMap { Transcoder($0, mode: options.transcoderMode) }
    }

    mutating func endReading() {
        if let reading { unused = reading }
        reading = nil
    }

    /// Decides how the content of the part at hand is read. Returns whether the part begins for the sink.
    mutating func beginReading(at offset: Int) throws(ConversionError) -> Bool {
        if reading != nil { endReading() }
        // Nearly all parts are in UTF-8 and come as they are.
        if headReader.isPlain, !hasTextCharset, options.charsetHint == .field { return true }
        let charset = headReader.charset ?? textCharset
        let isRead = !head.isFile && !headReader.isOpaqueText
        let isHint = isRead && options.charsetHint == .use && head.name.isEqual(to: CharsetField.name)
        let usesTranscoder = isRead && charset.map { !$0.isUTF8 } ?? false
        guard usesTranscoder || isHint || headReader.isMixed || headReader.transfer != .identity else { return true }
        let reading = unused ?? ContentReading()
        unused = nil
        self.reading = reading
        reading.transfer = headReader.transfer == .identity ? nil : headReader.transfer
        reading.transferDecoder.begin(headReader.transfer)
        reading.isHint = isHint
        reading.hint.begin()
        reading.nested = nil
        reading.usesTranscoder = usesTranscoder && !headReader.isMixed
        if headReader.isMixed {
            var declared: Charset?
            let type = head.mediaType.copied()
            let boundary: Multipart.Boundary
            do throws(ConversionError) {
                boundary = try Multipart.Boundary(
                    contentType: type.span, mediaType: "multipart/mixed", limits: limits, charsets: [],
                    declared: &declared)
            } catch {
                var error = error
                (error.offset, error.field) = (headers.offset, head.name.lossyString())
                throw error
            }
            reading.nested = NestedParts(
                Multipart.Decoder(
                    nested: boundary, named: ByteStore(copying: head.name), from: offset, after: parts,
                    options: options,
                    limits: limits))
            return false
        }
        if reading.usesTranscoder, let charset {
            if reading.transcoder?.charset != charset {
                reading.transcoder = Transcoder(charset, mode: options.transcoderMode, readsMarks: true)
            }
            guard let transcoder = reading.transcoder else {
                throw Multipart.Fault.charset.error(offset: headers.offset, field: head.name.lossyString())
            }
            transcoder.restart()
        }
        return !isHint
    }

    /// Hands on what a piece of content is read as. Returns whether that was an event.
    mutating func sendRead<Sink: FieldSink & ~Copyable>(
        _ piece: Span<UInt8>, offset: Int, isLast: Bool, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        guard let reading, reading.transfer != nil else {
            return try sendText(piece, offset: offset, isLast: isLast, into: &sink)
        }
        let fault = reading.transferDecoder.decode(piece, isLast: isLast)
        // Taken out, and its memory put back. What is wrong with it comes before a fault behind it, however they are cut.
        var decoded = OutputBuffer()
        swap(&decoded, &reading.transferDecoder.decoded)
        let isLast = isLast && fault == nil
        let sent =
            try isLast || !decoded.isEmpty
            ? sendText(decoded.span, offset: offset, isLast: isLast, into: &sink) : false
        if let fault { throw self.fault(.transferContent, at: offset + fault) }
        decoded.removeAll()
        swap(&decoded, &reading.transferDecoder.decoded)
        return sent
    }

    /// Where the byte `index` of what is handed on stands, which was read from `offset` on. Of a content that is decoded that is where the
    /// content begins: what an index is in what came depends on where that was cut.
    func place(_ offset: Int, _ index: Int) -> Int { reading?.transfer == nil ? offset + index : head.place.upperBound }

    private mutating func sendText<Sink: FieldSink & ~Copyable>(
        _ piece: Span<UInt8>, offset: Int, isLast: Bool, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        guard let reading else { return false }
        if let nested = reading.nested { return try feed(nested, piece, isLast: isLast, into: &sink) }
        if reading.isHint { return try takeHint(piece, isLast: isLast) }
        guard reading.usesTranscoder, let transcoder = reading.transcoder else {
            return try hand(on: piece, offset: offset, isLast: isLast, into: &sink)
        }
        mended.removeAll(keepingCapacity: true)
        do throws(Transcoder.Invalid) {
            try transcoder.append(piece, to: &mended)
            if isLast { try transcoder.finish(at: piece.count, to: &mended) }
        } catch {
            if !mended.isEmpty { try sink.content(mended.span, isLast: false) }
            throw fault(.invalidText, at: place(offset, error.index))
        }
        guard isLast || !mended.isEmpty else { return false }
        try sink.content(mended.span, isLast: isLast)
        return true
    }

    /// Gathers the name of the charset that the texts to come are in.
    private mutating func takeHint(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) -> Bool {
        if let charset = try reading?.hint.take(piece, isLast: isLast, offset: headers.offset) {
            setCharsets(declared: declaredCharset, hinted: charset)
        }
        return false
    }

    /// Reads on in a body that stands in the part at hand. A sink that is full has to take what this piece holds: it is at
    /// most as long as a slice of the input.
    private mutating func feed<Sink: FieldSink & ~Copyable>(
        _ nested: NestedParts, _ piece: Span<UInt8>, isLast: Bool, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        var at = 0
        while at < piece.count { at += try nested.decoder.feed(piece.extracting(at..<piece.count), into: &sink) }
        guard isLast else { return true }
        try nested.decoder.finish(into: &sink)
        count(partsSoFar: nested.decoder.parts)
        return true
    }
}

extension FieldDecodingOptions {
    /// What becomes of bytes that are none of their charset's; nil: they are refused.
    internal var transcoderMode: UTF8Repair.Mode? {
        switch invalidUTF8 {
        case .reject: nil
        case .replace: .replace
        case .latin1: .latin1
        }
    }
}
