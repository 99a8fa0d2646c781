internal import Octets

/// Turns the events of a document into the fields of a flat body the way another library does, and not ours: see `Dialect`.
///
/// Names are written as that library writes them, also where a reader takes them for something else: `{"a[b]":1}` and
/// `{"a":{"b":1}}` are the same bytes. What a rule leaves out is counted in `removedCount`.
///
/// - **A document that is no object:** qs and PHP number the elements of an array, `0=a&1=b`; Rack has `[]=a`, AFNetworking
///   `(null)[]=a` and for a single value `=a`; URLSearchParams takes an array of pairs. All else is refused.
/// - **Arrays by `auto`:** each element by itself, `a[0][b]=1&a[]=2`, as jQuery does.
/// - **`comma`:** as qs joins, so commas in values pass, nulls are empty and inner arrays are joined too; objects are refused.
///
/// Fields go out as they come. Under `order: sorted`, and for Alamofire in any order, the document is held in a tree
/// (`limits.tree`) until its end; files pass at once all the same.
internal struct DialectWriter: ~Copyable {
    /// An open object or array.
    internal struct Level {
        enum Kind {
            case object, array
            /// An array whose elements are joined with commas, or one inside of it.
            case joined
            /// URLSearchParams' array of pairs, and one of these.
            case pairs, pair
        }

        let kind: Kind
        /// The bytes of `name` that name this container.
        let nameEnd: Int
        /// The segments of that name after its root.
        let depth: Int
        /// Members or elements that have begun.
        var position = 0
        var hasWritten = false
        /// Whether the latest element was an empty container.
        var lastIsEmpty = false
    }

    internal let options: FieldEncodingOptions
    internal let limits: Limits
    /// The name of the value at hand, or of the innermost container.
    internal var name = ByteStore()
    /// The segments of that name after its root.
    internal var valueDepth = 0
    internal var levels: [Level] = []
    /// What a rule left out: nulls, empty objects and arrays, bare names that are empty.
    internal var removedCount = 0
    private var head = PartHead()
    private var inString = false
    private var text = ByteStore()
    /// Whether the text of the joined array at hand has begun.
    private var joinedHasBegun = false
    private var json = JSON.Encoder(options: JSON.EncodingOptions())
    private var jsonLevel = 0

    // A document that must be held: `DialectWriter+Document.swift`.
    internal var document: Tree
    internal var isGathering = false
    internal var isEmitting = false
    internal var isHolding = false
    internal var walkNode = Tree.none
    internal var walkLeaves = false
    /// Whether somebody calls `drain` after the document's end; else it is all written there.
    internal var drainsLater = false

    init(options: FieldEncodingOptions, limits: Limits) {
        self.options = options
        self.limits = limits
        document = Tree(limits: limits)
        var jsonOptions = JSON.EncodingOptions()
        jsonOptions.files = options.files
        json = JSON.Encoder(options: jsonOptions)
    }

    /// Makes the writer as new for another document, with its allocations kept.
    mutating func reset() {
        name.removeAll()
        levels.removeAll(keepingCapacity: true)
        removedCount = 0
        inString = false
        joinedHasBegun = false
        json.reset()
        jsonLevel = 0
        document.removeAll()
        isGathering = false
        isEmitting = false
        isHolding = false
        walkNode = Tree.none
    }
}

// MARK: Containers

extension DialectWriter {
    mutating func beginObject<Target: FieldSink & ~Copyable>(to target: inout Target) throws(ConversionError) {
        if jsonLevel > 0 || options.nesting == .json && !levels.isEmpty {
            try beginJSON(to: &target)
            return json.beginObject()
        }
        if let top = levels.last {
            try beginElement(isContainer: true, to: &target)
            switch top.kind {
            case .pairs, .pair: throw FieldFault.rootNotObject.error(field: nil)
            case .joined: throw fault(.container)
            case .object, .array: if options.nesting == .flat { throw fault(.nestedObject) }
            }
        }
        beginHolding()
        open(.object)
        if isGathering { try document.beginObject() }
    }

