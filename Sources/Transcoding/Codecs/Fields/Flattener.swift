internal import Octets

/// Turns the events of a document into the fields and files of a flat body, each named by its path.
///
/// What follows is `dialect: recast`. Under another dialect names, order and texts are that library's: see `Dialect` and
/// `FieldEncodingOptions.init(dialect:)`; the single options still hold. A document whose fields must be sorted is then
/// held in memory (`limits.tree`) until its end.
///
/// Every scalar and every file becomes one part; numbers keep their source text. The document's root must be an object.
///
/// **Objects** by `nesting`: `a[b]` · `a.b` · refused under `flat` · one field with a JSON text under `json`.
///
/// A key below the root that has brackets, or dots under `dots`, or is empty has no spelling and is refused. One of the root
/// itself is refused only where it would be read as structure, as `a[b]` is: `a[b` is one literal key to `FieldName` and
/// goes back as it came.
///
/// **Arrays** by `arrays`:
/// - `brackets` `a[]`, `indices` `a[0]`; with `nesting: dots` the elements are spelled the same, `a[0].b`, as qs'
///   `allowDots` does.
/// - `auto` decides for each array at its first element: `brackets` for a scalar or file, `indices` for an object or array.
///   An array that goes on with a container after scalars is refused. With `nesting: json`, `auto` is `json`, because names
///   then have no structure.
/// - `repeat` `a=1&a=2` and `comma` `a=1,2` take scalars only. An array of one reads like its element.
/// - `json` writes the array as a JSON text into one field.
///
/// Under an explicit `brackets`, objects in arrays give `a[][x]=1&a[][y]=2`, which Rack's rule regroups: an object begins
/// when the path of a field is already present in the one before. An object whose first field would not begin a new one is
/// refused; so are an empty one and an array in an array.
///
/// An element that `nulls: omit` or `empties: omit` leaves out keeps its index, as in qs, PHP and axios: `a[0]=1&a[2]=3`. An
/// object or array of which nothing is left counts as empty; the root may be empty. A repeated key of an object gives a
/// repeated name: what is to become of those is settled before.
///
/// Errors name the field in the output's own spelling. Limits: `key` and `keyDepth`, as for reading, because every element
/// repeats the names of all it stands in, and nothing else bounds what one value becomes;
/// `tree`, the bytes of names remembered for an element of a `brackets` array.
public struct Flattener<Target: FieldSink & ~Copyable>: EventSink, ~Copyable {
    internal typealias Container = FieldContainer
    /// What a value is to the array it stands in.
    internal enum ValueKind {
        case scalar, file, object, array
        /// An object or array that is written as a JSON text.
        case json
    }

    public var target: Target

    internal let options: FieldEncodingOptions
    internal let limits: Limits
    /// The name of the value at hand, or of the innermost container.
    internal var name = ByteStore()
    internal var containers = OwnedArray<Container>()
    /// Reads keys of the root that have brackets or dots, and whether the one at hand is such a key.
    internal var literal = FieldName()
    internal var isRootLiteral = false
    internal var head = PartHead()
    internal var inString = false
    /// The open `brackets` arrays that hold objects, and the names written for their latest elements.
    internal var groupedArrays = 0
    /// Whether any container awaits its first field.
    internal var awaitsFirstField = false
    internal var seen = NameLog()
    /// Writes the JSON text at hand, of which `jsonLevel` objects and arrays are open.
    internal var json: JSON.Encoder
    internal var jsonLevel = 0
    /// Writes the document in place of all of the above, under another dialect than ours.
    internal let isForeign: Bool
    internal var foreign: DialectWriter
    /// Whether an event goes to `foreign` or to the JSON text at hand: one question for both.
    internal private(set) var isElsewhere: Bool
    /// What stands before the names of an open container's members, as it goes out.
    internal var prefix = FieldPrefix()
    /// Values that a rule left out of our own dialect.
    private var omittedCount = 0

    /// A flattener of one document into `target`, under `options` (all but `spaces` and `files`, and under `recast` `order`).
    public init(target: consuming Target, options: FieldEncodingOptions, limits: Limits) {
        self.target = target
        isForeign = options.dialect != .recast
        isElsewhere = isForeign
        foreign = DialectWriter(options: options, limits: limits)
        self.options = options
        self.limits = limits
        var jsonOptions = JSON.EncodingOptions()
        jsonOptions.files = options.files
        self.json = JSON.Encoder(options: jsonOptions)
    }

