internal import COctets
internal import Octets

/// An encoder of fields that a decoder may write whole fields for: `DirectFields` says how, and the bytes are those that the
/// field's events give.
internal protocol DirectFieldEncoder: FieldEncoder, ~Copyable {
    /// Whether names and texts are percent-encoded; else they stand as they are.
    static var encodesText: Bool { get }
    /// Whether a name of a field can be written so, if it isn't one of letters, digits, `-`, `.` and `_`.
    static func takesDirectly(_ name: Span<UInt8>) -> Bool
    /// How a field is written under the flattener's options; nil where only its events will do.
    func directFields(_ options: FieldEncodingOptions) -> DirectFields?
    /// Writes what stands before each name of a root's member at the beginning of `prefix`, and returns where it ends.
    func writeOpening(to prefix: inout FieldPrefix) -> Int
    /// Exchanges the output with `buffer`.
    mutating func exchangeOutput(_ buffer: inout OutputBuffer)
    /// Whether a field has been written. Where none has, the first byte of the opening is left out if `encodesText`.
    var hasFields: Bool { get set }
}

/// The bytes around names and texts, each in a word.
internal struct DirectFields {
    struct Mark {
        var bits: UInt64
        var count: Int

        /// At most eight bytes.
        init(_ text: StaticString) {
            bits = 0
            count = text.utf8CodeUnitCount
            precondition(count <= 8, "a mark has at most eight bytes")
            // SAFETY: index < count, which is the literal's own length.
            for index in 0..<count { unsafe bits |= UInt64(text.utf8Start[index]) << UInt64(index * 8) }
        }

        /// As above, for C's loops.
        var inC: recast_mark { recast_mark(bytes: bits, count: count) }
    }

    /// What stands around the names in an object below the root, or around those of an array's elements.
    struct Brackets {
        /// What stands before each of them, and behind that of a container.
        let open: Mark
        let close: Mark
        /// What stands behind that of a text.
        let endOfName: Mark

        /// As above, for C's loops.
        var inC: recast_brackets { recast_brackets(open: open.inC, close: close.inC, end: endOfName.inC) }
    }

    let object: Brackets
    let array: Brackets
    /// What stands behind the name of a root's member.
    let endOfRootName: Mark
    /// What stands behind the text.
    let endOfText: Mark
    /// What each byte becomes, where texts are encoded.
    let table: [UInt32]

    /// - Parameter brackets: those around names and elements, where nothing of `options` takes them away.
    init(
        _ options: FieldEncodingOptions, brackets: Brackets, endOfRootName: Mark, endOfText: Mark, table: [UInt32]
    ) {
        self.endOfRootName = endOfRootName
        self.endOfText = endOfText
        self.table = table
        let nothing = Mark("")
        object =
            options.nesting == .dots ? .init(open: .init("."), close: nothing, endOfName: endOfRootName) : brackets
        array =
            options.arrays == .repeated ? .init(open: nothing, close: nothing, endOfName: endOfRootName) : brackets
    }

    /// Those in an object, or in an array.
    func brackets(inObject: Bool) -> Brackets { inObject ? object : array }
}

extension Form.Encoder: DirectFieldEncoder {
    static var encodesText: Bool { true }
    static func takesDirectly(_ name: Span<UInt8>) -> Bool { true }

    func directFields(_ options: FieldEncodingOptions) -> DirectFields? {
        DirectFields(
            options, brackets: .init(open: .init("%5B"), close: .init("%5D"), endOfName: .init("%5D=")),
            endOfRootName: .init("="), endOfText: .init(""), table: table)
    }

    func writeOpening(to prefix: inout FieldPrefix) -> Int {
        prefix.write(Span(), at: 0, table: nil, then: .init("&"))
    }

    mutating func exchangeOutput(_ buffer: inout OutputBuffer) { swap(&output, &buffer) }

    var hasFields: Bool {
        get { hasPairs }
        set { hasPairs = newValue }
    }
}

extension Multipart.Encoder: DirectFieldEncoder {
    static var encodesText: Bool { false }
    static func takesDirectly(_ name: Span<UInt8>) -> Bool { isPlain(name) && WrittenNames.isPlain(name) }

    func directFields(_ options: FieldEncodingOptions) -> DirectFields? {
        guard !normalizesLineEnds, given.isEmpty, takesAllPlainNames else { return nil }
        return DirectFields(
            options, brackets: .init(open: .init("["), close: .init("]"), endOfName: .init("]\"\r\n\r\n")),
            endOfRootName: .init("\"\r\n\r\n"), endOfText: .init("\r\n"), table: FieldText.percentTable)
    }

    func writeOpening(to prefix: inout FieldPrefix) -> Int {
        prefix.write(opening.span, at: 0, table: nil, then: nil)
    }

    mutating func exchangeOutput(_ buffer: inout OutputBuffer) { swap(&output, &buffer) }

