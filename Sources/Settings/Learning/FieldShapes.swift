internal import Octets
internal import Transcoding

/// What the fields of some bodies have in common: names, and what their values look like. No value is kept.
struct FieldShapes {
    /// What is known of the fields at one path.
    struct Shape {
        var path: FieldPath
        var isFile = false
        /// Bodies that have it.
        var bodies = 0
        /// Whether one body has several at that path.
        var repeats = false
        /// Whether it has several of the very same name, which isn't that of elements.
        var hasTwins = false
        /// What all values so far could be.
        var isInteger = true
        var isNumber = true
        var isBoolean = true
        var isJSON = true
        /// Whether a value is empty, or none.
        var hasEmpty = false
        /// What values of documents are by themselves.
        var kinds: [String] = []
        /// The media types of files, without parameters, eight at most.
        var types: [String] = []
        fileprivate var lastBody = 0
    }

    /// In the order in which they were seen first.
    private(set) var shapes: [Shape] = []
    /// Whether a name has brackets.
    private(set) var hasBrackets = false
    /// Fields that were not looked at, because there were too many names, or theirs was too deep or too long.
    private(set) var leftOut = 0
    private var places: [FieldPath: Int] = [:]
    /// The beginnings of names up to a dot, each with one whole name.
    private var dotted: [[UInt8]: [UInt8]] = [:]
    /// Whether two names share such a beginning.
    private(set) var hasCommonDots = false
    private var body = 0

    /// Names at most.
    static let nameLimit = 500
    /// Steps of a path at most.
    static let depthLimit = 16
    /// Bytes of one name at most.
    static let lengthLimit = 200
    /// Bytes of a value that are looked at; a longer one is a text.
    fileprivate static let valueLimit = 64 * 1024

    mutating func beginBody() { body += 1 }

    /// Bodies that were taken.
    var bodies: Int { body }

    /// Takes one name as it was written.
    mutating func note(name: [UInt8]) {
        if name.contains(UInt8(ascii: "[")) { hasBrackets = true }
        guard let dot = name.firstIndex(of: UInt8(ascii: ".")), dot > 0, dot + 1 < name.count, dotted.count < 1000
        else { return }
        let prefix = Array(name[..<dot])
        if let other = dotted[prefix] { hasCommonDots = hasCommonDots || other != name } else { dotted[prefix] = name }
    }

    /// Takes one field; `look` is nil for a file.
    mutating func note(_ path: FieldPath, type: String? = nil, _ look: ValueLook?) {
        let length = path.segments.reduce(0) { sum, segment in
            if case .key(let key) = segment { max(sum, key.count) } else { sum }
        }
        guard path.segments.count <= Self.depthLimit, length <= Self.lengthLimit, !path.segments.isEmpty else {
            return leftOut += 1
        }
        let index: Int
        if let known = places[path] {
            index = known
        } else {
            guard shapes.count < Self.nameLimit else { return leftOut += 1 }
            index = shapes.count
            places[path] = index
            shapes.append(Shape(path: path))
        }
        if shapes[index].lastBody == body {
            shapes[index].repeats = true
            shapes[index].hasTwins = shapes[index].hasTwins || !path.segments.contains(.any)
        } else {
            shapes[index].lastBody = body
            shapes[index].bodies += 1
        }
        guard let look else {
            shapes[index].isFile = true
            if let type, !shapes[index].types.contains(type), shapes[index].types.count < 8 {
                shapes[index].types.append(type)
            }
            return
        }
        shapes[index].isInteger = shapes[index].isInteger && look.isInteger
        shapes[index].isNumber = shapes[index].isNumber && look.isNumber
        shapes[index].isBoolean = shapes[index].isBoolean && look.isBoolean
        shapes[index].isJSON = shapes[index].isJSON && look.isJSON
        shapes[index].hasEmpty = shapes[index].hasEmpty || look.isEmpty
        if !shapes[index].kinds.contains(look.kind) { shapes[index].kinds.append(look.kind) }
    }
}

/// What one value looks like.
struct ValueLook {
    var isInteger = false
    var isNumber = false
    var isBoolean = false
    var isJSON = false
    var isEmpty = false
    var kind = "string"

