internal import COctets
internal import Octets

/// Turns the events of a document into the fields and files of a flat body, each named by its path: the one writer of fields,
/// for all dialects. What a dialect does in its own way is a row of `FieldStyle`.
///
/// Every scalar and every file becomes one part. What follows is our own dialect, `recast`, which the others are told from
/// below.
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
/// object or array of which nothing is left counts as empty; the root may be empty, and must be an object. A repeated key of an
/// object gives a repeated name: what is to become of those is settled before. Numbers keep their source text.
///
/// **The other dialects** write names as their library does, also where a reader takes them for something else: `{"a[b]":1}`
/// and `{"a":{"b":1}}` are the same bytes. Arrays by `auto` have each element by itself, `a[0][b]=1&a[]=2`, as jQuery does;
/// by `comma` they are joined as qs joins. Fields go out as they come, but for a dialect that sorts: then the document is held
/// in a tree (`limits.tree`) until its end, and files pass at once all the same.
///
/// Errors name the field in the output's own spelling. Limits: `key` and `keyDepth`, as for reading, because every element
/// repeats the names of all it stands in, and nothing else bounds what one value becomes;
/// `tree`, the bytes of names remembered for an element of a `brackets` array.
package struct Flattener<Target: FieldSink & ~Copyable>: EventSink, ~Copyable {
    package var target: Target
    /// What rules have left out of the document so far: nulls, empty objects and arrays.
    package internal(set) var removedCount = 0

    internal let options: FieldEncodingOptions
    internal let limits: Limits
    internal let style: FieldStyle
    /// The name of the value at hand, or of the innermost container; between two values perhaps still that of the last one.
    internal var name = ByteStore()
    /// The segments of the name of the value at hand after its root.
    private var valueDepth = 0
    internal var containers = OwnedArray<FieldContainer>()
    /// What stands before the names of an open container's members, as it goes out.
    internal var prefix = FieldPrefix()
    private var head = PartHead()
    /// What the head of the part said besides its name that the value at hand was, and whether there is something.
    private var lines = PartHead()
    private var hasLines = false
    private var inString = false
    /// The text of a date that is printed anew, and what prints numbers so.
    private var text = ByteStore()
    internal let printer: NumberPrinter?
    /// Whether the field of the joined array at hand has begun.
    private var joinedHasBegun = false

    /// Writes the JSON text at hand, of which `jsonLevel` objects and arrays are open.
    private var json: JSON.Encoder
    private var jsonLevel = 0

    /// Whether what stands in front of the flattener leaves members out that are null, so that none comes here.
    internal var hasNoNullMembers = false

    /// Hears where the values go, where a conversion is explained.
    internal var observer: (any FlattenerObserver)?

    // Names that a reader must not take for others.

    /// Reads keys of the root that have brackets or dots, and whether the one at hand is such a key.
    private var literal = FieldName()
    internal var isRootLiteral = false
    /// The open `brackets` arrays that hold objects, and the names written for their latest elements.
    private var groupedArrays = 0
    private var seen = NameLog()
    /// Whether any container awaits its first field.
    private var awaitsFirstField = false

    // A document that is held until its end.

    internal var document: Tree
    /// Whether the document is being put into the tree, is there, and is being written.
    internal var isGathering = false
    internal var isHolding = false
    internal var isEmitting = false
    /// Whether the document belongs to somebody else, and whether its members are sorted.
    internal var isLent = false
    internal var sortsLent = false
    internal var walkNode = Tree.none
    internal var walkLeaves = false
    /// Whether `drain` is called after the document's end; else it is all written there.
    internal var drainsLater = false
    /// What C's loop has open.
    internal var heldLevels = OwnedArray<recast_held_level>()

    /// A flattener of one document into `target`, under `options` (all but `spaces` and `files`, and under `recast` `order`).
    package init(target: consuming Target, options: FieldEncodingOptions, limits: Limits) {
        self.target = target
        self.options = options
        self.limits = limits
        style = FieldStyle.of(options.dialect)
        printer = style.numbers.map { NumberPrinter($0) }
        document = Tree(limits: limits)
        var jsonOptions = JSON.EncodingOptions()
        jsonOptions.files = options.files
        json = JSON.Encoder(options: jsonOptions)
    }

    /// Makes the flattener as new for another document, with its allocations kept. The target stays as it is.
    package mutating func reset() {
        removedCount = 0
        name.removeAll()
        containers.removeAll()
        prefix.shrink(to: 64 * 1024)
        hasLines = false
        inString = false
        joinedHasBegun = false
        json.reset()
        jsonLevel = 0
        isRootLiteral = false
        groupedArrays = 0
        seen.removeAll()
        awaitsFirstField = false
        isHolding = false
        isEmitting = false
        isLent = false
        walkNode = Tree.none
        guard holdsDocuments else { return }
        document.removeAll()
        isGathering = false
    }

    package var isFull: Bool { target.isFull }

    /// Whether all that has come is written, so that fields may be written past the events.
    internal var isBetweenValues: Bool {
        !inString && jsonLevel == 0 && groupedArrays == 0 && !awaitsFirstField && !isGathering && !isHolding
    }

    /// Whether the object or array at hand is one that events alone can write.
    internal var needsEvents: Bool {
        guard jsonLevel == 0, let top = containers.lastIndex else { return jsonLevel > 0 }
        return containers[top].isForEvents
    }

    /// Whether all that has come is in the document that is held.
    internal var isBetweenGatheredValues: Bool { isGathering && !inString && jsonLevel == 0 }
}