    var hasFields: Bool {
        get { true }
        set {}
    }
}

/// The bytes before the names of the members of the open containers, each container's behind its parent's.
///
/// Whole blocks may be read and written behind what counts.
@safe
internal struct FieldPrefix: ~Copyable {
    /// SAFETY: `room` bytes that no other code knows, all of them initialized; nil for none.
    private(set) var start: UnsafeMutableRawPointer?
    private(set) var room = 0

    init() { unsafe start = nil }

    deinit { unsafe start?.deallocate() }

    /// Makes room for `size` bytes and blocks behind them. Returns where the bytes are.
    @inline(__always)
    @unsafe
    mutating func reserve(_ size: Int) -> UnsafeMutableRawPointer {
        if size &+ 2 &* FieldText.overhang > room { grow(to: size) }
        return unsafe start.unsafelyUnwrapped
    }

    @inline(never)
    private mutating func grow(to size: Int) {
        let more = max(size + 2 * FieldText.overhang, 2 * room, 256)
        // SAFETY: all of the new memory is initialized; the old one's bytes fit.
        let memory = UnsafeMutableRawPointer.allocate(byteCount: more, alignment: 16)
        unsafe memory.initializeMemory(as: UInt8.self, repeating: 0, count: more)
        if let old = unsafe start {
            unsafe memory.copyMemory(from: old, byteCount: room)
            unsafe old.deallocate()
        }
        unsafe start = memory
        room = more
    }

    /// Gives the memory back where it is larger than `limit` bytes.
    mutating func shrink(to limit: Int) {
        guard room > limit else { return }
        // SAFETY: no pointer to it is left between two bodies.
        unsafe start?.deallocate()
        unsafe start = nil
        room = 0
    }

    /// Writes `bytes` at `place`, encoded by a table of `FieldText` or not, and then `mark`. Returns where the mark ends.
    mutating func write(_ bytes: Span<UInt8>, at place: Int, table: [UInt32]?, then mark: DirectFields.Mark?) -> Int {
        var end = place
        // SAFETY: there is room for three bytes for each and a mark. Nothing is read behind the bytes.
        unsafe bytes.withUnsafeBytes { source in
            let base = unsafe reserve(place + 3 * source.count + 8)
            guard let from = source.baseAddress else { return }
            if let table {
                end += unsafe table.withUnsafeBufferPointer { table in
                    unsafe FieldText.encode(
                        from, source.count, readable: 0, to: base + place, table: table.baseAddress.unsafelyUnwrapped)
                }
            } else {
                unsafe (base + place).copyMemory(from: from, byteCount: source.count)
                end += source.count
            }
        }
        guard let mark else { return end }
        unsafe reserve(end + 8).storeBytes(of: mark.bits.littleEndian, toByteOffset: end, as: UInt64.self)
        return end + mark.count
    }
}

extension Flattener where Target: DirectFieldEncoder & ~Copyable {
    /// How fields can be written here and now without their events: nil where they can't, for the options don't allow it, or
    /// what is open doesn't.
    internal mutating func directFields() -> DirectFields? {
        guard let top = containers.last, isBetweenValues, isReady(top), let fields = target.directFields(options) else {
            return nil
        }
        // The name of the last value stays until another one is needed.
        name.truncate(to: top.nameEnd)
        if isRootLiteral {
            // The root's next name decides anew.
            guard containers.count == 1 else { return nil }
            isRootLiteral = false
        }
        // Below an empty root nothing has a name.
        guard containers.count == 1 || top.nameEnd > 0 else { return nil }
        guard top.prefixEnd >= 0 || makePrefix(fields) else { return nil }
        return fields
    }

    /// Whether objects and arrays in an array are named as scalars are, `a[]` or `a`. Where ambiguity is refused, arrays are refused
    /// there, and the names in objects must be remembered.
    internal var nestsInBrackets: Bool {
        !style.refusesAmbiguity && (options.arrays == .brackets || options.arrays == .repeated)
    }

    /// Whether names with dots are for the events, which refuse those that would be read as others.
    internal var leavesDots: Bool { style.refusesAmbiguity && options.nesting == .dots }

    /// Whether there is nothing to do before the next member or element of `container`. Elements of a root that is an array have
    /// names of their own.
    internal func isReady(_ container: FieldContainer) -> Bool {
        guard containers[0].isObject, !container.isForEvents else { return false }
        return container.kind == .object || container.kind == .array && !container.lastIsEmpty
    }

