internal import Octets
package import Transcoding

/// How bodies are read whose fields are signed, all of them. A reference, since each request that is verified or signed has it.
package final class SignedBodyReading: Hashable, Sendable {
    package let limits: Limits
    let options: FieldDecodingOptions

    /// - Parameters:
    ///   - limits: `fields`, `key` and those of parts hold.
    ///   - decoding: of it, what decides on the bytes of texts: charsets, what isn't UTF-8, and transfer encodings. A sender knows nothing
    ///     of what names mean to a library.
    package init(_ limits: Limits = Limits(), _ decoding: FieldDecodingOptions = FieldDecodingOptions()) {
        self.limits = limits
        var options = FieldDecodingOptions()
        options.charsets = decoding.charsets
        options.invalidUTF8 = decoding.invalidUTF8
        options.transferEncoding = decoding.transferEncoding
        self.options = options
    }

    package static func == (one: SignedBodyReading, other: SignedBodyReading) -> Bool {
        one === other || one.limits == other.limits && one.options == other.options
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(limits)
        hasher.combine(options)
    }

    /// Without another bound than that a body of `count` bytes can have no more.
    package static func all(of count: Int) -> SignedBodyReading { SignedBodyReading(.all(of: count)) }

    /// As `all(of:)`, for a few fields of many: what isn't UTF-8 in another is nobody's matter, nor how it is encoded.
    fileprivate static func some(of count: Int) -> SignedBodyReading {
        var options = FieldDecodingOptions()
        options.invalidUTF8 = .replace
        options.transferEncoding = .decode
        return SignedBodyReading(.all(of: count), options)
    }
}

extension Limits {
    /// What a body of `count` bytes can have at most.
    fileprivate static func all(of count: Int) -> Limits {
        var limits = Limits()
        limits.fields = count
        limits.parts = count
        limits.key = count
        limits.field = count
        limits.partHeaders = count
        limits.partHeaderLine = count
        limits.partHeaderBytes = count
        limits.preamble = count
        return limits
    }
}

/// What a sender signs of the fields or members inside a body, for senders whose signatures need it alone.
enum BodyFields {
    typealias Field = (name: [UInt8], value: [UInt8])

    /// The texts of a form or of a multipart body in their order; nil of another type.
    ///
    /// Throws `body` for a body that can't be read, or that has a file, and the limit that it passes.
    static func all(
        _ content: Span<UInt8>, contentType: Span<UInt8>, _ reading: SignedBodyReading
    ) throws(SignatureError) -> [Field]? {
        let fields = Fields()
        var taker = AllTaker(fields: fields)
        guard try read(content, contentType: contentType, reading, into: &taker) else { return nil }
        if fields.hasFiles { throw .body }
        return fields.all
    }

    /// The texts of these names in a form or a multipart body, without those that it doesn't have; nil of another type. Nothing else of it
    /// is held, so that nothing bounds the others.
    ///
    /// Throws `body` for a body that can't be read, or where one of the texts is no Unicode, and `duplicated` for a name that comes twice.
    static func texts(
        named names: [String], _ content: Span<UInt8>, contentType: Span<UInt8>
    ) throws(SignatureError) -> [String: [UInt8]]? {
        let texts = Texts(names)
        var taker = TextTaker(texts: texts)
        let reading = SignedBodyReading.some(of: content.count)
        guard try read(content, contentType: contentType, reading, isSome: true, into: &taker) else { return nil }
        if texts.isRepeated { throw .duplicated }
        var found: [String: [UInt8]] = [:]
        for (name, text) in zip(names, texts.found) {
            guard let text else { continue }
            // It stands for bytes that are no UTF-8; nothing that is asked for has it.
            guard text.firstRange(of: [0xEF, 0xBF, 0xBD] as [UInt8]) == nil else { throw .body }
            found[name] = text
        }
        return found
    }

    private static func read<Sink: FieldSink & ~Copyable>(
        _ content: Span<UInt8>, contentType: Span<UInt8>, _ reading: SignedBodyReading, isSome: Bool = false,
        into sink: inout Sink
    ) throws(SignatureError) -> Bool {
        do throws(ConversionError) {
            return try FieldBody.read(
                content, contentType: contentType, options: reading.options, limits: reading.limits,
                passesCharsets: isSome, into: &sink)
        } catch {
            throw error.kind == .limit ? .limit(error) : .body
        }
    }

    static let formType = Array("application/x-www-form-urlencoded".utf8)
}

/// The fields that have come; a class, since decoders lend their sink.
private final class Fields {
    var all: [BodyFields.Field] = []
    var hasFiles = false
}

private struct AllTaker: FieldSink {
    let fields: Fields
    var isFile = false

    init(fields: Fields) { self.fields = fields }

    var isFull: Bool { false }

    mutating func beginPart(_ head: borrowing PartHead) throws(ConversionError) {
        isFile = head.isFile
        if isFile { fields.hasFiles = true } else { fields.all.append((head.name.copied(), [])) }
    }

    mutating func content(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        if !isFile { fields.all[fields.all.count - 1].value.append(contentsOf: piece) }
    }
}

/// Those that were asked for.
private final class Texts {
    let names: [[UInt8]]
    var found: [[UInt8]?]
    var isRepeated = false

    init(_ names: [String]) {
        self.names = names.map { Array($0.utf8) }
        found = names.map { _ in nil }
    }
}

private struct TextTaker: FieldSink {
    let texts: Texts
    /// The place of the text that comes, among those that were asked for.
    var place: Int?

    init(texts: Texts) { self.texts = texts }

    var isFull: Bool { false }

    mutating func beginPart(_ head: borrowing PartHead) throws(ConversionError) {
        place = nil
        if head.isFile { return }
        for (index, name) in texts.names.enumerated() where head.name.isEqual(to: name.span) { place = index }
        guard let place else { return }
        if texts.found[place] != nil { texts.isRepeated = true }
        texts.found[place] = []
    }

    mutating func content(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        if let place { texts.found[place]?.append(contentsOf: piece) }
    }
}