    /// A value of a document, which says itself what it is.
    init(kind: String) {
        self.kind = kind
        isEmpty = kind == "null"
    }

    /// A text. What is longer than a number of a double, or begins with a zero or a plus, is one of an id or of a telephone.
    init(text: [UInt8]) {
        isEmpty = text.isEmpty
        let number = text.count <= 16 ? NumberText(text.span) : nil
        isNumber = number != nil
        isInteger = number == .integer
        isBoolean = text == Array("true".utf8) || text == Array("false".utf8)
        if let first = text.first, first == UInt8(ascii: "{") || first == UInt8(ascii: "[") {
            var document = LiteralBuilder()
            isJSON = (try? document.take(json: text)) != nil
        }
        kind = isBoolean ? "boolean" : isInteger ? "integer" : isNumber ? "number" : isJSON ? "json" : "string"
    }
}

/// Takes the fields of form and multipart bodies.
struct FieldShapeSink: FieldSink {
    var shapes: FieldShapes
    /// How names are read; nil: they are collected only.
    var options: FieldDecodingOptions?
    private var name = FieldName()
    private var path: FieldPath?
    private var isFile = false
    private var type: String?
    private var value: [UInt8] = []

    init(_ shapes: FieldShapes, _ options: FieldDecodingOptions?) {
        self.shapes = shapes
        self.options = options
    }

    var isFull: Bool { false }

    mutating func beginPart(_ head: borrowing PartHead) throws(ConversionError) {
        value = []
        path = nil
        guard let options else { return shapes.note(name: head.name.copied()) }
        isFile = head.isFile
        let essence = head.mediaTypeText.map { String($0.prefix { $0 != ";" }.prefix(100)) }
        type = essence.map { $0.trimmed }
        try name.parse(head.name, options: options, limits: Limits())
        path = FieldPath(
            (0..<name.segmentCount).map { index in
                let key = name.segment(index).copied()
                let isElement =
                    index > 0 && (name.kind(index) == .push || !key.isEmpty && key.allSatisfy(ASCII.isDigit))
                return isElement ? .any : .key(key)
            })
    }

    mutating func content(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        guard let path else { return }
        if value.count <= FieldShapes.valueLimit, !isFile { value.append(contentsOf: piece) }
        guard isLast else { return }
        let isLong = value.count > FieldShapes.valueLimit
        shapes.note(path, type: type, isFile ? nil : isLong ? ValueLook(kind: "string") : ValueLook(text: value))
    }
}

/// Takes the values of documents.
struct DocumentShapeSink: EventSink {
    var shapes: FieldShapes
    private var path: [FieldPath.Segment] = []
    private var levels: [Bool] = []

    init(_ shapes: FieldShapes) { self.shapes = shapes }

    var isFull: Bool { false }

    private mutating func put(_ kind: String) {
        shapes.note(FieldPath(path), ValueLook(kind: kind))
        leave()
    }

    /// The member or element is over: an array's place stays for the next one.
    private mutating func leave() { if levels.last == true, !path.isEmpty { path.removeLast() } }

    mutating func beginObject() throws(ConversionError) { levels.append(true) }
    mutating func endObject() throws(ConversionError) {
        levels.removeLast()
        leave()
    }
    mutating func beginArray() throws(ConversionError) {
        levels.append(false)
        path.append(.any)
    }
    mutating func endArray() throws(ConversionError) {
        levels.removeLast()
        path.removeLast()
        leave()
    }
    mutating func key(_ name: Span<UInt8>) throws(ConversionError) { path.append(.key(name.copied())) }
    mutating func string(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) { if isLast { put("string") } }
    mutating func number(_ text: Span<UInt8>) throws(ConversionError) {
        put(NumberText(text) == .integer ? "integer" : "number")
    }
    mutating func bool(_ value: Bool) throws(ConversionError) { put("boolean") }
    mutating func null() throws(ConversionError) { put("null") }
    mutating func beginFile(_ head: borrowing PartHead) throws(ConversionError) {}
    mutating func fileContent(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        if isLast { put("string") }
    }
}

extension String {
    fileprivate var trimmed: String {
        let front = drop { $0 == " " || $0 == "\t" }
        return String(front.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
    }
}