    /// Writes what stands before the names of all containers that are open. Returns false where one of them can't be written
    /// so.
    internal mutating func makePrefix(_ fields: DirectFields) -> Bool {
        let table = Target.encodesText ? fields.table : nil
        // A span of the name would hold all of the flattener.
        var name = ByteStore()
        swap(&name, &self.name)
        defer { swap(&name, &self.name) }
        for index in 0..<containers.count where containers[index].prefixEnd < 0 {
            guard index > 0 else {
                containers[0].prefixEnd = target.writeOpening(to: &prefix)
                continue
            }
            let parent = containers[index - 1]
            let part = name.slice(parent.nameEnd..<containers[index].nameEnd)
            guard Target.takesDirectly(part) else { return false }
            // Behind the root's opening stands no bracket; behind all others, the one that the name's part begins with.
            let open = index == 1 ? 0 : fields.brackets(inObject: parent.isObject).open.count
            containers[index].prefixEnd = prefix.write(
                part, at: parent.prefixEnd - open, table: table,
                then: fields.brackets(inObject: containers[index].isObject).open)
        }
        return true
    }
}

// MARK: What the decoder's loop asks and changes

extension Flattener where Target: DirectFieldEncoder & ~Copyable {
    /// The bytes that the name of a member may have at most; below 0 where no scalar can be written here.
    internal var directNameRoom: Int {
        @inline(__always)
        get {
            let top = containers.count - 1
            let container = containers[top]
            guard container.depth + 1 <= limits.keyDepth else { return -1 }
            // An element's name has at most the digits of a number between its brackets.
            let rest = limits.key - container.nameEnd - (top > 0 ? 2 : 0)
            return container.isObject ? rest : rest - 20
        }
    }

    /// Whether a container may begin where a value is due, without anything to be said against it.
    @inline(__always)
    internal func opensDirectly(isObject: Bool) -> Bool {
        if isObject ? leavesObjectsToEvents : leavesArraysToEvents { return false }
        let container = containers[containers.count - 1]
        if container.isObject { return true }
        if container.style == .indices || nestsInBrackets { return true }
        return options.arrays == .auto && (mixesArrays || container.written == 0)
    }

    /// Settles how the elements of an array are written, of which one comes that is a scalar.
    @inline(__always)
    internal mutating func settleStyleForScalar() -> Bool {
        let top = containers.count - 1
        if options.arrays == .auto, mixesArrays || containers[top].written == 0 { containers[top].style = .brackets }
        containers[top].inObject = false
        containers[top].lastWasObject = false
        switch containers[top].style {
        case .brackets, .indices, .repeated: return true
        case .auto, .comma, .json: return false
        }
    }

    @inline(__always)
    internal mutating func openDirectly(isObject: Bool, prefixEnd: Int) {
        let top = containers.count - 1
        containers[top].position += 1
        var container = FieldContainer(
            kind: isObject ? .object : .array, nameEnd: name.count,
            // An element that is named as its array is no segment of its own.
            depth: containers[top].depth + (containers[top].style == .repeated && !containers[top].isObject ? 0 : 1),
            style: options.arrays)
        container.prefixEnd = prefixEnd
        containers.append(container)
    }

    @inline(__always)
    internal mutating func closeDirectly() {
        _ = containers.removeLast()
        let top = containers.count - 1
        containers[top].written += 1
        containers[top].lastWasObject = containers[top].inObject
        name.truncate(to: containers[top].nameEnd)
    }

    /// Reads the literal at `start`. Returns its text in a word, its count, and where it ends; -1 where there is none, or it
    /// isn't written as a text.
    internal func readLiteral(
        _ input: Span<UInt8>, from start: Int, isMember: Bool
    ) -> (word: UInt64, count: Int, end: Int) {
        guard start &+ 5 <= input.count else { return (0, 0, -1) }
        let literal = JSON.Decoder.Literal(firstByte: input[start])
        let end = start &+ literal.text.utf8CodeUnitCount
        let written = outcome(of: literal, isMember: isMember)
        guard written.outcome == recast_outcome_text, input.extracting(start..<end).isEqual(to: literal.text) else {
            return (0, 0, -1)
        }
        return (written.text.bytes, written.text.count, end)
    }

    /// What a literal becomes, a member or an element, where the events don't decide.
    internal func outcome(of literal: JSON.Decoder.Literal, isMember: Bool) -> recast_literal {
        func text(_ mark: DirectFields.Mark) -> recast_literal {
            recast_literal(text: mark.inC, outcome: recast_outcome_text)
        }
        switch literal {
        case .true: return text(.init(options.booleans == .literal ? "true" : "1"))
        case .false: return text(.init(options.booleans == .literal ? "false" : "0"))
        case .null: break
        }
        var outcome = recast_outcome_left
        switch options.nulls {
        case _ where isMember && hasNoNullMembers: outcome = recast_outcome_removed
        case .literal: return text(.init("null"))
        case .empty: return text(.init(""))
        case .omit: outcome = recast_outcome_nothing
        case .key where Target.encodesText && (style.hasPlusInBareNames || options.spaces != .plus):
            outcome = recast_outcome_bare
        // Parts without a value are the encoder's, and so are names that are spelled otherwise where they have none.
        case .key, .reject: break
        }
        return recast_literal(text: recast_mark(), outcome: outcome)
    }
}