    /// Makes the flattener as new for another document, with its allocations kept. The target stays as it is.
    public mutating func reset() {
        name.removeAll()
        containers.removeAll()
        prefix.shrink(to: 64 * 1024)
        isRootLiteral = false
        inString = false
        groupedArrays = 0
        awaitsFirstField = false
        seen.removeAll()
        json.reset()
        jsonLevel = 0
        isElsewhere = isForeign
        omittedCount = 0
        if isForeign { foreign.reset() }
    }

    public var isFull: Bool { target.isFull }

    /// What rules have left out of the document so far: nulls, empty objects and arrays.
    public var removedCount: Int { isForeign ? foreign.removedCount : omittedCount }
}

extension Flattener where Target: ~Copyable {
    /// Leaves a document that is held in memory to `drain`, which can pause; else all of it is written at its end.
    internal mutating func drainLater() { foreign.drainsLater = true }

    /// Writes a document that is held. Returns false when the target is full, to be called again.
    internal mutating func drain() throws(ConversionError) -> Bool {
        guard isForeign else { return true }
        return try foreign.drain(to: &target)
    }
}

// MARK: Events

extension Flattener where Target: ~Copyable {
    public mutating func beginObject() throws(ConversionError) {
        if isForeign { return try foreign.beginObject(to: &target) }
        guard !containers.isEmpty else {
            containers.append(Container(kind: .object, nameEnd: 0, depth: -1, style: options.arrays))
            return
        }
        if jsonLevel > 0 || options.nesting == .json {
            try beginJSON()
            json.beginObject()
            return
        }
        try beginValue(.object)
        if options.nesting == .flat { throw fault(.nestedObject) }
        openContainer(isObject: true)
    }

    public mutating func endObject() throws(ConversionError) {
        if isElsewhere {
            if isForeign { return try foreign.endObject(to: &target) }
            json.endObject()
            return try endJSON()
        }
        let object = containers.removeLast()
        guard !containers.isEmpty else { return }
        guard object.written == 0 else { return endContainer() }
        switch options.empties {
        case .reject: throw fault(.empty)
        case .omit:
            if object.position == 0 { omittedCount += 1 }
            endContainer(isWritten: false)
        case .marker:
            // `a[]=` would be read as an empty string among the objects.
            let parent = containers[containers.count - 1]
            if !parent.isObject && parent.style == .brackets { throw fault(.regrouped) }
            try beginPart()
            try target.content(Span(), isLast: true)
            endContainer()
        }
    }

    public mutating func beginArray() throws(ConversionError) {
        if isForeign { return try foreign.beginArray(to: &target) }
        guard !containers.isEmpty else { throw FieldFault.rootNotObject.error(field: nil) }
        if jsonLevel > 0 || options.arrays == .json || options.arrays == .auto && options.nesting == .json {
            try beginJSON()
            json.beginArray()
            return
        }
        try beginValue(.array)
        openContainer(isObject: false)
    }

    public mutating func endArray() throws(ConversionError) {
        if isElsewhere {
            if isForeign { return try foreign.endArray(to: &target) }
            json.endArray()
            return try endJSON()
        }
        let array = containers.removeLast()
        if array.seenStart >= 0 {
            groupedArrays -= 1
            if groupedArrays == 0 { seen.removeAll() }
        }
        if array.written > 0 {
            if array.style == .comma { try target.content(Span(), isLast: true) }
            return endContainer()
        }
        switch options.empties {
        case .reject: throw fault(.empty)
        case .omit:
            if array.position == 0 { omittedCount += 1 }
            endContainer(isWritten: false)
        case .marker:
            try appendBrackets(index: nil)
            try beginPart()
            try target.content(Span(), isLast: true)
            endContainer()
        }
    }

    public mutating func key(_ key: Span<UInt8>) throws(ConversionError) {
        if isElsewhere {
            if isForeign { return try foreign.key(key, to: &target) }
            return json.key(key)
        }
        let object = containers[containers.count - 1]
        name.truncate(to: object.nameEnd)
        let isRoot = containers.count == 1
        let isDotted = options.nesting == .dots
        if !isRoot { name.append(isDotted ? UInt8(ascii: ".") : UInt8(ascii: "[")) }
        name.append(contentsOf: key)
        if !isRoot && !isDotted { name.append(UInt8(ascii: "]")) }

        if isRoot { isRootLiteral = false }
        guard isDotted || options.nesting == .brackets else { return }
        let hasMarks = Self.hasMarks(key, isDotted: isDotted)
        if isRoot {
            guard hasMarks else { return }
            guard readsAsOneKey(key) else { throw fault(.name) }
            isRootLiteral = true
            return
        }
        // Below an empty root there is no spelling: `[b]` is a flat name.
        if hasMarks || key.isEmpty || object.nameEnd == 0 || isRootLiteral { throw fault(.name) }
    }

