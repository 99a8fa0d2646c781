internal import Octets
public import Transcoding

/// A sink that writes the events of a document down, pieces joined, and checks that their order is legal.
///
/// With `pauses` it is full after every event until `drain()`; an event that comes while it is full is a violation: the
/// decoder did not look at `isFull`.
public struct EventRecorder: EventSink, Sendable {
    /// A recorded event; the pieces of a string or a file are joined.
    public enum Event: Hashable, Sendable {
        case beginObject, endObject, beginArray, endArray
        case key(ByteString)
        case string(ByteString)
        case number(ByteString)
        case bool(Bool)
        case null
        case date(ByteString)
        case data(ByteString)
        case file(FieldRecorder.Part)
    }

    /// Where the grammar of events stands.
    private enum Position: Hashable, Sendable {
        case value, end, keyOrEnd, memberValue, elementOrEnd, stringPiece, filePiece
    }

    public private(set) var events: [Event] = []
    /// What the sender did against the contract of `EventSink`; a test expects it to be empty.
    public private(set) var violations: [String] = []
    /// The number of calls, pieces counted one by one.
    public private(set) var callCount = 0
    /// The sizes of the pieces that strings and files came in.
    public private(set) var pieceSizes: [Int] = []
    public private(set) var isFull = false
    public var pauses: Bool

    /// The open containers, outermost first; true for an object.
    private var open: [Bool] = []
    private var position = Position.value
    private var text: [UInt8] = []
    private var file = FieldRecorder.Part(name: "")

    public init(pauses: Bool = false) {
        self.pauses = pauses
    }

    /// Makes room for one more event.
    public mutating func drain() { isFull = false }

    /// Whether the events so far are one whole document.
    public var isComplete: Bool { position == .end }

    public mutating func beginObject() {
        startValue("beginObject")
        events.append(.beginObject)
        open.append(true)
        position = .keyOrEnd
    }

    public mutating func endObject() {
        count("endObject", legal: position == .keyOrEnd && open.last == true)
        events.append(.endObject)
        _ = open.popLast()
        endValue()
    }

    public mutating func beginArray() {
        startValue("beginArray")
        events.append(.beginArray)
        open.append(false)
        position = .elementOrEnd
    }

    public mutating func endArray() {
        count("endArray", legal: position == .elementOrEnd && open.last == false)
        events.append(.endArray)
        _ = open.popLast()
        endValue()
    }

    public mutating func key(_ name: Span<UInt8>) {
        count("key", legal: position == .keyOrEnd)
        checkUTF8(name.copied(), "key")
        events.append(.key(ByteString(name.copied())))
        position = .memberValue
    }

    public mutating func string(_ piece: Span<UInt8>, isLast: Bool) {
        if position == .stringPiece {
            count("string", legal: true)
        } else {
            startValue("string")
            text = []
        }
        text.append(contentsOf: piece)
        pieceSizes.append(piece.count)
        position = .stringPiece
        if isLast {
            checkUTF8(text, "string")
            events.append(.string(ByteString(text)))
            endValue()
        }
    }

    public mutating func number(_ text: Span<UInt8>) {
        startValue("number")
        events.append(.number(ByteString(text.copied())))
        endValue()
    }

    public mutating func bool(_ value: Bool) {
        startValue("bool")
        events.append(.bool(value))
        endValue()
    }

    public mutating func null() {
        startValue("null")
        events.append(.null)
        endValue()
    }

    public mutating func date(_ text: Span<UInt8>) {
        startValue("date")
        events.append(.date(ByteString(text.copied())))
        endValue()
    }

    public mutating func data(_ bytes: Span<UInt8>) {
        startValue("data")
        events.append(.data(ByteString(bytes.copied())))
        endValue()
    }

    public mutating func beginFile(_ head: borrowing PartHead) {
        startValue("beginFile")
        file = FieldRecorder.Part(head)
        position = .filePiece
    }

    public mutating func fileContent(_ piece: Span<UInt8>, isLast: Bool) {
        count("fileContent", legal: position == .filePiece)
        file.content.bytes.append(contentsOf: piece)
        pieceSizes.append(piece.count)
        if isLast {
            events.append(.file(file))
            endValue()
        }
    }

    private mutating func startValue(_ name: String) {
        count(name, legal: position == .value || position == .memberValue || position == .elementOrEnd)
    }

    private mutating func endValue() {
        position =
            switch open.last {
            case nil: .end
            case true?: .keyOrEnd
            case false?: .elementOrEnd
            }
    }

    private mutating func count(_ name: String, legal: Bool) {
        callCount += 1
        if !legal { violations.append("\(name) after \(events.suffix(3)) at \(position)") }
        if pauses {
            if isFull { violations.append("\(name) while the sink was full") }
            isFull = true
        }
    }

    private mutating func checkUTF8(_ bytes: [UInt8], _ name: String) {
        if !UTF8Validator.isValid(bytes.span) { violations.append("\(name) is not UTF-8: \(bytes)") }
    }
}

/// What one run of a document decoder gave: the whole events, and the error that ended them, if any.
///
/// A string that was open when the error came is left out, so that recordings of all cuts of an input compare equal.
public struct EventRecording: Hashable, Sendable {
    public var events: [EventRecorder.Event]
    public var failure: ConversionError?
    /// What decoder or sink did against the contract; expected to be empty.
    public var violations: [String]

    public init(_ events: [EventRecorder.Event], failure: ConversionError? = nil, violations: [String] = []) {
        self.events = events
        self.failure = failure
        self.violations = violations
    }
}

extension EventRecorder {
    /// Feeds `cut` to `decoder` slice by slice, then finishes it. With `pauses` the sink is full after every event and the
    /// rest of the slice is fed again, as a proxy does whose other side is slow.
    public static func record<Decoder: EventDecoder & ~Copyable>(
        _ cut: Cut, with decoder: inout Decoder, pauses: Bool = false
    ) -> EventRecording {
        var recorder = EventRecorder(pauses: pauses)
        var stalls: [String] = []
        do throws(ConversionError) {
            for slice in cut.slices {
                var start = 0
                repeat {
                    recorder.drain()
                    let calls = recorder.callCount
                    let rest = slice.span.extracting(start..<slice.count)
                    let consumed = try decoder.feed(rest, into: &recorder)
                    start += consumed
                    if start < slice.count && (!recorder.isFull || consumed == 0 && calls == recorder.callCount) {
                        stalls.append("left \(slice.count - start) bytes though the sink was not full")
                        break
                    }
                } while start < slice.count
            }
            recorder.pauses = false  // finish() can't be called again, so it sends all it has
            recorder.drain()
            try decoder.finish(into: &recorder)
            if !recorder.isComplete { stalls.append("finished without error though the document is not complete") }
        } catch {
            return EventRecording(recorder.events, failure: error, violations: recorder.violations + stalls)
        }
        return EventRecording(recorder.events, violations: recorder.violations + stalls)
    }
}
