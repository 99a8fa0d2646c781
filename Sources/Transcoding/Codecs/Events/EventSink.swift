package import Octets

/// The events of a document: what a decoder emits and an encoder or a tree takes.
///
/// A document is one value. A value is one of: `beginObject`, then any number of `key` and value, then `endObject`;
/// `beginArray`, any number of values, `endArray`; one or more `string` pieces of which only the last has `isLast`;
/// `number`; `bool`; `null`; `date`; `data`; or `beginFile` followed by `fileContent` pieces of which only the last has `isLast`.
/// Pieces may be empty and may be cut anywhere, also inside a UTF-8 sequence; what they join to is valid UTF-8 for
/// strings and any bytes for files. A caller never sends events in another order: that would be a fault of ours.
///
/// Spans are valid during the call only.
public protocol EventSink: ~Copyable {
    /// Whether the producer should stop after the event it has just sent and be called again later.
    var isFull: Bool { get }

    /// An object begins: a `key` and a value for each member, then `endObject`.
    mutating func beginObject() throws(ConversionError)
    /// The innermost object ends.
    mutating func endObject() throws(ConversionError)
    /// An array begins: values, then `endArray`.
    mutating func beginArray() throws(ConversionError)
    /// The innermost array ends.
    mutating func endArray() throws(ConversionError)
    /// A member's name, whole, valid UTF-8, already unescaped. The member's value follows.
    mutating func key(_ name: Span<UInt8>) throws(ConversionError)
    /// A piece of a string; the pieces join to valid UTF-8, already unescaped.
    mutating func string(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError)
    /// A number's source text, whole, in JSON's grammar (RFC 8259 §6).
    mutating func number(_ text: Span<UInt8>) throws(ConversionError)
    /// True or false.
    mutating func bool(_ value: Bool) throws(ConversionError)
    /// No value.
    mutating func null() throws(ConversionError)
    /// A point in time of a property list, as the text of RFC 3339 §5.6: `2001-01-01T00:00:00Z`. A sink whose format has no
    /// dates gets it as a string.
    mutating func date(_ text: Span<UInt8>) throws(ConversionError)
    /// Bytes of a property list, whole. A sink whose format has no bytes gets them as a base64 string (RFC 4648 §4).
    mutating func data(_ bytes: Span<UInt8>) throws(ConversionError)
    /// A file begins, with what its head says; its content follows.
    mutating func beginFile(_ head: borrowing PartHead) throws(ConversionError)
    /// A piece of the file's bytes.
    mutating func fileContent(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError)
    /// The value that comes next, before its key, was a text part with that Content-Type and further headers; with an empty head, none.
    /// Said of each value or of none. Only a sink that writes parts has a place for it.
    mutating func partHead(_ head: borrowing PartHead)
}

extension EventSink where Self: ~Copyable {
    /// Forgets it: most formats have no heads.
    public mutating func partHead(_ head: borrowing PartHead) {}

    /// Sends the text as a string.
    public mutating func date(_ text: Span<UInt8>) throws(ConversionError) { try string(text, isLast: true) }

    /// Sends the bytes as a string in base64 (RFC 4648 §4).
    public mutating func data(_ bytes: Span<UInt8>) throws(ConversionError) { try sendBase64(bytes) }

    /// Sends bytes as a string in base64.
    internal mutating func sendBase64(_ bytes: Span<UInt8>) throws(ConversionError) {
        var text = OutputBuffer()
        var encoder = Base64Encoder()
        encoder.encode(bytes, into: &text)
        encoder.finish(into: &text)
        try string(text.span, isLast: true)
    }
}

/// The events of a flat body, form or multipart: a list of fields and files, each with a name.
///
/// For every part: `beginPart`, then one or more `content` pieces of which only the last has `isLast`.
/// Text content (a part that is not a file) joins to valid UTF-8 unless the decoder's options say otherwise.
///
/// Spans are valid during the call only.
public protocol FieldSink: ~Copyable {
    /// Whether the producer should stop after the event it has just sent and be called again later.
    var isFull: Bool { get }

    /// A field or a file begins, with its name and what else its head says.
    mutating func beginPart(_ head: borrowing PartHead) throws(ConversionError)
    /// A piece of its content.
    mutating func content(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError)
    /// Stands where a library leaves a place empty, as Rack does for an empty array in an array. Only a form has such places.
    mutating func gap() throws(ConversionError)
}

extension FieldSink where Self: ~Copyable {
    /// Leaves nothing: most formats have no such places.
    public mutating func gap() throws(ConversionError) {}
}

/// A decoder of a document format. Fed bytes as they arrive, it emits the same events (pieces joined) however they are cut.
///
/// An error ends the body: what was sent to the sink before lacks its end, and nothing that the decoder gives from then on means
/// anything, until it is made as new by its `reset`. The same holds for an error that the sink throws, and behind `finish`.
public protocol EventDecoder: ~Copyable {
    /// Takes the next bytes of the input and returns how many it consumed. It consumes all of them unless `sink.isFull`
    /// became true after an event; the caller then feeds the rest again once the sink has room.
    mutating func feed<Sink: EventSink & ~Copyable>(
        _ input: Span<UInt8>, into sink: inout Sink
    ) throws(ConversionError) -> Int

    /// Says that the input has ended. Emits what the end makes final, or throws when the document is incomplete.
    mutating func finish<Sink: EventSink & ~Copyable>(into sink: inout Sink) throws(ConversionError)
}

/// A decoder of a flat format. The same contract as `EventDecoder`.
public protocol FieldDecoder: ~Copyable {
    /// Takes the next bytes of the input and returns how many it consumed; see `EventDecoder`.
    mutating func feed<Sink: FieldSink & ~Copyable>(
        _ input: Span<UInt8>, into sink: inout Sink
    ) throws(ConversionError) -> Int
    /// Says that the input has ended. Emits what the end makes final, or throws when the body is incomplete.
    mutating func finish<Sink: FieldSink & ~Copyable>(into sink: inout Sink) throws(ConversionError)
}

/// What every encoder has: the bytes it wrote, and an end.
///
/// `isFull` of an encoder is `output.isFull`.
package protocol OutputEncoder: ~Copyable {
    /// The encoded bytes that are not taken yet. The owner may exchange the buffer between two events.
    var output: OutputBuffer { get set }
    /// Writes what the format wants at the end. No event may follow.
    mutating func finish() throws(ConversionError)
}

/// An encoder of a document format.
package typealias EventEncoder = EventSink & OutputEncoder & ~Copyable
/// An encoder of a flat format.
package typealias FieldEncoder = FieldSink & OutputEncoder & ~Copyable