    mutating func endObject<Target: FieldSink & ~Copyable>(to target: inout Target) throws(ConversionError) {
        if jsonLevel > 0 {
            json.endObject()
            return try endJSON(to: &target)
        }
        if isGathering { try document.endObject() }
        try endContainer(to: &target)
    }

    mutating func beginArray<Target: FieldSink & ~Copyable>(to target: inout Target) throws(ConversionError) {
        guard let top = levels.last else {
            beginHolding()
            if options.dialect == .whatwg {
                isGathering = false
                return open(.pairs)
            }
            guard options.dialect != .recast else { throw FieldFault.rootNotObject.error(field: nil) }
            open(.array)
            if isGathering { try document.beginArray() }
            return
        }
        if jsonLevel > 0 || options.arrays == .json || options.arrays == .auto && options.nesting == .json {
            try beginJSON(to: &target)
            return json.beginArray()
        }
        switch top.kind {
        case .pair: throw FieldFault.rootNotObject.error(field: nil)
        case .pairs: return open(.pair)
        case .joined:
            try beginJoinedElement(to: &target)
            return open(.joined)
        case .object, .array: break
        }
        try beginElement(isContainer: true, to: &target)
        if options.arrays == .comma {
            joinedHasBegun = false
            return open(.joined)
        }
        open(.array)
        if isGathering { try document.beginArray() }
    }

    mutating func endArray<Target: FieldSink & ~Copyable>(to target: inout Target) throws(ConversionError) {
        if jsonLevel > 0 {
            json.endArray()
            return try endJSON(to: &target)
        }
        let level = levels[levels.count - 1]
        switch level.kind {
        case .joined: return try endJoined(to: &target)
        case .pair:
            guard level.position == 2 else { throw FieldFault.rootNotObject.error(field: nil) }
            levels.removeLast()
        case .object, .array, .pairs:
            if isGathering { try document.endArray() }
            try endContainer(to: &target)
        }
    }

    private mutating func open(_ kind: Level.Kind) {
        levels.append(Level(kind: kind, nameEnd: name.count, depth: levels.isEmpty ? -1 : valueDepth))
    }

    private mutating func endContainer<Target: FieldSink & ~Copyable>(
        to target: inout Target
    ) throws(ConversionError) {
        var level = levels.removeLast()
        name.truncate(to: level.nameEnd)
        if options.dialect == .rack, !isGathering, level.lastIsEmpty, level.position > 1 {
            try target.gap()
            level.hasWritten = true
        }
        guard let top = levels.indices.last else { return try endRoot(to: &target) }
        guard !isGathering else { return }
        guard !level.hasWritten else { return noteWritten() }
        switch options.empties {
        case .reject: throw fault(.empty)
        case .omit:
            if level.position == 0 { removedCount += 1 }
            levels[top].lastIsEmpty = levels[top].kind == .array
        case .marker:
            valueDepth = level.depth
            if level.kind == .array {
                name.append("[]")
                valueDepth += 1
            }
            // qs writes an empty array as a bare name.
            let hasValue = !(options.dialect == .qs && level.kind == .array)
            try beginPart(hasValue: hasValue, to: &target)
            try target.content(Span(), isLast: true)
            noteWritten()
        }
    }

    /// Says that something of the innermost container has been written.
    internal mutating func noteWritten() {
        guard let top = levels.indices.last else { return }
        levels[top].hasWritten = true
        levels[top].lastIsEmpty = false
    }
}

// MARK: Names

extension DialectWriter {
    mutating func key<Target: FieldSink & ~Copyable>(
        _ key: Span<UInt8>, to target: inout Target
    ) throws(ConversionError) {
        if jsonLevel > 0 { return json.key(key) }
        let top = levels.count - 1
        levels[top].position += 1
        name.truncate(to: levels[top].nameEnd)
        valueDepth = levels[top].depth + 1
        if top == 0 {
            name.append(contentsOf: key)
        } else if options.nesting == .dots {
            name.append(UInt8(ascii: "."))
            name.append(contentsOf: key)
        } else {
            name.append(UInt8(ascii: "["))
            name.append(contentsOf: key)
            name.append(UInt8(ascii: "]"))
        }
        if isGathering { try document.key(key) }
    }