// MARK: Objects and arrays

extension Flattener where Target: ~Copyable {
    package mutating func beginObject() throws(ConversionError) {
        guard let top = containers.last else {
            beginHolding()
            open(.object)
            if isGathering { try document.beginObject() }
            tellHeld()
            return
        }
        if jsonLevel > 0 || options.nesting == .json {
            try beginJSON()
            return json.beginObject()
        }
        switch top.kind {
        case .pairs, .pair: throw FieldFault.rootNotObject.error(field: nil)
        case .joined: throw fault(.container)
        case .object, .array: try beginValue(.object)
        }
        if options.nesting == .flat { throw fault(.nestedObject) }
        open(.object)
        if isGathering { try document.beginObject() }
        tellHeld()
    }

    package mutating func endObject() throws(ConversionError) {
        if jsonLevel > 0 {
            json.endObject()
            return try endJSON()
        }
        if isGathering {
            noteHeldEnd()
            try document.endObject()
        }
        try endContainer()
    }

    package mutating func beginArray() throws(ConversionError) {
        guard let top = containers.last else { return try beginRootArray() }
        if jsonLevel > 0 || options.writesArraysAsJSON {
            try beginJSON()
            return json.beginArray()
        }
        switch top.kind {
        case .pair: throw FieldFault.rootNotObject.error(field: nil)
        case .pairs:
            name.removeAll()
            return open(.pair)
        case .joined:
            guard style.join == .loose else { throw fault(.container) }
            try beginJoinedElement()
            return open(.joined)
        case .object, .array: try beginValue(.array)
        }
        if options.arrays == .comma {
            joinedHasBegun = false
            return open(.joined)
        }
        open(.array)
        if isGathering { try document.beginArray() }
        tellHeld()
    }

    private mutating func beginRootArray() throws(ConversionError) {
        switch style.arrayRoot {
        case .refused: throw FieldFault.rootNotObject.error(field: nil)
        case .pairs: open(.pairs)
        case .numbered, .brackets, .nullBrackets:
            beginHolding()
            open(.array)
            if isGathering { try document.beginArray() }
            tellHeld()
        }
    }

    package mutating func endArray() throws(ConversionError) {
        if jsonLevel > 0 {
            json.endArray()
            return try endJSON()
        }
        let container = containers[containers.count - 1]
        switch container.kind {
        case .joined: try endJoined()
        case .pair:
            guard container.position == 2 else { throw FieldFault.rootNotObject.error(field: nil) }
            _ = containers.removeLast()
        case .object, .array, .pairs:
            if isGathering {
                noteHeldEnd()
                try document.endArray()
            }
            try endContainer()
        }
    }

