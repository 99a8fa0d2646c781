internal import COctets
internal import Octets

// Documents to fields without an event for each member: what is short, whole in the slice and like most documents is read
// and written here, field by field; the decoder's events take all else, an error above all. Both leave decoder and flattener
// alike between two members, so either goes on where the other stopped.
extension JSON.Decoder {
    /// Slices of so few bytes are left to the events.
    static var shortSlice: Int { 32 }
    /// Texts of more bytes are left to the events.
    static var longestText: Int { 4096 }
    /// The room that is made for fields at least.
    private static var room: Int { 1024 }

    /// Why a loop has ended.
    private enum Stop {
        /// There is something that the events must take, or the slice has ended.
        case other
        /// The output is full.
        case full
        /// The next field needs so much room.
        case room(Int)
    }

    /// Where the loop is, between two turns of it.
    private struct Progress {
        var at = 0
        var state: State
        var stop = Stop.other
        /// Fields written.
        var fields = 0
        /// The name of the member that ended last; -1 for none, -2 for what the decoder knows.
        var nameStart = 0
        var nameCount = -2
    }

    /// What comes before a field's text.
    struct DirectName {
        var start = 0
        var count = 0
        /// Letters, digits, `-`, `.` and `_` only: `key` has them.
        var isPlain = true
        var key = JSON.MemberNames.Key(first: 0, last: 0, count: 0)
    }

    /// The text of a field.
    struct DirectText {
        var start = 0
        var count = 0
        /// Where the value ends in the slice.
        var end = 0
        /// Whether `unescaped` has the text.
        var isUnescaped = false
        /// The text of a literal.
        var word: UInt64 = 0
    }

    /// Takes what it can of the slice without events: the members and elements that `readFields` reads. The rest is for
    /// `feed(_:into:)`, as if the slice had been cut there.
    mutating func feed<Target: DirectFieldEncoder & ~Copyable>(
        _ input: Span<UInt8>, into flattener: inout Flattener<Target>, count: inout Int
    ) -> Int {
        let consumed =
            flattener.isGathering
            ? readHeld(input, into: &flattener, count: &count) : readFields(input, into: &flattener, count: &count)
        guard consumed > 0 else { return 0 }
        keepName(from: input)
        offset += consumed
        return consumed
    }

    /// Reads members and elements from the start of `input` while they are fields that can be written at once, and writes
    /// them to the flattener's target. Adds their number to `count` and returns the number of bytes taken; `isFull` of the
    /// target tells whether more can be done.
    private mutating func readFields<Target: DirectFieldEncoder & ~Copyable>(
        _ input: Span<UInt8>, into flattener: inout Flattener<Target>, count: inout Int
    ) -> Int {
        guard mutedDepth < 0, input.count > Self.shortSlice, isBetweenItems,
            levels.count == flattener.containers.count, let fields = flattener.directFields()
        else { return 0 }
        var output = OutputBuffer()
        flattener.target.exchangeOutput(&output)
        var progress = Progress(state: state)
        let table = fields.table
        // SAFETY: the loop reads the slice's bytes and the table's words, and writes only into the room and the levels.
        unsafe input.withUnsafeBytes { source in
            unsafe table.withUnsafeBufferPointer { table in
                guard let source = source.baseAddress, let table = table.baseAddress else { return }
                var blocks = unsafe makeBlocks(
                    source, input.count, of: flattener, fields, Target.encodesText ? table : nil)
                var least = Self.room
                while true {
                    let left = output.highWatermark - output.count
                    progress.stop = .other
                    unsafe output.fill(atLeast: least) { target, room in
                        unsafe read(
                            input, source, into: &flattener, fields, table, &blocks, progress: &progress,
                            target: UnsafeMutableRawPointer(target), room: room, left: left)
                    }
                    guard case .room(let more) = progress.stop else { return }
                    least = max(Self.room, more)
                }
            }
        }
        flattener.target.exchangeOutput(&output)
        if progress.fields > 0 { flattener.target.hasFields = true }
        count += progress.fields
        state = progress.state
        if state != .commaOrEnd || progress.nameCount == -1 {
            namePlace = .none
        } else if progress.nameCount >= 0 {
            namePlace = .slice
            nameStart = progress.nameStart
            nameEnd = progress.nameStart + progress.nameCount
        }
        return progress.at
    }

