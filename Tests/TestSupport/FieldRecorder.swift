internal import Octets
public import Transcoding

/// A sink that writes the fields and files of a flat body down, pieces joined, and checks that their order is legal.
///
/// With `pauses` it is full after every event until `drain()`; an event that comes while it is full is a violation.
public struct FieldRecorder: FieldSink, Sendable {
    /// A further header of a part.
    public struct Header: Hashable, Sendable {
        public var name: ByteString
        public var value: ByteString
        public init(_ name: ByteString, _ value: ByteString) {
            self.name = name
            self.value = value
        }
    }

    /// A recorded field or file with its joined content.
    public struct Part: Hashable, Sendable {
        public var name: ByteString
        public var isFile: Bool
        public var filename: ByteString?
        public var mediaType: ByteString?
        public var otherFields: [Header]
        public var content: ByteString

        public init(
            name: ByteString, content: ByteString = "", isFile: Bool = false, filename: ByteString? = nil,
            mediaType: ByteString? = nil, otherFields: [Header] = []
        ) {
            self.name = name
            self.isFile = isFile
            self.filename = filename
            self.mediaType = mediaType
            self.otherFields = otherFields
            self.content = content
        }

        /// A part with what `head` says and no content yet.
        public init(_ head: borrowing PartHead) {
            self.init(name: ByteString(head.name.copied()), isFile: head.isFile)
            if head.hasFilename { filename = ByteString(head.filename.copied()) }
            if head.hasMediaType { mediaType = ByteString(head.mediaType.copied()) }
            for index in 0..<head.otherFieldCount {
                let name = ByteString(head.otherFieldName(index).copied())
                otherFields.append(Header(name, ByteString(head.otherFieldValue(index).copied())))
            }
        }
    }

    /// The parts whose last piece has come.
    public private(set) var parts: [Part] = []
    /// What the sender did against the contract of `FieldSink`; a test expects it to be empty.
    public private(set) var violations: [String] = []
    /// The number of calls, pieces counted one by one.
    public private(set) var callCount = 0
    /// The sizes of the pieces that contents came in.
    public private(set) var pieceSizes: [Int] = []
    public private(set) var isFull = false
    public var pauses: Bool

    private var openPart: Part?

    public init(pauses: Bool = false) {
        self.pauses = pauses
    }

    /// Makes room for one more event.
    public mutating func drain() { isFull = false }

    /// Whether every part that began has ended.
    public var isComplete: Bool { openPart == nil }

    public mutating func beginPart(_ head: borrowing PartHead) {
        count("beginPart", legal: openPart == nil)
        openPart = Part(head)
    }

    public mutating func content(_ piece: Span<UInt8>, isLast: Bool) {
        count("content", legal: openPart != nil)
        pieceSizes.append(piece.count)
        openPart?.content.bytes.append(contentsOf: piece)
        if isLast, let part = openPart {
            parts.append(part)
            openPart = nil
        }
    }

    private mutating func count(_ name: String, legal: Bool) {
        callCount += 1
        if !legal { violations.append("\(name) out of order after part \(parts.count)") }
        if pauses {
            if isFull { violations.append("\(name) while the sink was full") }
            isFull = true
        }
    }
}

/// What one run of a flat decoder gave: the whole parts, and the error that ended them, if any.
///
/// A part that was open when the error came is left out, so that recordings of all cuts of an input compare equal.
public struct FieldRecording: Hashable, Sendable {
    public var parts: [FieldRecorder.Part]
    public var failure: ConversionError?
    /// What decoder or sink did against the contract; expected to be empty.
    public var violations: [String]

    public init(_ parts: [FieldRecorder.Part], failure: ConversionError? = nil, violations: [String] = []) {
        self.parts = parts
        self.failure = failure
        self.violations = violations
    }
}

extension FieldRecorder {
    /// Feeds `cut` to `decoder` slice by slice, then finishes it. With `pauses` the sink is full after every event and the
    /// rest of the slice is fed again, as a proxy does whose other side is slow.
    public static func record<Decoder: FieldDecoder & ~Copyable>(
        _ cut: Cut, with decoder: inout Decoder, pauses: Bool = false
    ) -> FieldRecording {
        var recorder = FieldRecorder(pauses: pauses)
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
            if !recorder.isComplete { stalls.append("finished without error though a part is open") }
        } catch {
            return FieldRecording(recorder.parts, failure: error, violations: recorder.violations + stalls)
        }
        return FieldRecording(recorder.parts, violations: recorder.violations + stalls)
    }
}