    private mutating func open(_ kind: FieldContainer.Kind) {
        // What becomes several parts has no head of its own.
        hasLines = false
        let depth = containers.isEmpty ? -1 : valueDepth
        var container = FieldContainer(kind: kind, nameEnd: name.count, depth: depth, style: options.arrays)
        if let top = containers.lastIndex { container.isForEvents = containers[top].isForEvents }
        if kind != .object, leavesArraysToEvents { container.isForEvents = true }
        containers.append(container)
    }

    /// Ends the innermost container: the name is its own again.
    private mutating func endContainer() throws(ConversionError) {
        var container = containers.removeLast()
        name.truncate(to: container.nameEnd)
        if container.seenStart >= 0 {
            groupedArrays -= 1
            if groupedArrays == 0 { seen.removeAll() }
        }
        if container.lastIsEmpty, container.position > 1 {
            try target.gap()
            container.written += 1
        }
        guard !containers.isEmpty else { return try endHolding() }
        if isGathering { return }
        if container.written > 0 { return noteWritten() }
        try writeEmpty(container, hasValue: container.isObject || style.markerHasValue)
        if options.empties == .omit, style.leavesGaps {
            let top = containers.count - 1
            containers[top].lastIsEmpty = containers[top].kind == .array
        }
    }

    /// Writes what `empties` says of a container of which nothing was written.
    private mutating func writeEmpty(_ container: FieldContainer, hasValue: Bool) throws(ConversionError) {
        switch options.empties {
        case .reject: throw fault(.empty)
        case .omit: if container.position == 0 { omit() }
        case .marker:
            valueDepth = container.depth
            if container.isObject {
                // `a[]=` would be read as an empty string among the objects.
                let parent = containers[containers.count - 1]
                if style.refusesAmbiguity, !parent.isObject, parent.style == .brackets { throw fault(.regrouped) }
            } else {
                try appendBrackets(index: nil)
                valueDepth += 1
            }
            try beginField(hasValue: hasValue)
            try target.content(Span(), isLast: true)
            noteWritten()
        }
    }

    /// Whether objects below the root are left to their events: where they are refused, or become JSON texts.
    internal var leavesObjectsToEvents: Bool { options.nesting == .flat || options.nesting == .json }

    /// Whether arrays are left to their events, and all that stands in them: where their elements aren't named `a[]`, `a[0]` or `a`.
    internal var leavesArraysToEvents: Bool {
        guard options.nesting != .json else { return true }
        switch options.arrays {
        case .indices, .brackets, .repeated, .auto: return false
        case .comma, .json: return true
        }
    }

    /// Whether each element of an array decides for itself how it is named.
    internal var mixesArrays: Bool { options.arrays == .auto && style.mixesArrays }

    /// Leaves a value out by an option.
    private mutating func omit() {
        removedCount += 1
        observer?.omits()
    }

    /// Says that something of the innermost container has been written.
    internal mutating func noteWritten() {
        guard let top = containers.lastIndex else { return }
        containers[top].written += 1
        containers[top].lastIsEmpty = false
        containers[top].lastWasObject = containers[top].inObject
        name.truncate(to: containers[top].nameEnd)
    }
}

// MARK: Names

extension Flattener where Target: ~Copyable {
    package mutating func key(_ key: Span<UInt8>) throws(ConversionError) {
        if jsonLevel > 0 { return json.key(key) }
        let top = containers.count - 1
        let isRoot = top == 0
        let isDotted = options.nesting == .dots
        containers[top].position += 1
        name.truncate(to: containers[top].nameEnd)
        valueDepth = containers[top].depth + 1
        if !isRoot { name.append(isDotted ? UInt8(ascii: ".") : UInt8(ascii: "[")) }
        name.append(contentsOf: key)
        if !isRoot, !isDotted { name.append(UInt8(ascii: "]")) }
        if isGathering { return try holdKey(key) }
        guard style.refusesAmbiguity else { return }
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
        if hasMarks || key.isEmpty || containers[top].nameEnd == 0 || isRootLiteral { throw fault(.name) }
    }

