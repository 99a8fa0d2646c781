internal import HTTPWire
internal import Octets
internal import Transcoding

/// Reads a request's body as what its Content-Type says, and tells what it found: fields and files one by one, bytes
/// counted. Long texts are counted and not shown, so that a body of any size costs bounded memory.
struct EchoBody: ~Copyable {
    private var form: Form.Decoder?
    private var multipart: Multipart.Decoder?
    private var json: JSON.Decoder?
    private var document = JSON.Encoder(options: JSON.EncodingOptions())
    private var parts = EchoParts()
    private var fault: ConversionError?
    private var count = 0
    /// The first bytes of a body of another type.
    private var start: [UInt8] = []

    /// Bytes of text that an answer shows in all.
    static let shown = 64 * 1024

    /// `contentType`: the value of the request's Content-Type, empty when there is none.
    init(contentType: Span<UInt8>) {
        let end = Scan.firstIndex(of: UInt8(ascii: ";"), in: contentType) ?? contentType.count
        let type = contentType.extracting(0..<end)
        if type.isEqualIgnoringCase(to: "application/json") {
            var options = JSON.DecodingOptions()
            options.duplicates = .keep
            json = JSON.Decoder(options: options, limits: Limits())
        } else if type.isEqualIgnoringCase(to: "application/x-www-form-urlencoded") {
            form = Form.Decoder(options: FieldDecodingOptions(), limits: Limits())
        } else if type.isEqualIgnoringCase(to: "multipart/form-data") {
            do throws(ConversionError) {
                let boundary = try Multipart.Boundary(contentType: contentType, limits: Limits())
                multipart = Multipart.Decoder(boundary: boundary, options: FieldDecodingOptions(), limits: Limits())
            } catch {
                fault = error
            }
        }
    }

    /// Takes the next bytes of the body.
    mutating func take(_ piece: Span<UInt8>) {
        count += piece.count
        guard fault == nil else { return }
        do throws(ConversionError) {
            if form != nil {
                _ = try form!.feed(piece, into: &parts)
            } else if multipart != nil {
                _ = try multipart!.feed(piece, into: &parts)
            } else if json != nil {
                try takeDocument(piece)
            } else {
                start.append(contentsOf: piece.extracting(0..<min(Self.shown - start.count, piece.count)))
            }
        } catch {
            fault = error
        }
    }

    /// A document is shown whole or not at all: half of one would read as something else.
    private mutating func takeDocument(_ piece: Span<UInt8>) throws(ConversionError) {
        var at = 0
        while at < piece.count {
            at += try json!.feed(piece.extracting(at..<piece.count), into: &document)
            if count > Self.shown { document.output.removeAll() }
        }
    }

    /// Ends the body and writes the members that describe it into an open object.
    mutating func describe(into object: inout JSON.Encoder) throws(ConversionError) {
        do throws(ConversionError) {
            if form != nil { try form!.finish(into: &parts) }
            if multipart != nil { try multipart!.finish(into: &parts) }
            if json != nil { try json!.finish(into: &document) }
        } catch {
            fault = fault ?? error
        }
        object.member("body_bytes", number: count)
        if let fault {
            object.member("error", fault.description)
        } else if form != nil || multipart != nil {
            object.key("fields")
            parts.write(into: &object)
        } else if json != nil {
            if count <= Self.shown { object.member("json", document: document.output.span) }
        } else if count > 0, count <= Self.shown {
            object.member("text", start.span.lossyString())
        }
    }
}

/// The fields and files of a body, as far as they are shown.
private struct EchoParts: FieldSink, ~Copyable {
    private struct Part {
        var name: String
        var filename: String?
        var mediaType: String?
        var count = 0
        var text: [UInt8]? = []
    }

    private var parts: [Part] = []
    private var room = EchoBody.shown

    var isFull: Bool { false }

    mutating func beginPart(_ head: borrowing PartHead) throws(ConversionError) {
        var part = Part(name: head.name.lossyString())
        if head.hasFilename { part.filename = head.filename.lossyString() }
        if head.hasMediaType { part.mediaType = head.mediaType.lossyString() }
        if head.isFile { part.text = nil }
        parts.append(part)
    }

    mutating func content(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        let last = parts.count - 1
        parts[last].count += piece.count
        if parts[last].text == nil { return }
        if piece.count <= room {
            room -= piece.count
            parts[last].text?.append(contentsOf: piece)
        } else {
            parts[last].text = nil
        }
    }

    /// Writes the parts as an array of objects.
    func write(into json: inout JSON.Encoder) {
        json.beginArray()
        for part in parts {
            json.beginObject()
            json.member("name", part.name)
            if let filename = part.filename { json.member("filename", filename) }
            if let mediaType = part.mediaType { json.member("type", mediaType) }
            if let text = part.text {
                json.member("value", text.span.lossyString())
            } else {
                json.member("bytes", number: part.count)
            }
            json.endObject()
        }
        json.endArray()
    }
}