    /// Completes `name` for a value that begins: the elements of an array are named here.
    internal mutating func beginElement<Target: FieldSink & ~Copyable>(
        isContainer: Bool, to target: inout Target
    ) throws(ConversionError) {
        let top = levels.count - 1
        guard levels[top].kind == .array else { return }
        let position = levels[top].position
        levels[top].position += 1
        if options.dialect == .rack, !isGathering, position > 0, levels[top].lastIsEmpty {
            try target.gap()
            noteWritten()
        }
        name.truncate(to: levels[top].nameEnd)
        valueDepth = levels[top].depth + 1
        if top == 0 {
            switch options.dialect {
            case .rack: name.append("[]")
            case .afnetworking:
                name.append("(null)[]")
                valueDepth += 1
            case .recast, .alamofire, .qs, .php, .whatwg: name.append(decimal: position)
            }
            return
        }
        switch options.arrays {
        case .indices: appendIndex(position)
        case .auto where isContainer: appendIndex(position)
        case .brackets, .auto: name.append("[]")
        case .repeated, .comma, .json: valueDepth -= 1
        }
    }

    private mutating func appendIndex(_ index: Int) {
        name.append(UInt8(ascii: "["))
        name.append(decimal: index)
        name.append(UInt8(ascii: "]"))
    }

    internal func fault(_ fault: FieldFault) -> ConversionError { fault.error(field: name.span.lossyString()) }

    private func checkName() throws(ConversionError) {
        guard name.count <= limits.key else {
            throw .limit(
                "key", of: limits.key, what: "the length of a field's name",
                field: name.slice(0..<min(name.count, 64)).lossyString() + "…")
        }
        guard valueDepth <= limits.keyDepth else {
            throw .limit(
                "key_depth", of: limits.keyDepth, what: "the nesting of a field's name", field: name.span.lossyString())
        }
    }

    private mutating func beginPart<Target: FieldSink & ~Copyable>(
        hasValue: Bool = true, to target: inout Target
    ) throws(ConversionError) {
        try checkName()
        head.setName(copying: name)
        head.hasValue = hasValue
        try target.beginPart(head)
    }
}

// MARK: Scalars

extension DialectWriter {
    mutating func string<Target: FieldSink & ~Copyable>(
        _ piece: Span<UInt8>, isLast: Bool, to target: inout Target
    ) throws(ConversionError) {
        if jsonLevel > 0 {
            json.string(piece, isLast: isLast)
            return try sendJSON(to: &target)
        }
        if !inString { try beginText(to: &target) }
        inString = !isLast
        try sendText(piece, isLast: isLast, to: &target)
    }

    mutating func number<Target: FieldSink & ~Copyable>(
        _ source: Span<UInt8>, to target: inout Target
    ) throws(ConversionError) {
        if jsonLevel > 0 {
            json.number(source)
            return try sendJSON(to: &target)
        }
        text.removeAll()
        DialectNumber.append(source, as: options.dialect, to: &text)
        try sendWhole(to: &target)
    }

    mutating func bool<Target: FieldSink & ~Copyable>(
        _ value: Bool, to target: inout Target
    ) throws(ConversionError) {
        if jsonLevel > 0 {
            json.bool(value)
            return try sendJSON(to: &target)
        }
        text.removeAll()
        switch options.booleans {
        case .literal: text.append(value ? "true" : "false")
        case .numeric: text.append(value ? "1" : "0")
        }
        try sendWhole(to: &target)
    }

    mutating func date<Target: FieldSink & ~Copyable>(
        _ source: Span<UInt8>, to target: inout Target
    ) throws(ConversionError) {
        if jsonLevel > 0 {
            json.string(source, isLast: true)
            return try sendJSON(to: &target)
        }
        text.removeAll()
        DialectDate.append(source, as: options.dialect, to: &text)
        try sendWhole(to: &target)
    }