    /// Whether a key has brackets, or dots where they count.
    internal static func hasMarks(_ key: Span<UInt8>, isDotted: Bool) -> Bool {
        let open = UInt8(ascii: "["), close = UInt8(ascii: "]")
        if !isDotted, key.count <= 16 { return Scan.holds(open, or: close, in: key) }
        let third = isDotted ? UInt8(ascii: ".") : close
        return Scan.firstIndex(ofAny: open, close, third, third, in: key, from: 0) < key.count
    }

    /// Whether a name with brackets or dots doesn't follow their grammar, so that it is one literal key to a reader.
    private mutating func readsAsOneKey(_ name: Span<UInt8>) -> Bool {
        var decoding = FieldDecodingOptions()
        decoding.nesting = options.nesting
        guard (try? literal.parse(name, options: decoding, limits: limits)) != nil else { return false }
        return literal.segmentCount == 1
    }

    /// Completes `name` for a value that begins in an object or array: an array's elements are named here.
    internal mutating func beginValue(_ kind: FieldContainer.Element) throws(ConversionError) {
        let top = containers.count - 1
        guard containers[top].kind == .array else { return }
        if containers[top].lastIsEmpty, containers[top].position > 0 {
            try target.gap()
            noteWritten()
        }
        let position = containers[top].position
        containers[top].position += 1
        name.truncate(to: containers[top].nameEnd)
        valueDepth = containers[top].depth + 1
        if top == 0 { return nameRootElement(position) }
        let isContainer = kind != .scalar
        var arrays = containers[top].style
        if options.arrays == .auto, mixesArrays || containers[top].written == 0 {
            arrays = isContainer ? .indices : .brackets
            containers[top].style = arrays
        }
        containers[top].inObject = kind == .object
        switch arrays {
        case .indices: try appendBrackets(index: position)
        case .brackets:
            if style.refusesAmbiguity {
                if isContainer, options.arrays == .auto { throw fault(.mixedArray) }
                if kind == .array { throw fault(.container) }
            }
            try appendBrackets(index: nil)
            if style.refusesAmbiguity, kind == .object {
                containers[top].awaitsFirstField = true
                awaitsFirstField = true
            }
        case .repeated:
            if style.refusesAmbiguity, isContainer { throw fault(.container) }
            valueDepth -= 1
        // Arrays that are joined or written as JSON have no elements with names.
        case .comma, .json, .auto: valueDepth -= 1
        }
    }

    private mutating func nameRootElement(_ position: Int) {
        switch style.arrayRoot {
        case .brackets: name.append("[]")
        case .nullBrackets:
            name.append("(null)[]")
            valueDepth += 1
        case .numbered, .pairs, .refused: name.append(decimal: position)
        }
    }

    /// Appends `[index]`, or `[]` for nil.
    private mutating func appendBrackets(index: Int?) throws(ConversionError) {
        // `[]` without a root, or behind one that is no name of the grammar, is a flat name.
        if style.refusesAmbiguity, name.isEmpty || isRootLiteral { throw fault(.name) }
        name.append(UInt8(ascii: "["))
        if let index { name.append(decimal: index) }
        name.append(UInt8(ascii: "]"))
    }

    private func fault(_ fault: FieldFault) -> ConversionError { fault.error(field: name.span.lossyString()) }

