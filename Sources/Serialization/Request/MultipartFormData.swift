public import HTTPTypes
internal import Octets
public import Transcoding

/// A multipart/form-data body (RFC 7578) made of parts from memory, files and streams. The counterpart of
/// `AFMultipartFormData`.
///
/// The length is known before the first byte is read. The body is pulled with `makeStream()`, as often as it is to be sent:
/// each stream starts anew with parts from memory and files. It is a value; a copy has the same parts and changes apart.
///
/// In names and filenames `"`, CR and LF are written `%22`, `%0D` and `%0A` (WHATWG HTML); NUL and the other controls are
/// refused. Nothing a caller puts into a name can become a header field. A name that would be written as another one of the body
/// was, as `a"` and `a%22`, is refused with `invalidPart`, but under the dialects `afnetworking` and `alamofire`, which send both.
public struct MultipartFormData: Sendable {
    /// Bytes of a packet that suit a slow network; see `throttle(packetSize:delay:)`.
    public static let suggestedPacketSize = 16 * 1024
    /// A wait between packets that suits a slow network: 0.2 s.
    public static let suggestedDelay = Duration.milliseconds(200)
    /// The sum of bodies from which Alamofire writes a form into a file instead of holding it in memory: 10,000,000 bytes.
    public static let defaultMemoryThreshold = 10_000_000

    internal enum Body: Sendable {
        case bytes([UInt8])
        case file(path: String)
        case source(BodySource)
    }

    internal struct Part: Sendable {
        /// The header lines with their line ends, and the empty line behind them.
        var header: [UInt8]
        var body: Body
        var length: Int
    }

    /// The boundary, without the hyphens that precede it in the body.
    public let boundary: String
    internal private(set) var parts: [Part] = []
    /// The sum of the parts' bodies in bytes, without headers and boundaries.
    public private(set) var bodyLength = 0
    /// The sum of the parts' headers in bytes.
    private var headerLength = 0
    /// The most bytes that a stream gives at a time; nil: as many as the caller's buffer takes.
    public private(set) var packetSize: Int?
    /// What a stream asks its reader to wait between two packets.
    public private(set) var delay = Duration.zero
    /// How often a part that is appended has a filename that isn't ASCII; the dialect's way unless set.
    public var filenames: FilenameStyle

    private var names = WrittenNames()
    private let checked: Multipart.Boundary
    private let dialect: Dialect
    /// Whether the caller chose the boundary, who may have chosen one that a body holds.
    private let isChosen: Bool

    /// A form without parts, with a boundary that can't be foreseen: 144 random bits. Under the dialects `afnetworking` and
    /// `alamofire` it has the form and the 64 bits of theirs, `Boundary+0123456789ABCDEF`.
    public init(dialect: Dialect = .recast) {
        isChosen = false
        self.dialect = dialect
        filenames = FieldEncodingOptions(dialect: dialect).filenames
        let boundary = Self.randomBoundary(dialect)
        checked = boundary
        self.boundary = String(decoding: boundary.bytes, as: UTF8.self)
    }

    /// A form without parts with a boundary of the caller's: 1 to 70 letters, digits and `'()+_,-./:=?`, or spaces within, of which
    /// none is the first or the last character.
    ///
    /// Throws `invalidBoundary` for another. That no body in memory holds it is checked when a stream is made. `dialect` says
    /// whose heads the parts have.
    public init(boundary: String, dialect: Dialect = .recast) throws(SerializationError) {
        isChosen = true
        self.dialect = dialect
        filenames = FieldEncodingOptions(dialect: dialect).filenames
        self.boundary = boundary
        guard let checked = Self.boundary(of: boundary) else {
            throw SerializationError(
                .invalidBoundary,
                reason: "a boundary has 1 to 70 letters, digits and '()+_,-./:=?, and spaces only within")
        }
        self.checked = checked
    }

    /// The value for Content-Type.
    public var contentType: String { String(decoding: checked.contentType(), as: UTF8.self) }

    /// The number of parts.
    public var count: Int { parts.count }
    /// Whether there are no parts. Such a body is the final boundary alone.
    public var isEmpty: Bool { parts.isEmpty }

    /// The length of the whole body in bytes, for Content-Length.
    public var contentLength: Int {
        // The first part's boundary has no line end in front.
        let delimiters = isEmpty ? 0 : count * delimiter(isFirst: false).count - 2
        return delimiters + headerLength + bodyLength + finalDelimiter.count
    }