    mutating func null<Target: FieldSink & ~Copyable>(to target: inout Target) throws(ConversionError) {
        if jsonLevel > 0 {
            json.null()
            return try sendJSON(to: &target)
        }
        guard let top = levels.last else {
            switch options.dialect {
            case .afnetworking, .alamofire, .qs, .rack: removedCount += 1
            case .recast, .php, .whatwg: throw FieldFault.rootNotObject.error(field: nil)
            }
            return
        }
        text.removeAll()
        switch top.kind {
        case .joined: return try beginJoinedElement(to: &target)
        case .pairs, .pair:
            text.append("null")
            return try sendWhole(to: &target)
        case .object, .array: break
        }
        switch options.nulls {
        case .empty: try sendWhole(to: &target)
        case .literal:
            text.append("null")
            try sendWhole(to: &target)
        case .key:
            try beginElement(isContainer: false, to: &target)
            try sendBare(to: &target)
        case .omit:
            try beginElement(isContainer: false, to: &target)
            removedCount += 1
            if isGathering { try holdPlace(isFile: false) }
        case .reject:
            try beginElement(isContainer: false, to: &target)
            throw fault(.null)
        }
    }

    /// Sends a name without a value.
    internal mutating func sendBare<Target: FieldSink & ~Copyable>(to target: inout Target) throws(ConversionError) {
        if isGathering { return try document.null() }
        if name.isEmpty {
            removedCount += 1
            if options.dialect == .rack { return }
        }
        try beginPart(hasValue: false, to: &target)
        try target.content(Span(), isLast: true)
        noteWritten()
    }

    /// Sends `text`.
    private mutating func sendWhole<Target: FieldSink & ~Copyable>(to target: inout Target) throws(ConversionError) {
        try beginText(to: &target)
        // A span of a property holds all of self, so the text is taken out.
        var whole = ByteStore()
        swap(&whole, &text)
        try sendText(whole.span, isLast: true, to: &target)
        swap(&whole, &text)
    }

    private mutating func beginText<Target: FieldSink & ~Copyable>(to target: inout Target) throws(ConversionError) {
        guard let top = levels.indices.last else {
            guard options.dialect == .afnetworking else { throw FieldFault.rootNotObject.error(field: nil) }
            valueDepth = 0
            return try beginPart(to: &target)
        }
        switch levels[top].kind {
        case .object, .array:
            try beginElement(isContainer: false, to: &target)
            if !isGathering { try beginPart(to: &target) }
        case .joined: try beginJoinedElement(to: &target)
        case .pairs: throw FieldFault.rootNotObject.error(field: nil)
        case .pair:
            levels[top].position += 1
            valueDepth = 0
            switch levels[top].position {
            case 1: name.removeAll()
            case 2: try beginPart(to: &target)
            default: throw FieldFault.rootNotObject.error(field: nil)
            }
        }
    }

    private mutating func sendText<Target: FieldSink & ~Copyable>(
        _ piece: Span<UInt8>, isLast: Bool, to target: inout Target
    ) throws(ConversionError) {
        guard let top = levels.last else { return try target.content(piece, isLast: isLast) }
        switch top.kind {
        case .joined: try sendJoined(piece, to: &target)
        case .pair where top.position == 1:
            guard piece.count <= limits.key - name.count else {
                throw .limit("key", of: limits.key, what: "the length of a field's name")
            }
            name.append(contentsOf: piece)
        case .object, .array, .pairs, .pair:
            if isGathering {
                try document.string(piece, isLast: isLast)
            } else {
                try target.content(piece, isLast: isLast)
                if isLast { noteWritten() }
            }
        }
    }
}

// MARK: Joined arrays

extension DialectWriter {
    private mutating func beginJoinedElement<Target: FieldSink & ~Copyable>(
        to target: inout Target
    ) throws(ConversionError) {
        let top = levels.count - 1
        levels[top].position += 1
        guard levels[top].position > 1 else { return }
        let comma: InlineArray<1, UInt8> = [UInt8(ascii: ",")]
        try sendJoined(comma.span, to: &target)
    }