    /// Checks the name of a part that is about to be written, and remembers it where a later object may be joined with it.
    private mutating func checkName() throws(ConversionError) {
        guard name.count <= limits.key else {
            // The name's beginning tells which one it is; all of it would be as long as is not wanted.
            throw .limit(
                "key", of: limits.key, what: "the length of a field's name",
                field: name.slice(0..<min(name.count, 64)).lossyString() + "…")
        }
        guard valueDepth <= limits.keyDepth else {
            throw .limit(
                "key_depth", of: limits.keyDepth, what: "the nesting of a field's name", field: name.span.lossyString())
        }
        if awaitsFirstField {
            awaitsFirstField = false
            for index in 0..<containers.count where containers[index].awaitsFirstField {
                containers[index].awaitsFirstField = false
                try beginGroupedObject(in: index)
            }
        }
        if groupedArrays > 0 && !seen.append(name, limit: limits.tree) {
            throw .limit(
                "tree", of: limits.tree, what: "the size of the names in an array's element",
                field: name.span.lossyString())
        }
    }

    /// Takes the first name of an object in a `brackets` array. A parser begins a new element with it only if the element
    /// before is not an object or has that path already, and the path has no `[]` of its own (Rack's rule).
    private mutating func beginGroupedObject(in index: Int) throws(ConversionError) {
        let array = containers[index]
        guard array.seenStart >= 0 else {
            containers[index].seenStart = seen.count
            groupedArrays += 1
            return
        }
        if array.lastWasObject {
            guard !hasPush(from: array.nameEnd + 2), seen.holds(name, from: array.seenStart) else {
                throw fault(.regrouped)
            }
        }
        // Outer arrays lose nothing they need: to them a path counts up to its first `[]` only, and the name that follows
        // has the same beginning.
        seen.truncate(to: array.seenStart)
    }

    private func hasPush(from start: Int) -> Bool {
        var at = start
        while at + 1 < name.count {
            if name[at] == UInt8(ascii: "["), name[at + 1] == UInt8(ascii: "]") { return true }
            at += 1
        }
        return false
    }
}

// MARK: Scalars

extension Flattener where Target: ~Copyable {
    package mutating func string(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        if jsonLevel > 0 {
            json.string(piece, isLast: isLast)
            return try sendJSON()
        }
        if !inString { try beginText() }
        inString = !isLast
        try sendText(piece, isLast: isLast)
    }

    package mutating func number(_ source: Span<UInt8>) throws(ConversionError) {
        if jsonLevel > 0 {
            json.number(source)
            return try sendJSON()
        }
        guard let printer else { return try send(source) }
        printer.print(source)
        swap(&text, &printer.text)
        try sendPrinted()
    }

    package mutating func bool(_ value: Bool) throws(ConversionError) {
        if jsonLevel > 0 {
            json.bool(value)
            return try sendJSON()
        }
        switch options.booleans {
        case .literal: try send(value ? Words.true.span : Words.false.span)
        case .numeric: try send(value ? Words.one.span : Words.zero.span)
        }
    }

    /// A point in time, as the dialect's library prints one.
    package mutating func date(_ source: Span<UInt8>) throws(ConversionError) {
        if jsonLevel > 0 || style.dates == .text { return try string(source, isLast: true) }
        text.removeAll()
        style.dates.append(source, to: &text)
        try sendPrinted()
    }

    package mutating func null() throws(ConversionError) {
        if jsonLevel > 0 {
            json.null()
            return try sendJSON()
        }
        guard let top = containers.last else {
            guard style.dropsNullRoot else { throw FieldFault.rootNotObject.error(field: nil) }
            omit()
            return
        }
        switch top.kind {
        case .pairs, .pair: return try send(Words.null.span)
        case .joined where style.join == .loose: return try beginJoinedElement()
        case .joined, .object, .array: break
        }
        switch options.nulls {
        case .empty: try send(Span())
        case .literal: try send(Words.null.span)
        case .key:
            if top.kind == .joined { return try send(Span()) }
            try beginValue(.scalar)
            try sendBare()
        case .omit:
            omit()
            // One without a name that could be written is left out all the same.
            if style.refusesAmbiguity {
                if !top.isObject { containers[containers.count - 1].position += 1 }
                return
            }
            try beginValue(.scalar)
            if isGathering { try holdPlace(isFile: false) }
        case .reject:
            try beginValue(.scalar)
            throw fault(.null)
        }
    }

