internal import ExtProc
internal import Octets

/// Writes messages of OTLP (opentelemetry.proto.trace.v1 and its kin) as protobuf: a span's fields one by one, and then what
/// encloses spans in a request.
///
/// A span has at most `largestSpan` bytes: its texts are cut to `textLimit`, a state that is longer than W3C Trace Context lets one
/// be (§3.3.1.5), or that holds more than ASCII (§3.3.1.3.2), is left out, and its attributes are those of Tracer.swift.
struct SpanWriter {
    /// The values of `Span.SpanKind` that we write.
    enum Kind: Int {
        case `internal` = 1
        case server = 2
        case client = 3
    }

    /// Bytes of a text at most.
    static let textLimit = 256
    /// Bytes of `tracestate` at most.
    static let stateLimit = 512
    /// Bytes of a span at most: 8 KiB.
    static let largestSpan = 8 * 1024

    private(set) var output = OutputBuffer()
    /// A value while it is made, before its length can be written.
    private var value = OutputBuffer()

    init() {}

    /// The bytes that were written, which the writer forgets.
    mutating func take() -> [UInt8] {
        let bytes = output.span.copied()
        output.removeAll()
        return bytes
    }

    // MARK: A span

    /// Ids, kind and times, and the name that `name` appends. A parent of 0 is none.
    mutating func begin(
        trace high: UInt64, _ low: UInt64, span: UInt64, parent: UInt64, state: Span<UInt8>, kind: Kind,
        start: UInt64, end: UInt64, name: (inout OutputBuffer) -> Void
    ) {
        FieldWriter.head(1, 16, to: &output)
        append(high)
        append(low)
        FieldWriter.head(2, 8, to: &output)
        append(span)
        // Bytes that are no UTF-8 would make the whole request of many spans one that no collector can read.
        if !state.isEmpty, state.count <= Self.stateLimit, SpanText.isPlain(state) {
            FieldWriter.bytes(3, state, to: &output)
        }
        if parent != 0 {
            FieldWriter.head(4, 8, to: &output)
            append(parent)
        }
        make(name) { writer, name in
            let isShort = SpanText.isPlain(name) && name.count <= Self.textLimit
            let bounded = isShort ? [] : SpanText.bounded(name, to: Self.textLimit)
            FieldWriter.bytes(5, isShort ? name : bounded.span, to: &writer.output)
        }
        FieldWriter.number(6, kind.rawValue, to: &output)
        FieldWriter.fixed(7, start, to: &output)
        FieldWriter.fixed(8, max(start, end), to: &output)
    }

    /// Says that it failed: `Status` with `STATUS_CODE_ERROR`.
    mutating func fail() {
        FieldWriter.head(15, 2, to: &output)
        FieldWriter.number(3, 2, to: &output)
    }

    // MARK: Attributes

    /// An attribute that is a text, which is cut and made UTF-8; nothing where it is empty.
    mutating func text(_ key: StaticString, _ value: Span<UInt8>, field: Int = 9) {
        if value.isEmpty { return }
        guard SpanText.isPlain(value), value.count <= Self.textLimit else {
            let bounded = SpanText.bounded(value, to: Self.textLimit)
            return write(key, bounded.span, field)
        }
        write(key, value, field)
    }

    /// As above, of a text of ours, which is short and ASCII.
    mutating func text(_ key: StaticString, _ value: StaticString) {
        begin(key, FieldWriter.fieldCount(1, value.utf8CodeUnitCount), 9) {
            FieldWriter.head(1, value.utf8CodeUnitCount, to: &$0)
        }
        output.append(value)
    }

    mutating func text(_ key: StaticString, _ value: String, field: Int = 9) {
        text(key, value.utf8Span.span, field: field)
    }

    /// As above, of the text that `body` appends.
    mutating func text(_ key: StaticString, of body: (inout OutputBuffer) -> Void) {
        make(body) { $0.text(key, $1) }
    }

    /// Has a text made in a buffer that is kept, and then written.
    private mutating func make(
        _ body: (inout OutputBuffer) -> Void, then write: (inout SpanWriter, Span<UInt8>) -> Void
    ) {
        var made = OutputBuffer()
        swap(&made, &value)
        body(&made)
        write(&self, made.span)
        made.removeAll()
        made.shrink(to: Self.largestSpan)
        swap(&made, &value)
    }

    private mutating func write(_ key: StaticString, _ value: Span<UInt8>, _ field: Int) {
        begin(key, FieldWriter.fieldCount(1, value.count), field) { FieldWriter.head(1, value.count, to: &$0) }
        output.append(value)
    }

    mutating func number(_ key: StaticString, _ value: Int) {
        let value = max(0, value)
        begin(key, 1 + FieldWriter.count(of: value), 9) { FieldWriter.varint(3 << 3, to: &$0) }
        FieldWriter.varint(value, to: &output)
    }

    /// An attribute in seconds.
    mutating func seconds(_ key: StaticString, nanoseconds: UInt64) {
        begin(key, 9, 9) { FieldWriter.varint(4 << 3 | 1, to: &$0) }
        output.append(.init(bits: (Double(nanoseconds) / 1e9).bitPattern, count: 8))
    }

