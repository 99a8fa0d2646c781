internal import COctets
internal import Octets

// What `JSONDecoder+Fields.swift` needs for names, texts and containers.
extension JSON.Decoder {
    /// The number of bytes of the name that begins at `start`, where it isn't a plain one but can be written: else 0.
    @inline(never)
    func nameCountDirectly<Target: DirectFieldEncoder & ~Copyable>(
        _ input: Span<UInt8>, from start: Int, for _: Target.Type
    ) -> Int {
        let run = Scan.textRun(in: input, from: start)
        guard run.end < input.count, input[run.end] == UInt8(ascii: "\""), run.end - start <= limits.key else {
            return 0
        }
        let name = input.extracting(start..<run.end)
        let open = UInt8(ascii: "["), close = UInt8(ascii: "]")
        guard run.isASCII || UTF8Validator.isValid(name), Target.takesDirectly(name),
            Scan.firstIndex(ofAny: open, close, close, close, in: name, from: 0) == name.count
        else { return 0 }
        return name.count
    }

    /// Whether every library prints the number of `count` bytes as it stands: an integer that none of them rounds, or a
    /// fraction of few digits that none writes with an exponent, and that doesn't end with a zero.
    @inline(never)
    @unsafe
    static func isPrintedAlike(_ source: UnsafeRawPointer, _ count: Int) -> Bool {
        // SAFETY: the caller has the bytes, and more of them up to sixteen.
        unsafe count <= 15 && recast_is_printed_alike(source.assumingMemoryBound(to: UInt8.self), count)
    }

    /// Remembers the name of a member. Returns false, with nothing done, where it is there already or the limit is reached.
    @inline(__always)
    mutating func insertDirectly(_ name: DirectName, of input: Span<UInt8>) -> Bool {
        if name.isPlain { return memberNames.insert(name.key, depth: levels.count) == .new }
        return insertOther(start: name.start, count: name.count, of: input)
    }

    @inline(never)
    private mutating func insertOther(start: Int, count: Int, of input: Span<UInt8>) -> Bool {
        memberNames.insert(input.extracting(start..<start + count), depth: levels.count) == .new
    }

    /// Finds the text that begins at `text.start`: in the slice, or put into `unescaped`. Returns false where it isn't short, whole
    /// in the slice and valid.
    @inline(__always)
    @unsafe
    mutating func findTextDirectly(_ input: Span<UInt8>, _ source: UnsafeRawPointer, _ text: inout DirectText) -> Bool {
        var bits: UInt64 = 0
        // SAFETY: `source` holds the slice.
        let stop = unsafe FieldText.textEnd(source, from: text.start, to: input.count, bits: &bits)
        guard stop >= 0 else { return false }
        if unsafe source.load(fromByteOffset: stop, as: UInt8.self) == UInt8(ascii: "\"") {
            text.count = stop &- text.start
            text.end = stop &+ 1
            if bits & 0x8080_8080_8080_8080 != 0 {
                guard UTF8Validator.isValid(input.extracting(text.start..<stop)) else { return false }
            }
        } else {
            text.end = unescapeDirectly(input, from: text.start)
            guard text.end > 0 else { return false }
            text.isUnescaped = true
            text.count = unescaped.count
        }
        return text.count <= Self.longestText
    }

    /// Puts the text that begins at `start` into `unescaped`. Returns where it ends, its quotation mark included, or -1 where it
    /// isn't short, whole in the slice and valid.
    @inline(never)
    mutating func unescapeDirectly(_ input: Span<UInt8>, from start: Int) -> Int {
        let bound = min(input.count, start + Self.shortText)
        unescaped.removeAll()
        let run = unescaped.append(textUnescaping: input, from: start, to: bound)
        guard run.end < bound, input[run.end] == UInt8(ascii: "\""), run.isASCII || Self.isValid(unescaped) else {
            return -1
        }
        return run.end + 1
    }

    /// Where the number that begins at `start` ends, as `endOfDecimal` says; a number is short, so it looks at each byte.
    @inline(__always)
    @unsafe
    static func endOfNumber(_ source: UnsafeRawPointer, from start: Int, to end: Int) -> Int {
        // SAFETY: the caller's source holds `end` bytes, and `at` is below that at each look.
        func byte(_ at: Int) -> UInt8 { at < end ? unsafe source.load(fromByteOffset: at, as: UInt8.self) : 0x65 }
        let first = byte(start) == UInt8(ascii: "-") ? start &+ 1 : start
        guard ASCII.isDigit(byte(first)) else { return start }
        var at = first &+ 1
        if byte(first) != UInt8(ascii: "0") {
            while ASCII.isDigit(byte(at)) { at &+= 1 }
        }
        if byte(at) == UInt8(ascii: ".") {
            let point = at
            at &+= 1
            while ASCII.isDigit(byte(at)) { at &+= 1 }
            guard at > point &+ 1 else { return start }
        }
        let next = byte(at)
        return next | 0x20 == UInt8(ascii: "e") || ASCII.isDigit(next) || next == UInt8(ascii: ".") ? start : at
    }

