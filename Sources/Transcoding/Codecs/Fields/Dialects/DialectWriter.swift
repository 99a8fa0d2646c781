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
    internal let options: FieldEncodingOptions
    internal let limits: Limits
    /// The name of the value at hand, or of the innermost container.
    internal var name = ByteStore()
    /// The segments of that name after its root.
    internal var valueDepth = 0
    internal var levels = OwnedArray<FieldContainer>()
    /// What a rule left out: nulls, empty objects and arrays, bare names that are empty.
    internal var removedCount = 0
    internal var head = PartHead()
    internal var inString = false
    internal var text = ByteStore()
    /// Whether the text of the joined array at hand has begun.
    internal var joinedHasBegun = false
    internal var json = JSON.Encoder(options: JSON.EncodingOptions())
    internal var jsonLevel = 0

    /// Whether documents are held until their end.
    internal var holdsDocuments: Bool { options.order == .sorted || options.dialect == .alamofire }
    /// Whether no value is under way, and all that has come was written.
    internal var isBetweenValues: Bool { !isGathering && !isHolding && !isEmitting && !inString && jsonLevel == 0 }

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
        levels.removeAll()
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
            _ = levels.removeLast()
        case .object, .array, .pairs:
            if isGathering { try document.endArray() }
            try endContainer(to: &target)
        }
    }

    internal mutating func open(_ kind: FieldContainer.Kind) {
        let depth = levels.isEmpty ? -1 : valueDepth
        levels.append(FieldContainer(kind: kind, nameEnd: name.count, depth: depth, style: options.arrays))
    }

    private mutating func endContainer<Target: FieldSink & ~Copyable>(
        to target: inout Target
    ) throws(ConversionError) {
        var level = levels.removeLast()
        name.truncate(to: level.nameEnd)
        if options.dialect == .rack, !isGathering, level.lastIsEmpty, level.position > 1 {
            try target.gap()
            level.written += 1
        }
        guard let top = levels.lastIndex else { return try endRoot(to: &target) }
        guard !isGathering else { return }
        guard level.written == 0 else { return noteWritten() }
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
        guard let top = levels.lastIndex else { return }
        levels[top].written += 1
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

    internal func checkName() throws(ConversionError) {
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

    internal mutating func beginPart<Target: FieldSink & ~Copyable>(
        hasValue: Bool = true, to target: inout Target
    ) throws(ConversionError) {
        try checkName()
        head.setName(copying: name)
        head.hasValue = hasValue
        try target.beginPart(head)
    }
}