    /// A `KeyValue` up to what its `AnyValue`, which has `count` bytes, begins with: at most four bytes that `value` adds.
    @inline(__always)
    private mutating func begin(
        _ key: StaticString, _ count: Int, _ field: Int, value: (inout OutputBuffer.Word) -> Void
    ) {
        let name = key.utf8CodeUnitCount
        var before = OutputBuffer.Word()
        FieldWriter.head(
            field, FieldWriter.fieldCount(1, name) + FieldWriter.fieldCount(2, count), to: &before)
        FieldWriter.head(1, name, to: &before)
        var after = OutputBuffer.Word()
        FieldWriter.head(2, count, to: &after)
        value(&after)
        output.append(before, key, after)
    }

    /// The eight bytes of an id.
    private mutating func append(_ number: UInt64) {
        output.append(.init(bits: number.byteSwapped, count: 8))
    }

    // MARK: A request

    /// An `ExportTraceServiceRequest` of one resource: `spans` are messages that `take` returned.
    static func request(_ spans: [[UInt8]], service: String) -> OutputBuffer {
        var resource = SpanWriter()
        resource.text("service.name", service, field: 1)
        resource.text("telemetry.sdk.name", "recast", field: 1)
        resource.text("telemetry.sdk.language", "swift", field: 1)
        resource.text("telemetry.sdk.version", BuildInformation.version, field: 1)
        var scope = OutputBuffer()
        FieldWriter.bytes(1, Array("recast".utf8).span, to: &scope)
        FieldWriter.bytes(2, Array(BuildInformation.version.utf8).span, to: &scope)
        let count = spans.reduce(FieldWriter.fieldCount(1, scope.count)) {
            $0 + FieldWriter.fieldCount(2, $1.count)
        }
        let inner = FieldWriter.fieldCount(1, resource.output.count) + FieldWriter.fieldCount(2, count)
        var output = OutputBuffer()
        output.reserve(FieldWriter.fieldCount(1, inner))
        FieldWriter.head(1, inner, to: &output)
        FieldWriter.bytes(1, resource.output.span, to: &output)
        FieldWriter.head(2, count, to: &output)
        FieldWriter.bytes(1, scope.span, to: &output)
        for span in spans { FieldWriter.bytes(2, span.span, to: &output) }
        return output
    }

    /// The spans of such a request.
    static func spans(in request: Span<UInt8>) -> [[UInt8]] {
        var ranges = [0..<request.count]
        // Of the request the resource's spans, of those the scope's, and each of these.
        for number in [1, 2, 2] {
            var inner: [Range<Int>] = []
            for range in ranges {
                var reader = FieldReader(range)
                while let field = try? reader.next(in: request) {
                    if field.number == number, let bytes = try? field.bytes() { inner.append(bytes) }
                }
            }
            ranges = inner
        }
        return ranges.map { request.extracting($0).copied() }
    }

    /// How many spans the collector says that it has refused, in an `ExportTraceServiceResponse`; 0 where that can't be read.
    static func rejected(in response: Span<UInt8>) -> Int {
        var rejected: UInt64 = 0
        forEachField(ofPartialSuccess: response) { field in
            if field.number == 1, let count = try? field.integer() { rejected = count }
        }
        // An int64: what is below 0 is no count.
        return rejected > UInt64(Int64.max) ? 0 : Int(rejected)
    }

    /// Why, as the same answer says it: printable ASCII of it, cut; empty where it says nothing.
    static func message(in response: Span<UInt8>) -> String {
        var place = 0..<0
        forEachField(ofPartialSuccess: response) { field in
            if field.number == 2, let text = try? field.bytes() { place = text }
        }
        let shown = response.extracting(place).extracting(first: min(place.count, textLimit)).copied()
        return String(decoding: shown.map { (0x20..<0x7F).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
    }

    /// Calls `body` with each field of the `ExportTracePartialSuccess` in such an answer, as far as it can be read.
    private static func forEachField(
        ofPartialSuccess response: Span<UInt8>, _ body: (FieldReader.Field) -> Void
    ) {
        var reader = FieldReader(0..<response.count)
        while let field = try? reader.next(in: response) {
            guard field.number == 1, let range = try? field.bytes() else { continue }
            var partial = FieldReader(range)
            while let field = try? partial.next(in: response) { body(field) }
        }
    }
}

/// Texts as protobuf takes them: UTF-8, and no longer than is wanted.
enum SpanText {
    static func isPlain(_ text: Span<UInt8>) -> Bool {
        for index in text.indices where text[index] >= 0x80 { return false }
        return true
    }

    /// `text` as UTF-8, cut behind a whole character so that it has at most `limit` bytes.
    static func bounded(_ text: Span<UInt8>, to limit: Int) -> [UInt8] {
        let kept = text.extracting(0..<min(text.count, limit))
        if isPlain(kept) { return kept.copied() }
        var bytes: [UInt8] = []
        for scalar in kept.lossyString().unicodeScalars {
            let encoded = Array(String(scalar).utf8)
            // The last character, which the cut has broken, is replaced by one that may be longer.
            if bytes.count + encoded.count > limit { break }
            bytes += encoded
        }
        return bytes
    }
}