    /// Goes down into the container that is the value of `name`, or the next element, as the events do.
    @inline(never)
    @unsafe
    mutating func openDirectly<Target: DirectFieldEncoder & ~Copyable>(
        isObject: Bool, _ name: DirectName, of input: Span<UInt8>, _ source: UnsafeRawPointer,
        in flattener: inout Flattener<Target>, _ fields: DirectFields, _ table: UnsafePointer<UInt32>
    ) {
        levels.append(
            Level(
                isObject: isInObject, elementIndex: elementIndex, pathStart: path.count, nameMark: memberNames.count))
        let top = flattener.containers.count &- 1
        // A document that is held has no prefixes: what would be one is written and forgotten.
        let isHeld = flattener.isGathering
        let parentEnd = isHeld ? 0 : flattener.containers[top].prefixEnd
        let position = flattener.containers[top].position
        // SAFETY: there is room for three bytes for each of the name's, its brackets and the next one's; a plain name's words
        // are two. The name's span lies in the slice.
        let prefix = unsafe flattener.prefix.reserve(parentEnd &+ 3 &* name.count &+ 64)
        var end = parentEnd
        if isInObject {
            if name.isPlain {
                let key = name.key
                unsafe path.write(upTo: 16) { unsafe key.store(to: UnsafeMutableRawPointer($0)) }
                unsafe flattener.name.write(upTo: 18) { target in
                    let target = UnsafeMutableRawPointer(target)
                    guard top > 0 else { return unsafe key.store(to: target) }
                    unsafe target.storeBytes(of: UInt8(ascii: "["), as: UInt8.self)
                    let count = unsafe key.store(to: target + 1)
                    unsafe target.storeBytes(of: UInt8(ascii: "]"), toByteOffset: count &+ 1, as: UInt8.self)
                    return count &+ 2
                }
                end &+= unsafe key.store(to: prefix + end)
            } else {
                let bytes = input.extracting(name.start..<name.start &+ name.count)
                path.append(contentsOf: bytes)
                if top > 0 { flattener.name.append(UInt8(ascii: "[")) }
                flattener.name.append(contentsOf: bytes)
                if top > 0 { flattener.name.append(UInt8(ascii: "]")) }
                end &+= unsafe Self.writeDirectly(
                    source + name.start, name.count, readable: input.count &- name.start, to: prefix + end, table,
                    for: Target.self)
            }
        } else {
            let hasIndex = !flattener.nestsInBrackets
            if hasIndex { flattener.containers[top].style = .indices }
            flattener.containers[top].inObject = isObject
            let digits = hasIndex ? unsafe Self.writeIndex(position, to: prefix + end) : 0
            unsafe flattener.name.write(upTo: 22) { target in
                let target = UnsafeMutableRawPointer(target)
                unsafe target.storeBytes(of: UInt8(ascii: "["), as: UInt8.self)
                let count = hasIndex ? unsafe Self.writeIndex(position, to: target + 1) : 0
                unsafe target.storeBytes(of: UInt8(ascii: "]"), toByteOffset: count &+ 1, as: UInt8.self)
                return count &+ 2
            }
            end &+= digits
        }
        if top > 0 {
            unsafe prefix.storeBytes(of: fields.close.bits.littleEndian, toByteOffset: end, as: UInt64.self)
            end &+= fields.close.count
        }
        unsafe prefix.storeBytes(of: fields.open.bits.littleEndian, toByteOffset: end, as: UInt64.self)
        flattener.openDirectly(isObject: isObject, prefixEnd: isHeld ? -1 : end &+ fields.open.count)
        isInObject = isObject
        elementIndex = 0
    }

    /// Goes up out of the innermost container, which has fields, as the events do.
    @inline(never)
    mutating func closeDirectly<Target: DirectFieldEncoder & ~Copyable>(in flattener: inout Flattener<Target>) {
        let level = levels.removeLast()
        if isInObject { memberNames.close(to: level.nameMark) }
        isInObject = level.isObject
        elementIndex = level.elementIndex
        path.truncate(to: level.pathStart)
        flattener.closeDirectly()
    }
}

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
        let container = containers[containers.count - 1]
        if container.isObject { return true }
        if container.style == .indices || nestsInBrackets { return true }
        return options.arrays == .auto && container.written == 0
    }

    /// Settles how the elements of an array are written, of which one comes that is a scalar.
    @inline(__always)
    internal mutating func settleStyleForScalar() -> Bool {
        let top = containers.count - 1
        if options.arrays == .auto && containers[top].written == 0 { containers[top].style = .brackets }
        containers[top].inObject = false
        containers[top].lastWasObject = false
        return containers[top].style == .brackets || containers[top].style == .indices
    }

    @inline(__always)
    internal mutating func openDirectly(isObject: Bool, prefixEnd: Int) {
        let top = containers.count - 1
        containers[top].position += 1
        var container = FieldContainer(
            kind: isObject ? .object : .array, nameEnd: name.count, depth: containers[top].depth + 1,
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
    internal func readLiteral(_ input: Span<UInt8>, from start: Int) -> (word: UInt64, count: Int, end: Int) {
        guard start &+ 5 <= input.count else { return (0, 0, -1) }
        let bytes = input.extracting(start..<start &+ 4)
        let found: (literal: JSON.Decoder.Literal, count: Int)
        if bytes.isEqual(to: "true") {
            found = (.true, 4)
        } else if bytes.isEqual(to: "fals"), input[start &+ 4] == UInt8(ascii: "e") {
            found = (.false, 5)
        } else if bytes.isEqual(to: "null") {
            found = (.null, 4)
        } else {
            return (0, 0, -1)
        }
        let literal = asText(found.literal)
        guard literal.is_written else { return (0, 0, -1) }
        return (literal.text.bytes, literal.text.count, start &+ found.count)
    }

    /// How a literal is written as a text, where it is.
    internal func asText(_ literal: JSON.Decoder.Literal) -> recast_literal {
        let mark: DirectFields.Mark
        switch literal {
        case .true: mark = .init(options.booleans == .literal ? "true" : "1")
        case .false: mark = .init(options.booleans == .literal ? "false" : "0")
        case .null:
            guard options.nulls == .empty || options.nulls == .literal else {
                return recast_literal(text: recast_mark(), is_written: false)
            }
            mark = .init(options.nulls == .literal ? "null" : "")
        }
        return recast_literal(text: mark.inC, is_written: true)
    }
}