    /// Whether the bodies together are below `threshold` bytes, so that the form is better held in memory than written into a
    /// file first: Alamofire's rule.
    public func isSmall(threshold: Int = defaultMemoryThreshold) -> Bool { bodyLength < threshold }

    /// Makes streams give at most `packetSize` bytes at a time and ask for `delay` after each, for slow networks.
    ///
    /// The stream doesn't sleep: see `MultipartBodyStream.nextPacket()`. `packetSize` is at least 1.
    public mutating func throttle(packetSize: Int, delay: Duration = .zero) {
        self.packetSize = max(1, packetSize)
        self.delay = max(.zero, delay)
    }
}

// MARK: Appending

extension MultipartFormData {
    /// Appends a field: `Content-Disposition: form-data; name="…"` and nothing else.
    ///
    /// Throws `invalidPart` for a name that can't be written.
    public mutating func append(_ data: [UInt8], name: String) throws(SerializationError) {
        try append(.bytes(data), length: data.count, head: try head(name))
    }

    /// Appends the UTF-8 of a text as a field.
    public mutating func append(_ text: String, name: String) throws(SerializationError) {
        try append(Array(text.utf8), name: name)
    }

    /// Appends bytes under a name and a media type of their own, and as a file where there is a filename. Where the type is an empty
    /// text, a field has no Content-Type, and a file that of bytes that nothing is known of, application/octet-stream.
    public mutating func append(
        _ data: [UInt8], name: String, fileName: String?, mimeType: String
    ) throws(SerializationError) {
        let head = try head(name, fileName: fileName, mimeType: mimeType)
        try append(.bytes(data), length: data.count, head: head)
    }

    /// Appends the file at `path`. It is opened when the stream comes to it; its size is read now.
    ///
    /// - Parameters:
    ///   - path: where the file is.
    ///   - name: the part's name.
    ///   - fileName: what the receiver sees; nil: the last component of the path.
    ///   - mimeType: nil: by the extension, application/octet-stream where that isn't known; see `MediaTypeTable`.
    /// - Throws: `fileUnreachable`, `notRegularFile`, `invalidPart`.
    public mutating func append(
        fileAt path: String, name: String, fileName: String? = nil, mimeType: String? = nil
    ) throws(SerializationError) {
        let length = try FileAccess.length(of: path)
        let last = FilePath.lastComponent(of: path)
        let head = try head(
            name, fileName: fileName ?? last, mimeType: mimeType ?? MediaTypeTable.mediaType(forFileName: last))
        try append(.file(path: path), length: length, head: head)
    }

    /// Appends the file that a URL of the form `file:///path` names; percent escapes in it are decoded.
    ///
    /// Throws `notFileURL` for any other, and what `append(fileAt:)` throws.
    public mutating func append(
        fileURL: String, name: String, fileName: String? = nil, mimeType: String? = nil
    ) throws(SerializationError) {
        guard let path = FilePath.path(ofURL: fileURL) else {
            throw SerializationError(.notFileURL, reason: "Expected URL to be a file URL")
        }
        try append(fileAt: path, name: name, fileName: fileName, mimeType: mimeType)
    }

    /// Appends a body that is pulled from a source, `length` bytes long. A source that gives fewer or more makes the stream
    /// throw `lengthMismatch`: what was announced is what is sent.
    public mutating func append(
        _ source: BodySource, length: Int, name: String, fileName: String?, mimeType: String
    ) throws(SerializationError) {
        try append(
            .source(source), length: length, head: try head(name, fileName: fileName, mimeType: mimeType))
    }

    /// Appends a part with exactly these header fields, in their order.
    public mutating func append(headers: HTTPFields, body: [UInt8]) {
        var header = OutputBuffer()
        for field in headers {
            header.append(text: field.name.rawName)
            header.append(": ")
            header.append(text: field.value)
            header.append("\r\n")
        }
        header.append("\r\n")
        add(Part(header: header.span.copied(), body: .bytes(body), length: body.count))
    }

    private mutating func add(_ part: Part) {
        parts.append(part)
        headerLength += part.header.count
        bodyLength += part.length
    }