    /// The loop: reads fields and writes them to `target` until there is something else to do. Returns the number of bytes
    /// written.
    @inline(__always)
    @unsafe
    private mutating func read<Target: DirectFieldEncoder & ~Copyable>(
        _ input: Span<UInt8>, _ source: UnsafeRawPointer, into flattener: inout Flattener<Target>,
        _ fields: DirectFields, _ table: UnsafePointer<UInt32>, _ blocks: inout recast_fields, progress: inout Progress,
        target: UnsafeMutableRawPointer, room: Int, left: Int
    ) -> Int {
        // SAFETY: every byte of the slice is read behind a look at its end, and blocks where all of them lie before it.
        // What is written is at most what `most` counts, which there is room for.
        let end = input.count
        var at = progress.at
        var state = progress.state
        var to = 0
        var skip = Target.encodesText && !flattener.target.hasFields && progress.fields == 0 ? 1 : 0
        var nameStart = progress.nameStart
        var nameCount = progress.nameCount
        var count = 0
        var top = flattener.containers.count &- 1
        var prefixEnd = flattener.containers[top].prefixEnd
        var nameRoom = flattener.directNameRoom
        var isObject = isInObject
        let checksNames = checksNames
        let printsNumbers = flattener.style.numbers != nil
        unsafe blocks.name_start = nameStart
        unsafe blocks.name_count = nameCount
        // The blocks have looked at what is up to here.
        var blocksEnd = usesBlocks ? -1 : Int.max
        unsafe blocks.target = target.assumingMemoryBound(to: UInt8.self)
        unsafe blocks.room = room
        unsafe blocks.left = max(0, left)
        loop: while at < end {
            let byte = unsafe source.load(fromByteOffset: at, as: UInt8.self)
            if byte <= ASCII.space {
                let next = Scan.endOfWhitespace(in: input, from: at)
                guard next > at else { break }
                at = next
                continue
            }
            var name = DirectName()
            var start = at
            if at > blocksEnd, state != .commaOrEnd, nameRoom >= 0 {
                unsafe blocks.at = at
                unsafe blocks.to = to
                unsafe blocks.skip = skip
                unsafe blocks.place = state == .name || state == .value ? recast_place_item : recast_place_first
                unsafe readInBlocks(&blocks, input, source, in: &flattener, fields, table)
                blocksEnd = unsafe blocks.at
                if blocksEnd > at {
                    at = blocksEnd
                    to = unsafe blocks.to
                    skip = unsafe blocks.skip
                    nameStart = unsafe blocks.name_start
                    nameCount = unsafe blocks.name_count
                    top = flattener.containers.count &- 1
                    isObject = isInObject
                    prefixEnd = flattener.containers[top].prefixEnd
                    nameRoom = flattener.directNameRoom
                    switch unsafe blocks.place {
                    case recast_place_behind: state = .commaOrEnd
                    case recast_place_item: state = isObject ? .name : .value
                    default: state = isObject ? .nameOrEnd : .elementOrEnd
                    }
                    guard to < left else {
                        progress.stop = .full
                        break
                    }
                    continue
                }
            }
            switch state {
            case .commaOrEnd:
                if byte == UInt8(ascii: ",") {
                    at &+= 1
                    if !isObject { elementIndex &+= 1 }
                    state = isObject ? .name : .value
                    continue
                }
                guard byte == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")), top > 0,
                    flattener.containers[top].written > 0
                else { break loop }
                at &+= 1
                closeDirectly(in: &flattener)
                top &-= 1
                isObject = isInObject
                prefixEnd = flattener.containers[top].prefixEnd
                nameRoom = flattener.directNameRoom
                nameCount = -1
                guard at < end, unsafe source.load(fromByteOffset: at, as: UInt8.self) == UInt8(ascii: ",") else {
                    continue
                }
                at &+= 1
                if !isObject { elementIndex &+= 1 }
                state = isObject ? .name : .value
                continue
            case .name, .nameOrEnd:
                name.start = at &+ 1
                guard byte == UInt8(ascii: "\""), name.start &+ 16 <= end else { break loop }
                let run = unsafe FieldText.plainRun(source + name.start)
                let behind = name.start &+ run.count
                if run.count > 0, run.count < 16,
                    unsafe source.load(fromByteOffset: behind, as: UInt8.self) == UInt8(ascii: "\"")
                {
                    name.count = run.count
                    name.key = .init(first: run.first, last: run.last, count: run.count)
                } else {
                    name.count = nameCountDirectly(input, from: name.start, for: Target.self)
                    name.isPlain = false
                    guard name.count > 0 else { break loop }
                }
                guard name.count <= nameRoom else { break loop }
                start = name.start &+ name.count &+ 1
                guard start < end else { break loop }
                if unsafe source.load(fromByteOffset: start, as: UInt8.self) != UInt8(ascii: ":") {
                    start = Scan.endOfWhitespace(in: input, from: start)
                    guard start < end, input[start] == UInt8(ascii: ":") else { break loop }
                }
                start &+= 1
                guard start < end else { break loop }
                if unsafe source.load(fromByteOffset: start, as: UInt8.self) <= ASCII.space {
                    start = Scan.endOfWhitespace(in: input, from: start)
                    guard start < end else { break loop }
                }
            case .value, .elementOrEnd:
                guard nameRoom >= 0 else { break loop }
            default: break loop
            }
            var text = DirectText()
            let first = unsafe source.load(fromByteOffset: start, as: UInt8.self)
            switch first {
            case UInt8(ascii: "\""), UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): break
            case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"):
                (text.word, text.count, text.end) = flattener.readLiteral(input, from: start)
                guard text.end > 0 else { break loop }
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                guard levels.count < limits.depth, flattener.opensDirectly(isObject: first == UInt8(ascii: "{")),
                    !isObject || !checksNames || insertDirectly(name, of: input)
                else { break loop }
                unsafe openDirectly(
                    isObject: first == UInt8(ascii: "{"), name, of: input, source, in: &flattener, fields, table)
                top &+= 1
                isObject = isInObject
                prefixEnd = flattener.containers[top].prefixEnd
                nameRoom = flattener.directNameRoom
                state = isObject ? .nameOrEnd : .elementOrEnd
                at = start &+ 1
                continue
            default: break loop
            }
            // A scalar: its name and then its text are written, and count when both are.
            guard isObject || flattener.settleStyleForScalar() else { break }
            let most = prefixEnd &+ 3 &* name.count &+ 128
            guard to &+ most <= room else {
                progress.stop = .room(most)
                break
            }
            let prefix = unsafe flattener.prefix.start.unsafelyUnwrapped
            var next = to &+ prefixEnd &- skip
            unsafe FieldText.copy(prefix + skip, prefixEnd &- skip, to: target + to)
            if isObject {
                if name.isPlain {
                    next &+= unsafe name.key.store(to: target + next)
                } else {
                    next &+= unsafe Self.writeDirectly(
                        source + name.start, name.count, readable: end &- name.start, to: target + next, table,
                        for: Target.self)
                }
            } else if flattener.containers[top].style == .indices {
                next &+= unsafe Self.writeIndex(flattener.containers[top].position, to: target + next)
            }
            let mark = top == 0 ? fields.endOfRootName : fields.endOfName
            unsafe (target + next).storeBytes(of: mark.bits.littleEndian, as: UInt64.self)
            next &+= mark.count
            switch first {
            case UInt8(ascii: "\""):
                text.start = start &+ 1
                if Target.encodesText {
                    let run = unsafe FieldText.encodeRun(
                        source, from: text.start, to: min(end, text.start &+ Self.longestText), into: target + next,
                        room: room &- next, table: table)
                    let stop = text.start &+ run.taken
                    if stop < end, unsafe source.load(fromByteOffset: stop, as: UInt8.self) == UInt8(ascii: "\"") {
                        next &+= run.written
                        text.end = stop &+ 1
                        break
                    }
                }
                guard unsafe findTextDirectly(input, source, &text) else { break loop }
                // Its bytes, the block that ends behind them, and the mark.
                let more = 3 &* text.count &+ 64
                guard next &+ more <= room else {
                    progress.stop = .room(next &- to &+ more)
                    break loop
                }
                if text.isUnescaped {
                    next &+= unsafe unescaped.withRoom { room in
                        unsafe Self.writeDirectly(
                            room.baseAddress.unsafelyUnwrapped, text.count, readable: room.count, to: target + next,
                            table, for: Target.self)
                    }
                } else {
                    next &+= unsafe Self.writeDirectly(
                        source + text.start, text.count, readable: end &- text.start, to: target + next, table,
                        for: Target.self)
                }
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                text.end = unsafe Self.endOfNumber(source, from: start, to: end)
                text.count = text.end &- start
                // A number is short, so it may be copied as one block.
                guard text.count > 0, text.count <= min(16, limits.number), start &+ 16 <= end,
                    unsafe !printsNumbers || Self.isPrintedAlike(source + start, text.count)
                else { break loop }
                unsafe FieldText.copy(source + start, text.count, to: target + next)
                next &+= text.count
            default:
                unsafe (target + next).storeBytes(of: text.word.littleEndian, as: UInt64.self)
                next &+= text.count
            }
            if !Target.encodesText {
                unsafe (target + next).storeBytes(of: fields.endOfText.bits.littleEndian, as: UInt64.self)
                next &+= fields.endOfText.count
            }
            guard !isObject || !checksNames || insertDirectly(name, of: input) else { break }
            to = next
            skip = 0
            flattener.containers[top].position &+= 1
            flattener.containers[top].written &+= 1
            count &+= 1
            nameStart = name.start
            nameCount = isObject ? name.count : -1
            at = text.end
            state = .commaOrEnd
            if at < end, unsafe source.load(fromByteOffset: at, as: UInt8.self) == UInt8(ascii: ",") {
                at &+= 1
                if !isObject { elementIndex &+= 1 }
                state = isObject ? .name : .value
            }
            guard to < left else {
                progress.stop = .full
                break
            }
        }
        progress.at = at
        progress.state = state
        progress.fields += count + (unsafe blocks.fields)
        unsafe blocks.fields = 0
        progress.nameStart = nameStart
        progress.nameCount = nameCount
        return to
    }

    /// Writes a name or a text, and returns the number of bytes written.
    @inline(__always)
    @unsafe
    static func writeDirectly<Target: DirectFieldEncoder & ~Copyable>(
        _ source: UnsafeRawPointer, _ count: Int, readable: Int, to target: UnsafeMutableRawPointer,
        _ table: UnsafePointer<UInt32>, for _: Target.Type
    ) -> Int {
        // SAFETY: the caller's source holds `readable` bytes, and the target has room for three for each of the text's and
        // more.
        if Target.encodesText {
            return unsafe FieldText.encode(source, count, readable: readable, to: target, table: table)
        }
        if (count &+ 15) & ~15 <= readable {
            if count > 0 { unsafe FieldText.copy(source, count, to: target) }
        } else {
            unsafe target.copyMemory(from: source, byteCount: count)
        }
        return count
    }

    /// Writes the number of an element, for which there is room, and returns the number of its digits.
    @inline(__always)
    @unsafe
    static func writeIndex(_ index: Int, to target: UnsafeMutableRawPointer) -> Int {
        var length = 1
        var rest = index / 10
        while rest != 0 {
            length &+= 1
            rest /= 10
        }
        rest = index
        var at = length
        while at > 0 {
            at &-= 1
            // SAFETY: the caller has room for the digits of any number.
            unsafe target.storeBytes(of: 0x30 &+ UInt8(truncatingIfNeeded: rest % 10), toByteOffset: at, as: UInt8.self)
            rest /= 10
        }
        return length
    }
}