    /// Whether a key has brackets, or dots where they count.
    private static func hasMarks(_ key: Span<UInt8>, isDotted: Bool) -> Bool {
        let open = UInt8(ascii: "["), close = UInt8(ascii: "]")
        if !isDotted, key.count <= 16 { return Scan.holds(open, or: close, in: key) }
        let third = isDotted ? UInt8(ascii: ".") : close
        return Scan.firstIndex(ofAny: open, close, third, third, in: key, from: 0) < key.count
    }

    public mutating func string(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        if isElsewhere {
            if isForeign { return try foreign.string(piece, isLast: isLast, to: &target) }
            json.string(piece, isLast: isLast)
            return try sendJSON()
        }
        if !inString {
            try beginText()
            inString = true
        }
        try sendText(piece, isLast: isLast)
        if isLast {
            inString = false
            endValue()
        }
    }

    public mutating func number(_ text: Span<UInt8>) throws(ConversionError) {
        if isElsewhere {
            if isForeign { return try foreign.number(text, to: &target) }
            json.number(text)
            return try sendJSON()
        }
        try beginText()
        try sendText(text, isLast: true)
        endValue()
    }

    public mutating func bool(_ value: Bool) throws(ConversionError) {
        if isElsewhere {
            if isForeign { return try foreign.bool(value, to: &target) }
            json.bool(value)
            return try sendJSON()
        }
        try beginText()
        switch options.booleans {
        case .literal: try sendText(value ? Words.true.span : Words.false.span, isLast: true)
        case .numeric: try sendText(value ? Words.one.span : Words.zero.span, isLast: true)
        }
        endValue()
    }

    /// A point in time, as the dialect's library prints one.
    public mutating func date(_ text: Span<UInt8>) throws(ConversionError) {
        if isForeign { return try foreign.date(text, to: &target) }
        try string(text, isLast: true)
    }

    public mutating func null() throws(ConversionError) {
        if isElsewhere {
            if isForeign { return try foreign.null(to: &target) }
            json.null()
            return try sendJSON()
        }
        guard !containers.isEmpty else { throw FieldFault.rootNotObject.error(field: nil) }
        switch options.nulls {
        case .empty, .key:
            try beginText(hasValue: options.nulls == .empty)
            try sendText(Span(), isLast: true)
            endValue()
        case .literal:
            try beginText()
            try sendText(Words.null.span, isLast: true)
            endValue()
        case .omit:
            omittedCount += 1
            endValue(isWritten: false)
        case .reject:
            try beginValue(.scalar)
            throw fault(.null)
        }
    }

    public mutating func beginFile(_ file: borrowing PartHead) throws(ConversionError) {
        if isElsewhere {
            if isForeign { return try foreign.beginFile(file, to: &target) }
            // The text's field is what an error can name.
            head.setName(copying: name)
            return try json.beginFile(head)
        }
        if file.hasGivenName { return try beginNamedFile(file) }
        try beginValue(.file)
        try noteName()
        head.setName(copying: name)
        head.isFile = !file.isText
        if file.hasFilename { head.setFilename(file.filename) }
        if file.hasMediaType { head.setMediaType(file.mediaType) }
        for index in 0..<file.otherFieldCount {
            head.addField(name: file.otherFieldName(index), value: file.otherFieldValue(index))
        }
        try target.beginPart(head)
    }

    public mutating func fileContent(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        if isElsewhere {
            if isForeign { return try foreign.fileContent(piece, isLast: isLast, to: &target) }
            json.fileContent(piece, isLast: isLast)
            return try sendJSON()
        }
        try target.content(piece, isLast: isLast)
        if isLast { endValue() }
    }
}

// MARK: JSON texts

extension Flattener where Target: ~Copyable {
    /// The bytes of a JSON text that are gathered before they are handed on.
    private static var gathered: Int { 4096 }

    /// Begins a part for a JSON text, or one more object or array in it.
    private mutating func beginJSON() throws(ConversionError) {
        if jsonLevel == 0 {
            try beginValue(.json)
            try beginPart()
            json.reset()
        }
        jsonLevel += 1
        isElsewhere = true
    }