    /// Appends a field for each scalar of `parameters`, named by its path as in a form, `user[name]`, but not escaped.
    /// Bytes go out as they are, null is an empty body.
    ///
    /// Throws `invalidParameters` where `encoding` can't carry a value.
    public mutating func append(
        parameters: Value, encoding: FieldEncodingOptions, limits: Limits = Limits()
    ) throws(SerializationError) {
        do throws(ConversionError) {
            var spelling = ValueSpelling(for: encoding, limits: limits)
            spelling.sendsDataAsFiles = true
            var flattener = Flattener(
                target: PartCollector(self), options: encoding.withoutSorting, limits: limits.forDocument)
            try parameters.emit(into: &flattener, as: spelling)
            self = flattener.target.form
        } catch {
            throw SerializationError(
                .invalidParameters, reason: "the parameters can't be written as multipart fields", conversion: error)
        }
    }

    /// The part's head with its text checked.
    private func head(_ name: String, fileName: String?, mimeType: String) throws(SerializationError) -> PartHead {
        var head = PartHead(name: Array(name.utf8).span)
        if let fileName { head.setFilename(Array(fileName.utf8).span) }
        if !mimeType.isEmpty {
            let type = Array(mimeType.utf8)
            guard isWritable(mediaType: type) else {
                throw SerializationError(
                    .invalidPart, reason: "the media type of the part \(name) is none (RFC 9110 section 8.3.1)",
                    conversion: Multipart.Fault.mediaTypeUnwritable.error(field: name))
            }
            head.setMediaType(type.span)
        }
        return head
    }

    /// The libraries whose way is followed write whatever they are given as a type; here it is at least printable ASCII.
    private func isWritable(mediaType: [UInt8]) -> Bool {
        switch dialect {
        case .afnetworking, .alamofire: mediaType.allSatisfy { (0x20...0x7E).contains($0) }
        case .recast, .qs, .php, .rack, .whatwg: ContentType.isMediaType(mediaType.span)
        }
    }

    private func head(_ name: String) throws(SerializationError) -> PartHead { PartHead(name: Array(name.utf8).span) }

    private mutating func append(_ body: Body, length: Int, head: PartHead) throws(SerializationError) {
        // Lengths are added up, and a sum that no number holds would stop the program.
        guard length >= 0, length <= Int.max / 4 - min(bodyLength, Int.max / 4) else {
            throw SerializationError(.invalidPart, reason: "a part's length is below 0 or beyond all bounds")
        }
        do throws(ConversionError) {
            try append(body, length: length, checking: head)
        } catch {
            throw SerializationError(
                .invalidPart, reason: "the name, filename or media type of a part can't be written", conversion: error)
        }
    }

    /// The header comes from the encoder that the proxy writes with, so that one function knows the rules of quoting.
    internal mutating func append(_ body: Body, length: Int, checking head: PartHead) throws(ConversionError) {
        var options = FieldEncodingOptions(dialect: dialect)
        options.filenames = filenames
        var encoder = Multipart.Encoder(boundary: checked, options: options)
        try encoder.beginPart(head)
        if dialect != .afnetworking, dialect != .alamofire, let fault = names.fault(in: head.name, NameQuoting(dialect))
        {
            throw fault.error(field: head.name.lossyString())
        }
        let delimiter = delimiter(isFirst: true).count
        let header = encoder.output.span.extracting(delimiter..<encoder.output.count).copied()
        add(Part(header: header, body: body, length: length))
    }
}

/// Takes the fields that parameters become.
private struct PartCollector: FieldSink {
    var form: MultipartFormData
    private var head = PartHead()
    private var content: [UInt8] = []

    init(_ form: MultipartFormData) { self.form = form }

    var isFull: Bool { false }

    mutating func beginPart(_ head: borrowing PartHead) throws(ConversionError) {
        self.head.setName(head.name)
        content = []
    }

    mutating func content(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        content.append(contentsOf: piece)
        if isLast { try form.append(.bytes(content), length: content.count, checking: head) }
    }
}

// MARK: Boundaries

extension MultipartFormData {
    /// What precedes a part's header.
    internal func delimiter(isFirst: Bool) -> [UInt8] {
        Array((isFirst ? "--" : "\r\n--").utf8) + checked.bytes + Array("\r\n".utf8)
    }

    /// What follows the last part. Without parts there is no line end to begin with.
    internal var finalDelimiter: [UInt8] {
        Array((parts.isEmpty ? "--" : "\r\n--").utf8) + checked.bytes + Array("--\r\n".utf8)
    }