    /// Sends a name without a value.
    internal mutating func sendBare() throws(ConversionError) {
        if isGathering {
            try document.null()
            return tellHeld()
        }
        if name.isEmpty, style.namelessNull != .pair {
            omit()
            if style.namelessNull == .omitted { return }
        }
        try beginField(hasValue: false)
        try target.content(Span(), isLast: true)
        noteWritten()
    }

    /// Sends a whole text.
    private mutating func send(_ whole: Span<UInt8>) throws(ConversionError) {
        try beginText()
        try sendText(whole, isLast: true)
    }

    /// Sends `text`.
    private mutating func sendPrinted() throws(ConversionError) {
        // A span of a property holds all of self, so the text is taken out.
        var whole = ByteStore()
        swap(&whole, &text)
        try send(whole.span)
        swap(&whole, &text)
    }

    /// Begins the field of a text, or its place in one that has begun.
    private mutating func beginText() throws(ConversionError) {
        guard let top = containers.lastIndex else {
            guard style.scalarRoot == .nameless else { throw FieldFault.rootNotObject.error(field: nil) }
            valueDepth = 0
            return try beginField()
        }
        switch containers[top].kind {
        case .object, .array:
            try beginValue(.scalar)
            if !isGathering { try beginField() }
        case .joined: try beginJoinedElement()
        case .pairs: throw FieldFault.rootNotObject.error(field: nil)
        case .pair:
            containers[top].position += 1
            valueDepth = 0
            switch containers[top].position {
            case 1: name.removeAll()
            case 2: try beginField()
            default: throw FieldFault.rootNotObject.error(field: nil)
            }
        }
    }

    private mutating func sendText(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        guard let top = containers.last else { return try target.content(piece, isLast: isLast) }
        switch top.kind {
        case .joined: try sendJoined(piece, isLast: isLast)
        case .pair where top.position == 1:
            guard piece.count <= limits.key - name.count else {
                throw .limit("key", of: limits.key, what: "the length of a field's name")
            }
            name.append(contentsOf: piece)
        case .object, .array, .pairs, .pair:
            if isGathering {
                try document.string(piece, isLast: isLast)
                if isLast {
                    tellHeld()
                    try holdLines()
                }
                return
            }
            try target.content(piece, isLast: isLast)
            if isLast { noteWritten() }
        }
    }

    private mutating func beginField(hasValue: Bool = true) throws(ConversionError) {
        try checkName()
        head.setName(copying: name)
        head.hasValue = hasValue
        if hasLines {
            head.copyLines(of: lines)
            hasLines = false
        }
        try target.beginPart(head)
    }

    /// See `EventSink`. The part that the value is written as has them, where it is one of its own.
    package mutating func partHead(_ head: borrowing PartHead) {
        // What stands in a JSON text is no part.
        guard jsonLevel == 0 else { return }
        hasLines = head.hasLines
        guard hasLines else { return }
        lines.removeAll()
        lines.copyLines(of: head)
    }

    /// Keeps them for the node of the document that is held which the value went to.
    private mutating func holdLines() throws(ConversionError) {
        guard hasLines else { return }
        hasLines = false
        try document.keepLines(of: lines, for: Tree.Node(document.records.count - 1))
    }
}

// MARK: Joined arrays

extension Flattener where Target: ~Copyable {
    private mutating func beginJoinedElement() throws(ConversionError) {
        hasLines = false
        let top = containers.count - 1
        containers[top].position += 1
        switch style.join {
        case .strict:
            if joinedHasBegun { return try target.content(Words.comma.span, isLast: false) }
            joinedHasBegun = true
            try beginField()
        case .loose: if containers[top].position > 1 { try sendJoined(Words.comma.span, isLast: false) }
        }
    }