    /// The field begins with its first byte: one that never has any is a null to qs.
    private mutating func sendJoined<Target: FieldSink & ~Copyable>(
        _ piece: Span<UInt8>, to target: inout Target
    ) throws(ConversionError) {
        guard !piece.isEmpty else { return }
        if !joinedHasBegun {
            joinedHasBegun = true
            if !isGathering { try beginPart(to: &target) }
        }
        if isGathering { try document.string(piece, isLast: false) } else { try target.content(piece, isLast: false) }
    }

    private mutating func endJoined<Target: FieldSink & ~Copyable>(to target: inout Target) throws(ConversionError) {
        let level = levels.removeLast()
        guard let top = levels.last, top.kind != .joined else { return }
        if joinedHasBegun {
            if isGathering { return try document.string(Span(), isLast: true) }
            try target.content(Span(), isLast: true)
            return noteWritten()
        }
        // The element of the outer array has been begun already.
        valueDepth = level.depth
        let nulls = level.position == 0 ? NullStyle.omit : options.nulls
        if level.position == 0 {
            if options.empties == .reject { throw fault(.empty) }
            if options.empties == .marker {
                name.append("[]")
                valueDepth += 1
                if isGathering { return try document.string(Span(), isLast: true) }
                try beginPart(to: &target)
                try target.content(Span(), isLast: true)
                return noteWritten()
            }
        }
        switch nulls {
        case .key: try sendBare(to: &target)
        case .omit:
            removedCount += 1
            if isGathering { try holdPlace(isFile: false) }
        case .empty, .literal, .reject:
            if isGathering { return try document.string(Span(), isLast: true) }
            try beginPart(to: &target)
            try target.content(Span(), isLast: true)
            noteWritten()
        }
    }
}

// MARK: Files and JSON texts

extension DialectWriter {
    mutating func beginFile<Target: FieldSink & ~Copyable>(
        _ file: borrowing PartHead, to target: inout Target
    ) throws(ConversionError) {
        if jsonLevel > 0 {
            // The text's field is what an error can name.
            head.setName(copying: name)
            return try json.beginFile(head)
        }
        guard let top = levels.last, top.kind != .pair, top.kind != .pairs else {
            throw FieldFault.rootNotObject.error(field: nil)
        }
        guard top.kind != .joined else { throw fault(.comma) }
        try beginElement(isContainer: false, to: &target)
        if isGathering { try holdPlace(isFile: true) }
        try checkName()
        head.copy(file, named: name)
        head.isFile = true
        head.hasValue = true
        try target.beginPart(head)
    }

    mutating func fileContent<Target: FieldSink & ~Copyable>(
        _ piece: Span<UInt8>, isLast: Bool, to target: inout Target
    ) throws(ConversionError) {
        if jsonLevel > 0 {
            json.fileContent(piece, isLast: isLast)
            return try sendJSON(to: &target)
        }
        try target.content(piece, isLast: isLast)
        if isLast { noteWritten() }
    }

    /// Begins a field for a JSON text, or one more object or array in it.
    private mutating func beginJSON<Target: FieldSink & ~Copyable>(to target: inout Target) throws(ConversionError) {
        if jsonLevel == 0 {
            if let top = levels.last, top.kind == .joined { throw fault(.container) }
            try beginText(to: &target)
            json.reset()
        }
        jsonLevel += 1
    }

    private mutating func endJSON<Target: FieldSink & ~Copyable>(to target: inout Target) throws(ConversionError) {
        jsonLevel -= 1
        try sendJSON(to: &target)
    }

    private mutating func sendJSON<Target: FieldSink & ~Copyable>(to target: inout Target) throws(ConversionError) {
        let isLast = jsonLevel == 0
        guard isLast || json.output.count >= 4096 else { return }
        var written = OutputBuffer()
        swap(&written, &json.output)
        try sendText(written.span, isLast: isLast, to: &target)
        written.removeAll()
        swap(&written, &json.output)
    }
}