    /// Throws when a body in memory holds a boundary that the caller chose; a random one is in none.
    internal func checkBoundary() throws(SerializationError) {
        guard isChosen else { return }
        let mark = Array("\r\n--".utf8) + checked.bytes
        for case .bytes(let bytes) in parts.lazy.map(\.body) {
            // The line end in front of the body counts.
            if bytes.starts(with: mark.dropFirst(2)) || Self.contains(mark, in: bytes) {
                throw SerializationError(
                    .boundaryInBody, reason: "a part holds the boundary; choose another or leave it to chance")
            }
        }
    }

    private static func contains(_ mark: [UInt8], in bytes: [UInt8]) -> Bool {
        var at = 0
        while at + mark.count <= bytes.count {
            guard let found = Scan.firstIndex(of: mark[0], in: bytes.span.extracting(at..<bytes.count)) else {
                return false
            }
            at += found
            guard at + mark.count <= bytes.count else { return false }
            if bytes[at..<at + mark.count].elementsEqual(mark) { return true }
            at += 1
        }
        return false
    }

    private static func boundary(of text: String) -> Multipart.Boundary? {
        guard !text.utf8.contains(where: { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }),
            text.utf8.first != ASCII.space
        else { return nil }
        return try? Multipart.Boundary(
            contentType: Array("multipart/form-data; boundary=\"\(text)\"".utf8).span, limits: Limits())
    }

    private static func randomBoundary(_ dialect: Dialect) -> Multipart.Boundary {
        var generator = SystemRandomNumberGenerator()
        let number: UInt64 = generator.next()
        let digits = String(number, radix: 16)
        let padded = String(repeating: "0", count: 16 - digits.count) + digits
        let text: String? =
            switch dialect {
            case .afnetworking: "Boundary+" + padded.uppercased()
            case .alamofire: "alamofire.boundary." + padded
            default: nil
            }
        return text.flatMap(boundary(of:)) ?? .random()
    }
}

/// Where a form goes: into a stream, memory or a file.
extension MultipartFormData {
    /// A stream over the whole body from its start. Each call makes another; a retry takes a new one.
    ///
    /// Throws `streamConsumed` where a part's source can be read only once and was, and `boundaryInBody` where a part in
    /// memory holds a boundary that the caller chose.
    public func makeStream() throws(SerializationError) -> MultipartBodyStream {
        for case .source(let source) in parts.lazy.map(\.body) where source.isConsumed { throw BodySource.consumed }
        try checkBoundary()
        return MultipartBodyStream(self)
    }

    /// The whole body in memory. Throws as `makeStream()` and `MultipartBodyStream.read(upTo:)`.
    public func encode() throws(SerializationError) -> [UInt8] {
        let stream = try makeStream()
        var bytes: [UInt8] = []
        bytes.reserveCapacity(contentLength)
        while true {
            let next = try stream.read(upTo: MultipartBodyStream.defaultPacketSize)
            if next.isEmpty { return bytes }
            bytes += next
        }
    }

    /// Writes the whole body into a file, which then has `contentLength` bytes. A file that stands at `path` is replaced.
    ///
    /// The file comes to its place when it is whole. Where anything fails, nothing is left behind and what stood there
    /// stays. It is a new file that its owner alone may read and write (mode 0600), whatever the mode of one that stood there, and
    /// a symbolic link at `path` is replaced itself, not the file that it leads to. Throws `fileUnwritable`, and as `encode()`.
    public func write(toFile path: String) throws(SerializationError) {
        let stream = try makeStream()
        let writer = try FileWriter(path)
        while true {
            let next = try stream.read(upTo: MultipartBodyStream.defaultPacketSize)
            if next.isEmpty { break }
            try writer.write(next)
        }
        try writer.finish()
    }
}

extension SerializedRequest {
    /// Writes the multipart body into a file and returns the head, whose Content-Type and Content-Length stay: for programs
    /// that upload files. A body in memory is written too; without a body the file is empty.
    ///
    /// Throws as `MultipartFormData.write(toFile:)`.
    public func writeBody(toFile path: String) throws(SerializationError) -> HTTPRequest {
        if case .multipart(let form) = body {
            try form.write(toFile: path)
        } else {
            let writer = try FileWriter(path)
            try writer.write(bodyBytes ?? [])
            try writer.finish()
        }
        return head
    }
}