    private mutating func sendJoined(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        if style.join == .strict {
            if Scan.firstIndex(of: UInt8(ascii: ","), in: piece) != nil { throw fault(.comma) }
            if isLast { containers[containers.count - 1].written += 1 }
        }
        guard !piece.isEmpty else { return }
        if !joinedHasBegun {
            // One that never has a byte is a null to qs.
            joinedHasBegun = true
            if !isGathering { try beginField() }
        }
        if isGathering { try document.string(piece, isLast: false) } else { try target.content(piece, isLast: false) }
    }

    private mutating func endJoined() throws(ConversionError) {
        let array = containers.removeLast()
        guard let top = containers.last, top.kind != .joined else { return }
        if joinedHasBegun { return try endJoinedText() }
        // The element of the outer array has been begun already.
        valueDepth = array.depth
        if array.position == 0 || style.join == .strict {
            if isGathering, options.empties != .reject {
                if options.empties == .marker { return try endJoinedText() }
                omit()
                return try holdPlace(isFile: false)
            }
            return try writeEmpty(array, hasValue: true)
        }
        switch options.nulls {
        case .key: try sendBare()
        case .omit:
            omit()
            if isGathering { try holdPlace(isFile: false) }
        case .empty, .literal, .reject:
            if !isGathering { try beginField() }
            try endJoinedText()
        }
    }

    private mutating func endJoinedText() throws(ConversionError) {
        if isGathering {
            try document.string(Span(), isLast: true)
            return tellHeld()
        }
        try target.content(Span(), isLast: true)
        noteWritten()
    }
}

// MARK: Files

extension Flattener where Target: ~Copyable {
    package mutating func beginFile(_ file: borrowing PartHead) throws(ConversionError) {
        if jsonLevel > 0 {
            // The text's field is what an error can name.
            head.setName(copying: name)
            return try json.beginFile(head)
        }
        guard let top = containers.lastIndex, containers[top].kind != .pair, containers[top].kind != .pairs else {
            throw FieldFault.rootNotObject.error(field: nil)
        }
        if containers[top].kind == .joined { throw fault(.comma) }
        if file.hasGivenName { return try beginNamedFile(file) }
        try beginValue(.scalar)
        if isGathering { try holdPlace(isFile: true) }
        try checkName()
        head.copy(file, named: name)
        head.isFile = !file.isText || file.hasFilename
        head.isText = file.isText
        head.hasValue = true
        try target.beginPart(head)
    }

    /// Begins a file whose name is given, whatever its path is.
    private mutating func beginNamedFile(_ file: borrowing PartHead) throws(ConversionError) {
        let top = containers.count - 1
        if containers[top].kind == .array {
            if containers[top].style == .auto { containers[top].style = .brackets }
            containers[top].inObject = false
            containers[top].position += 1
        }
        if isGathering { try holdPlace(isFile: true) }
        guard file.name.count <= limits.key else {
            throw .limit("key", of: limits.key, what: "the length of a field's name")
        }
        try target.beginPart(file)
    }

    package mutating func fileContent(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        if jsonLevel > 0 {
            json.fileContent(piece, isLast: isLast)
            return try sendJSON()
        }
        try target.content(piece, isLast: isLast)
        if isLast { noteWritten() }
    }
}

// MARK: JSON texts

extension Flattener where Target: ~Copyable {
    /// The bytes of a JSON text that are gathered before they are handed on.
    private static var gathered: Int { 4096 }

    /// Begins a field for a JSON text, or one more object or array in it.
    private mutating func beginJSON() throws(ConversionError) {
        if jsonLevel == 0 {
            if let top = containers.last, top.kind == .joined { throw fault(.container) }
            try beginText()
            json.reset()
        }
        jsonLevel += 1
    }

    private mutating func endJSON() throws(ConversionError) {
        jsonLevel -= 1
        try sendJSON()
    }

    private mutating func sendJSON() throws(ConversionError) {
        let isLast = jsonLevel == 0
        guard isLast || json.output.count >= Self.gathered else { return }
        var written = OutputBuffer()
        swap(&written, &json.output)
        try sendText(written.span, isLast: isLast)
        written.removeAll()
        swap(&written, &json.output)
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