    private mutating func endJSON() throws(ConversionError) {
        jsonLevel -= 1
        isElsewhere = jsonLevel > 0
        try sendJSON()
        if jsonLevel == 0 { endValue() }
    }

    private mutating func sendJSON() throws(ConversionError) {
        let isLast = jsonLevel == 0
        guard isLast || json.output.count >= Self.gathered else { return }
        try Self.move(&json.output, to: &target, isLast: isLast)
    }

    private static func move(
        _ text: inout OutputBuffer, to target: inout Target, isLast: Bool
    ) throws(ConversionError) {
        try target.content(text.span, isLast: isLast)
        text.removeAll()
    }
}

// MARK: Values

extension Flattener where Target: ~Copyable {
    /// Completes `name` for the value that begins, which must have a place in its array.
    private mutating func beginValue(_ kind: ValueKind) throws(ConversionError) {
        guard !containers.isEmpty else { throw FieldFault.rootNotObject.error(field: nil) }
        let top = containers.count - 1
        guard !containers[top].isObject else { return }
        let isContainer = kind == .object || kind == .array
        if options.arrays == .auto && containers[top].written == 0 {
            containers[top].style = isContainer ? .indices : .brackets
        }
        containers[top].inObject = kind == .object
        switch containers[top].style {
        case .indices:
            try appendBrackets(index: containers[top].position)
        case .brackets:
            if isContainer && options.arrays == .auto { throw fault(.mixedArray) }
            if kind == .array { throw fault(.container) }
            try appendBrackets(index: nil)
            containers[top].awaitsFirstField = kind == .object
            if kind == .object { awaitsFirstField = true }
        case .repeated: if isContainer { throw fault(.container) }
        case .comma:
            if isContainer || kind == .json { throw fault(.container) }
            if kind == .file { throw fault(.comma) }
        case .auto, .json: preconditionFailure("an array's style is settled before its elements")
        }
    }

    /// Ends a value that is no open container.
    private mutating func endValue(isWritten: Bool = true) {
        containers[containers.count - 1].position += 1
        endContainer(isWritten: isWritten)
    }

    /// Ends a container that is no longer open: the name is its parent's again.
    private mutating func endContainer(isWritten: Bool = true) {
        let top = containers.count - 1
        if isWritten {
            containers[top].written += 1
            containers[top].lastWasObject = containers[top].inObject
        }
        name.truncate(to: containers[top].nameEnd)
    }

    private mutating func openContainer(isObject: Bool) {
        let depth = valueDepth
        containers[containers.count - 1].position += 1
        containers.append(
            Container(
                kind: isObject ? .object : .array, nameEnd: name.count, depth: depth, style: options.arrays))
    }

    /// The segments of the name of the value at hand after its root.
    internal var valueDepth: Int {
        let parent = containers[containers.count - 1]
        let isNamed = parent.isObject || parent.style == .indices || parent.style == .brackets
        return parent.depth + (isNamed ? 1 : 0)
    }

    internal func fault(_ fault: FieldFault) -> ConversionError {
        fault.error(field: name.span.lossyString())
    }

    private var isJoined: Bool {
        let parent = containers[containers.count - 1]
        return !parent.isObject && parent.style == .comma
    }

    private mutating func beginText(hasValue: Bool = true) throws(ConversionError) {
        try beginValue(.scalar)
        if isJoined && containers[containers.count - 1].written > 0 {
            try target.content(Words.comma.span, isLast: false)
        } else {
            try beginPart(hasValue: hasValue || isJoined)
        }
    }

    private mutating func sendText(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        guard isJoined else { return try target.content(piece, isLast: isLast) }
        if Scan.firstIndex(of: UInt8(ascii: ","), in: piece) != nil { throw fault(.comma) }
        if !piece.isEmpty { try target.content(piece, isLast: false) }
    }

    private mutating func beginPart(hasValue: Bool = true) throws(ConversionError) {
        try noteName()
        head.setName(copying: name)
        head.hasValue = hasValue
        try target.beginPart(head)
    }
}

/// The texts of values that have no text of their own.
private enum Words {
    static let `true` = Array("true".utf8)
    static let `false` = Array("false".utf8)
    static let one = Array("1".utf8)
    static let zero = Array("0".utf8)
    static let null = Array("null".utf8)
    static let comma = Array(",".utf8)
}
