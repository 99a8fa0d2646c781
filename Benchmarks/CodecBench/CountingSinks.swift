internal import Octets
internal import Serialization
internal import Transcoding

/// Takes the events of a document and counts them, so that a decoder is measured alone.
struct CountingEventSink: EventSink, ~Copyable {
    private(set) var count = 0

    var isFull: Bool { false }

    mutating func beginObject() { count &+= 1 }
    mutating func endObject() { count &+= 1 }
    mutating func beginArray() { count &+= 1 }
    mutating func endArray() { count &+= 1 }
    mutating func key(_ name: Span<UInt8>) { count &+= name.count }
    mutating func string(_ piece: Span<UInt8>, isLast: Bool) { count &+= piece.count }
    mutating func number(_ text: Span<UInt8>) { count &+= text.count }
    mutating func bool(_ value: Bool) { count &+= 1 }
    mutating func null() { count &+= 1 }
    mutating func beginFile(_ head: borrowing PartHead) { count &+= 1 }
    mutating func fileContent(_ piece: Span<UInt8>, isLast: Bool) { count &+= piece.count }
}

/// Takes fields and files and counts the bytes of their content.
struct CountingFieldSink: FieldSink, ~Copyable {
    private(set) var count = 0

    var isFull: Bool { false }

    mutating func beginPart(_ head: borrowing PartHead) { count &+= head.name.count }
    mutating func content(_ piece: Span<UInt8>, isLast: Bool) { count &+= piece.count }
}
