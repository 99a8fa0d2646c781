internal import Octets

/// A file that is kept back, whole, while other bytes of it are made elsewhere: an image that becomes smaller.
///
/// A rule with `FileRule.image` says so. While a file is whole and not settled, the pipeline takes no input and is full; the owner of
/// the conversion takes the file (`Conversion.takeFile`), and gives back what goes out in its place (`Conversion.settleFile`). The part's
/// head goes out with it, since its type and its filename may be others then.
internal struct FileHold {
    private enum Stage {
        /// No file is held; goes to `gathering`.
        case none
        /// Its bytes come; goes to `whole`.
        case gathering
        /// It waits for `settle`; goes to `sending`.
        case whole
        /// What was made of it goes out, from this byte on; goes to `none`.
        case sending(Int)
    }

    /// How the file is written where the output has no files.
    enum Text {
        case none
        case base64
        /// Base64 with `-` and `_`, padded to whole groups of four or not.
        case base64url(isPadded: Bool)
        /// `data:TYPE;base64,` and base64; with the type as it came.
        case dataURL
    }

    private var stage = Stage.none
    private var content: [UInt8] = []
    private var image = ImageRule()
    private var path = FieldPath([])
    private var field: [UInt8] = []
    private var filename: [UInt8]?
    private var mediaType: [UInt8] = []
    private var text = Text.none
    private var base64 = Base64Encoder()
    private var isTaken = false

    /// What the settled file has got in the place of its own; see `typeInstead`.
    private var settledType: [UInt8]?
    private(set) var settledFilename: [UInt8]?

    /// Bytes of output that one piece makes at most, about.
    private static var pieceSize: Int { 48 * 1024 }

    mutating func reset() {
        guard isHolding else { return }
        stage = .none
        content = []
    }

    /// Whether a file's bytes go here.
    var isHolding: Bool { if case .none = stage { false } else { true } }
    var isGathering: Bool { if case .gathering = stage { true } else { false } }
    /// Whether nothing may follow the file yet.
    var isFull: Bool {
        switch stage {
        case .none, .gathering: false
        case .whole, .sending: true
        }
    }
    /// Whether the file is whole and waits to be settled.
    var isWaiting: Bool { if case .whole = stage { true } else { false } }
    /// Bytes that are held.
    var count: Int { isHolding ? content.count : 0 }

    // MARK: In

    /// Begins with the file that `head` describes.
    mutating func begin(_ image: ImageRule, of path: FieldPath, _ head: borrowing PartHead, field: ByteStore) {
        precondition(!isHolding, "a file came while another one was held")
        stage = .gathering
        self.image = image
        self.path = path
        self.field = field.span.copied()
        filename = head.hasFilename ? head.filename.copied() : nil
        text = .none
        base64 = Base64Encoder()
        isTaken = false
        settledType = nil
        settledFilename = nil
    }

    mutating func append(_ piece: Span<UInt8>, isLast: Bool) {
        content.append(contentsOf: piece)
        if isLast { stage = .whole }
    }

    /// As above, for bytes in a buffer, whose span would hold all of its owner.
    mutating func append(_ made: OutputBuffer, isLast: Bool) { append(made.span, isLast: isLast) }

    /// Says how the file goes out as a text; `type` is that of a data URL.
    mutating func write(as text: Text, type: ByteStore = ByteStore()) {
        self.text = text
        mediaType = type.span.copied()
    }

    // MARK: Elsewhere

    /// Gives the file away; nil where none waits, or it was given away.
    mutating func take() -> HeldFile? {
        guard isWaiting, !isTaken else { return nil }
        isTaken = true
        var content: [UInt8] = []
        swap(&content, &self.content)
        return HeldFile(image: image, path: path, content: content, field: field, filename: filename)
    }

    /// Takes what goes out in the file's place.
    mutating func settle(_ file: SettledFile) {
        precondition(isWaiting, "no file waits")
        stage = .sending(0)
        content = file.content
        settledType = file.mediaType
        settledFilename = file.filename
    }

    // MARK: Out

    /// The Content-Type that the settled file goes out with in the place of `own`; nil: that stays, since the file has got none, or since
    /// it says the same, in any case and with any parameters.
    func typeInstead(of own: Span<UInt8>) -> [UInt8]? {
        guard let settledType else { return nil }
        guard let end = ContentType.endOfMediaType(in: own) else { return settledType }
        return own.extracting(0..<end).isLowercased(settledType) ? nil : settledType
    }

    /// Whether nothing of the settled file has gone out.
    var isAtStart: Bool { if case .sending(0) = stage { true } else { false } }

    /// Puts the next piece into `output`, which is empty: bytes, or text where the file goes out as one. Returns whether it is the
    /// last one, with which the hold is free again.
    mutating func read(into output: inout OutputBuffer) -> Bool {
        guard case .sending(let at) = stage else { return true }
        if at == 0, case .dataURL = text {
            let own = mediaType
            output.append("data:")
            output.append(typeInstead(of: own.span) ?? own)
            output.append(";base64,")
        }
        // Out for the call: a span of a stored property would hold all of the owner.
        var content: [UInt8] = []
        swap(&content, &self.content)
        let end = min(content.count, at + Self.pieceSize)
        let isLast = end == content.count
        write(content.span.extracting(at..<end), isLast: isLast, to: &output)
        guard !isLast else {
            stage = .none
            return true
        }
        self.content = content
        stage = .sending(end)
        return false
    }

    private mutating func write(_ piece: Span<UInt8>, isLast: Bool, to output: inout OutputBuffer) {
        if case .none = text { return output.append(piece) }
        base64.encode(piece, into: &output)
        if isLast { base64.finish(into: &output) }
        if case .base64url(let isPadded) = text { Self.makeURLSafe(&output, isPadded: isPadded) }
    }

    private static func makeURLSafe(_ output: inout OutputBuffer, isPadded: Bool) {
        var text = output.span.copied()
        if !isPadded { while text.last == UInt8(ascii: "=") { text.removeLast() } }
        for index in text.indices {
            if text[index] == UInt8(ascii: "+") { text[index] = UInt8(ascii: "-") }
            if text[index] == UInt8(ascii: "/") { text[index] = UInt8(ascii: "_") }
        }
        output.removeAll()
        output.append(text)
    }
}

/// A file of a body that is to become another picture, see `FileRule.image`.
package struct HeldFile: Sendable {
    /// What becomes of it.
    package let image: ImageRule
    /// The path of its rule, as errors name that.
    package let path: FieldPath
    /// The file's bytes.
    package let content: [UInt8]
    /// The name of its field, as errors name it.
    package let field: [UInt8]
    /// The filename that it came with, or that its rule gives it.
    package let filename: [UInt8]?
}

/// What goes out in the place of a `HeldFile`.
package struct SettledFile: Sendable {
    /// The bytes.
    package var content: [UInt8]
    /// Another Content-Type, in lower case and without parameters; nil: the one that it has.
    package var mediaType: [UInt8]?
    /// Another filename; nil: the one that it has.
    package var filename: [UInt8]?

    package init(content: [UInt8], mediaType: [UInt8]? = nil, filename: [UInt8]? = nil) {
        self.content = content
        self.mediaType = mediaType
        self.filename = filename
    }
}
