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
        /// Scalars read, and whether a field has been written.
        var fields = 0
        var hasWritten = false
        /// The number of the container that may not end, and the bits of names in it whose members are for the events.
        var floor = 0
        var watched: UInt64 = 0
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
    ///
    /// - Parameters:
    ///   - ending: how many of the open containers may end.
    ///   - watched: the bits of names in the innermost object whose members are left to events, as all with those bits are.
    mutating func feed<Target: DirectFieldEncoder & ~Copyable>(
        _ input: Span<UInt8>, into flattener: inout Flattener<Target>, ending: Int, watching watched: UInt64,
        count: inout Int
    ) -> Int {
        // C's loop sees bits of names only where it looks whether they are new.
        guard watched == 0 || checksNames else { return 0 }
        let consumed =
            flattener.isGathering
            ? readHeld(input, into: &flattener, watching: watched, count: &count)
            : readFields(input, into: &flattener, ending: ending, watching: watched, count: &count)
        guard consumed > 0 else { return 0 }
        keepName(from: input)
        offset += consumed
        return consumed
    }

    /// Reads members and elements from the start of `input` while they are fields that can be written at once, and writes
    /// them to the flattener's target. Adds their number to `count` and returns the number of bytes taken; `isFull` of the
    /// target tells whether more can be done.
    private mutating func readFields<Target: DirectFieldEncoder & ~Copyable>(
        _ input: Span<UInt8>, into flattener: inout Flattener<Target>, ending: Int, watching watched: UInt64,
        count: inout Int
    ) -> Int {
        guard mutedDepth < 0, input.count > Self.shortSlice, isBetweenItems,
            levels.count == flattener.containers.count, let fields = flattener.directFields()
        else { return 0 }
        var output = OutputBuffer()
        flattener.target.exchangeOutput(&output)
        var progress = Progress(state: state)
        progress.floor = ending < levels.count ? levels.count &- 1 &- ending : 0
        progress.watched = watched
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
        if progress.hasWritten { flattener.target.hasFields = true }
        count += progress.fields
        state = progress.state
        noteName(start: progress.nameStart, count: progress.nameCount, in: input)
        return progress.at
    }

    /// Remembers where the name of the member that ended last lies, as `Progress` has it.
    private mutating func noteName(start: Int, count: Int, in input: Span<UInt8>) {
        if state != .commaOrEnd || count == -1 {
            namePlace = .none
        } else if count > 0, Scan.firstIndex(of: UInt8(ascii: "\\"), in: input.extracting(start..<start + count)) != nil
        {
            let isWhole = unescapeDirectly(input, from: start) > 0
            nameBytes = isWhole ? unescaped.span.copied() : []
            namePlace = .buffer
        } else if count >= 0 {
            namePlace = .slice
            nameStart = start
            nameEnd = start + count
        }
    }

    /// What is next at a place of the blocks' in the container that is open.
    @inline(__always)
    private func state(at place: recast_place) -> State {
        switch place {
        case recast_place_behind: .commaOrEnd
        case recast_place_item: isInObject ? .name : .value
        default: isInObject ? .nameOrEnd : .elementOrEnd
        }
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
        var skip = Target.encodesText && !flattener.target.hasFields && !progress.hasWritten ? 1 : 0
        var nameStart = progress.nameStart
        var nameCount = progress.nameCount
        var count = 0
        var top = flattener.containers.count &- 1
        var prefixEnd = flattener.containers[top].prefixEnd
        var nameRoom = flattener.directNameRoom
        var isObject = isInObject
        let checksNames = checksNames
        let printsNumbers = flattener.printer != nil
        let leavesDots = flattener.leavesDots
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
                unsafe readInBlocks(
                    &blocks, input, source, in: &flattener, fields, table,
                    watching: top == progress.floor ? progress.watched : 0)
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
                    state = unsafe self.state(at: blocks.place)
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
                guard byte == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")), top > progress.floor,
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
                    name.count = nameCountDirectly(
                        input, from: name.start, leavesDots: leavesDots, for: Target.self)
                    name.isPlain = false
                    guard name.count > 0 else { break loop }
                }
                guard name.count <= nameRoom,
                    top > progress.floor || progress.watched == 0 || progress.watched & bit(of: name, in: input) == 0,
                    !leavesDots || !name.isPlain || !hasDot(name, in: input)
                else { break loop }
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
                (text.word, text.count, text.end) = flattener.readLiteral(
                    input, from: start, isMember: isObject)
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
            let mark = top == 0 ? fields.endOfRootName : fields.brackets(inObject: isObject).endOfName
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
                text.end = Self.endOfDecimal(in: input, from: start)
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
        progress.hasWritten = progress.hasWritten || to > 0
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
        // SAFETY: the caller has room for the digits of any number.
        unsafe ByteStore.writeDigits(index.magnitude, radix: 10, to: target.assumingMemoryBound(to: UInt8.self))
    }
}

// MARK: In blocks

// Fields written by C's loop, which goes down into containers and up again by itself. It keeps a plain record of each that is
// open; what it leaves open is opened here afterwards, as if each had been read alone.
extension JSON.Decoder {
    /// The levels that the loop may have open, the one that there was before included.
    private static var mostLevels: Int { 32 }
    /// The nodes of a document that is held which there is room for at least when the loop begins.
    static var leastNodes: Int { 256 }

    /// What the loop needs to know of a slice.
    @unsafe
    mutating func makeBlocks<Target: DirectFieldEncoder & ~Copyable>(
        _ source: UnsafeRawPointer, _ end: Int, of flattener: borrowing Flattener<Target>, _ fields: DirectFields,
        _ table: UnsafePointer<UInt32>?
    ) -> recast_fields {
        var blocks = unsafe recast_fields()
        // SAFETY: the pointers are those of the caller and of memory that this decoder has; the loop uses them while both stay.
        unsafe blocks.source = source.assumingMemoryBound(to: UInt8.self)
        unsafe blocks.end = end
        unsafe blocks.table = table
        unsafe blocks.root_mark = fields.endOfRootName.inC
        unsafe blocks.brackets = (fields.array.inC, fields.object.inC)
        unsafe blocks.text_mark = fields.endOfText.inC
        unsafe blocks.true_text = flattener.outcome(of: .true, isMember: false)
        unsafe blocks.false_text = flattener.outcome(of: .false, isMember: false)
        unsafe blocks.nulls = (
            flattener.outcome(of: .null, isMember: false), flattener.outcome(of: .null, isMember: true)
        )
        unsafe blocks.style = Self.blockStyle(flattener.options.arrays)
        unsafe blocks.mixes_styles = flattener.mixesArrays
        unsafe blocks.longest_text = Self.longestText
        unsafe blocks.longest_number = limits.number
        unsafe blocks.longest_name = flattener.limits.key
        unsafe blocks.nests_in_brackets = flattener.nestsInBrackets
        unsafe blocks.left_in_names = flattener.leavesDots ? UInt8(ascii: ".") : UInt8(ascii: "\"")
        unsafe blocks.omits_empties = flattener.options.empties == .omit
        // What leaves a gap is written by events.
        unsafe blocks.omits_empty_elements = blocks.omits_empties && !flattener.style.leavesGaps
        unsafe blocks.leaves_objects = flattener.leavesObjectsToEvents
        unsafe blocks.leaves_arrays = flattener.leavesArraysToEvents
        if let printer = flattener.printer {
            unsafe blocks.print_number = NumberPrinter.inC
            unsafe blocks.printer = UnsafeRawPointer(Unmanaged.passUnretained(printer).toOpaque())
            unsafe blocks.keeps_zero_fractions = printer.style.keepsZeroFractions
        }
        if usesBlocks { unsafe blocks.levels = blockLevels.reserve(Self.mostLevels) }
        guard flattener.isGathering else { return unsafe blocks }
        // Names of fields are made, and their limits looked at, when the document is written.
        unsafe blocks.root_mark = recast_mark()
        unsafe blocks.brackets = (recast_brackets(), recast_brackets())
        unsafe blocks.text_mark = recast_mark()
        unsafe blocks.style = recast_style_brackets
        unsafe blocks.nests_in_brackets = true
        unsafe blocks.longest_name = Self.unlimited
        return unsafe blocks
    }

    /// More bytes than any name has.
    private static var unlimited: Int { .max / 4 }

    private static func blockStyle(_ style: ArrayStyle) -> recast_style {
        switch style {
        case .auto: recast_style_open
        // The marks around names of elements say which it is.
        case .brackets, .repeated: recast_style_brackets
        case .indices: recast_style_indices
        default: recast_style_other
        }
    }

    /// Writes what can be written in blocks, from `at` and `to` of `blocks` on, and leaves decoder and flattener as they are
    /// behind it.
    @inline(never)
    @unsafe
    mutating func readInBlocks<Target: DirectFieldEncoder & ~Copyable>(
        _ blocks: inout recast_fields, _ input: Span<UInt8>, _ source: UnsafeRawPointer,
        in flattener: inout Flattener<Target>, _ fields: DirectFields, _ table: UnsafePointer<UInt32>,
        watching watched: UInt64
    ) {
        var top = flattener.containers.count &- 1
        let container = flattener.containers[top]
        let isHeld = flattener.isGathering
        var level = recast_level()
        level.prefix_count = isHeld ? 0 : container.prefixEnd
        level.name_end = container.nameEnd
        // A document that is held bounds each name by itself.
        level.name_room = isHeld ? limits.key : flattener.directNameRoom
        level.position = container.position
        level.omitted = container.position &- container.written
        level.index = elementIndex
        level.is_object = isInObject
        level.in_object = container.inObject
        level.last_was_object = container.lastWasObject
        let isUnsettled = flattener.options.arrays == .auto && container.written == 0
        level.style = isUnsettled ? recast_style_open : Self.blockStyle(container.style)
        if isHeld { level.style = recast_style_brackets }
        let depth = levels.count
        // No level may be open that has no place for a scalar.
        let named = isHeld ? Self.unlimited : flattener.limits.keyDepth &- container.depth &- 1
        let more = min(limits.depth &- depth, named)
        unsafe blocks.levels_room = max(1, min(Self.mostLevels, more &+ 1))
        unsafe blocks.is_root = top == 0
        unsafe blocks.prefix = flattener.prefix.start.unsafelyUnwrapped.assumingMemoryBound(to: UInt8.self)
        unsafe blocks.prefix_room = flattener.prefix.room
        if checksNames {
            unsafe memberNames.lend(to: &blocks, depth: depth, level: &level, watching: watched)
        } else {
            unsafe blocks.names = nil
        }
        unsafe blocks.levels[0] = level
        let start = unsafe blocks.at
        // SAFETY: the slice, the room for the output and the table are the caller's; the rest was filled in above.
        unsafe recast_fields_write(&blocks)
        guard unsafe blocks.at > start else { return }
        if unsafe blocks.removed > 0 {
            flattener.removedCount += unsafe blocks.removed
            unsafe blocks.removed = 0
        }
        let last = unsafe blocks.depth
        for number in 0...last {
            let level = unsafe blocks.levels[number]
            flattener.containers[top].position &+= level.passed
            flattener.containers[top].written &+= level.written
            if !level.is_object {
                if !isHeld { settle(&flattener.containers[top], as: level) }
                elementIndex = level.index
            }
            let next = unsafe number < last ? blocks.levels[number &+ 1] : level
            if checksNames {
                // SAFETY: each level's names stand behind those of the one before.
                let end = unsafe number < last ? next.first_name : blocks.names_count
                let longEnd = unsafe number < last ? next.first_long : blocks.long_count
                let bytesLeft = unsafe number < last ? next.bytes_before : blocks.bytes_left
                unsafe memberNames.take(
                    end &- level.first_name, longEnd &- level.first_long, depth: depth &+ number, bits: level.bits,
                    bytesLeft: bytesLeft)
            }
            guard number < last else { return }
            var name = DirectName()
            if level.is_object {
                name.start = next.name_start
                name.count = next.name_count
                let run = unsafe FieldText.plainRun(source + next.name_start)
                name.isPlain = run.count == name.count && run.count <= recast_longest_plain_name
                if name.isPlain { name.key = .init(first: run.first, last: run.last, count: run.count) }
            }
            unsafe openDirectly(isObject: next.is_object, name, of: input, source, in: &flattener, fields, table)
            top &+= 1
        }
    }

    /// What the loop has found out about an array.
    private func settle(_ container: inout FieldContainer, as level: recast_level) {
        switch level.style {
        case recast_style_brackets where container.style != .repeated: container.style = .brackets
        case recast_style_indices: container.style = .indices
        default: break
        }
        container.inObject = level.in_object
        container.lastWasObject = level.last_was_object
    }
}

// Documents that are held are read by the same loop, which puts each member and element into their tree instead of writing its
// field. What it leaves is for the events.
extension JSON.Decoder {
    /// The bytes that the loop wants behind what it writes at most.
    private static var blockRoom: Int { 1024 }

    /// Reads members and elements from the start of `input` into the document that the flattener holds. Adds the number of
    /// scalars to `count` and returns the number of bytes taken.
    mutating func readHeld<Target: DirectFieldEncoder & ~Copyable>(
        _ input: Span<UInt8>, into flattener: inout Flattener<Target>, watching watched: UInt64, count: inout Int
    ) -> Int {
        guard usesBlocks, mutedDepth < 0, input.count > Self.shortSlice, isBetweenItems,
            levels.count == flattener.containers.count, flattener.holdsDirectly(input.count),
            Tree.Record.isLaidOutAsInC,
            let fields = flattener.target.directFields(flattener.options)
        else { return 0 }
        var taken = 0
        var (nameStart, nameCount) = (0, -2)
        if checksNames { flattener.document.hasDistinctNames = true }
        let floor = levels.count
        // SAFETY: the loop reads the slice's bytes, and writes only into the room of the tree's bytes and nodes. No field has a
        // prefix here.
        unsafe input.withUnsafeBytes { source in
            unsafe fields.table.withUnsafeBufferPointer { table in
                guard let source = source.baseAddress, let table = table.baseAddress else { return }
                _ = unsafe flattener.prefix.reserve(256)
                var blocks = unsafe makeBlocks(source, input.count, of: flattener, fields, nil)
                unsafe blocks.name_count = nameCount
                unsafe blocks.left = .max
                while taken < input.count {
                    var bytes = ByteStore()
                    var records = TreeRecords()
                    let children = flattener.document.childCount(flattener.document.open)
                    let depth = flattener.containers.count
                    let scalars = unsafe blocks.fields
                    flattener.exchangeHeld(&records, &bytes)
                    let count = records.count
                    unsafe blocks.nodes = records.reserve(Self.leastNodes).assumingMemoryBound(to: recast_node.self)
                    unsafe blocks.nodes_room = records.capacity
                    unsafe blocks.nodes_count = count
                    unsafe blocks.pool_start = Int32(bytes.count)
                    unsafe blocks.open = flattener.document.open
                    unsafe blocks.has_many = false
                    let room = input.count &- taken &+ Self.blockRoom
                    unsafe blocks.at = taken
                    unsafe blocks.to = 0
                    unsafe blocks.room = room
                    unsafe blocks.depth = 0
                    unsafe blocks.place = placeOfItem
                    unsafe bytes.write(upTo: room) { target in
                        unsafe blocks.target = target
                        unsafe readInBlocks(
                            &blocks, input, source, in: &flattener, fields, table,
                            watching: flattener.containers.count == floor ? watched : 0)
                        return unsafe blocks.to
                    }
                    unsafe records.commit(blocks.nodes_count)
                    flattener.exchangeHeld(&records, &bytes)
                    guard unsafe blocks.at > taken else { break }
                    taken = unsafe blocks.at
                    unsafe flattener.hold(
                        after: count, scalars: Int(blocks.fields) - Int(scalars), open: blocks.open,
                        hasMany: blocks.has_many, childrenBefore: children, deepest: depth + blocks.deepest,
                        longest: max(Int(recast_longest_plain_name), blocks.longest_name_taken),
                        hasNumbers: blocks.has_number_names, hasGaps: blocks.has_gaps)
                    state = unsafe state(at: blocks.place)
                }
                count += unsafe blocks.fields
                nameCount = unsafe blocks.name_count
                nameStart = unsafe blocks.name_start
            }
        }
        guard taken > 0 else { return 0 }
        noteName(start: nameStart, count: nameCount, in: input)
        return taken
    }

    /// Whether a member, an element, or what follows one is next.
    var isBetweenItems: Bool {
        switch state {
        case .name, .nameOrEnd, .elementOrEnd, .commaOrEnd: true
        case .value: !isInObject && !levels.isEmpty
        default: false
        }
    }

    private var placeOfItem: recast_place {
        switch state {
        case .commaOrEnd: recast_place_behind
        case .name, .value: recast_place_item
        default: recast_place_first
        }
    }
}

// MARK: Names, texts and containers

extension JSON.Decoder {
    /// The number of bytes of the name that begins at `start`, where it isn't a plain one but can be written: else 0.
    @inline(never)
    func nameCountDirectly<Target: DirectFieldEncoder & ~Copyable>(
        _ input: Span<UInt8>, from start: Int, leavesDots: Bool, for _: Target.Type
    ) -> Int {
        let run = Scan.textRun(in: input, from: start)
        guard run.end < input.count, input[run.end] == UInt8(ascii: "\""), run.end - start <= limits.key else {
            return 0
        }
        let name = input.extracting(start..<run.end)
        guard run.isASCII || UTF8Validator.isValid(name), Target.takesDirectly(name),
            !Flattener<Target>.hasMarks(name, isDotted: leavesDots)
        else { return 0 }
        return name.count
    }

    /// Whether every library prints the number of `count` bytes as it stands: an integer that none of them rounds, or a
    /// fraction that none writes with an exponent, and that doesn't end with a zero.
    @inline(never)
    @unsafe
    static func isPrintedAlike(_ source: UnsafeRawPointer, _ count: Int) -> Bool {
        // SAFETY: the caller has the bytes, and more of them up to sixteen.
        unsafe recast_is_printed_alike(source.assumingMemoryBound(to: UInt8.self), count)
    }

    /// The bit of a name, as `MemberNames.Key` has it.
    private func bit(of name: DirectName, in input: Span<UInt8>) -> UInt64 {
        if name.isPlain { return name.key.bit }
        return JSON.MemberNames.Key(input.extracting(name.start..<name.start &+ name.count)).bit
    }

    private func hasDot(_ name: DirectName, in input: Span<UInt8>) -> Bool {
        Scan.firstIndex(of: UInt8(ascii: "."), in: input.extracting(name.start..<name.start &+ name.count)) != nil
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
        guard run.end < bound, input[run.end] == UInt8(ascii: "\""), run.isASCII || unescaped.isValidUTF8 else {
            return -1
        }
        return run.end + 1
    }

    /// Goes down into the container that is the value of `name`, or the next element, as the events do.
    @inline(never)
    @unsafe
    mutating func openDirectly<Target: DirectFieldEncoder & ~Copyable>(
        isObject: Bool, _ name: DirectName, of input: Span<UInt8>, _ source: UnsafeRawPointer,
        in flattener: inout Flattener<Target>, _ fields: DirectFields, _ table: UnsafePointer<UInt32>
    ) {
        beginLevel()
        let top = flattener.containers.count &- 1
        // A document that is held has no prefixes: what would be one is written and forgotten.
        let isHeld = flattener.isGathering
        let parentEnd = isHeld ? 0 : flattener.containers[top].prefixEnd
        let position = flattener.containers[top].position
        // SAFETY: there is room for three bytes for each of the name's, its brackets and the next one's; a plain name's words
        // are two. The name's span lies in the slice.
        let prefix = unsafe flattener.prefix.reserve(parentEnd &+ 3 &* name.count &+ 64)
        var end = parentEnd
        let around = fields.brackets(inObject: isInObject)
        let isDotted = flattener.options.nesting == .dots
        let first = isDotted ? UInt8(ascii: ".") : UInt8(ascii: "[")
        if isInObject {
            if name.isPlain {
                let key = name.key
                unsafe path.write(upTo: 16) { unsafe key.store(to: UnsafeMutableRawPointer($0)) }
                unsafe flattener.name.write(upTo: 18) { target in
                    let target = UnsafeMutableRawPointer(target)
                    guard top > 0 else { return unsafe key.store(to: target) }
                    unsafe target.storeBytes(of: first, as: UInt8.self)
                    let count = unsafe key.store(to: target + 1)
                    unsafe target.storeBytes(of: UInt8(ascii: "]"), toByteOffset: count &+ 1, as: UInt8.self)
                    return count &+ (isDotted ? 1 : 2)
                }
                end &+= unsafe key.store(to: prefix + end)
            } else {
                let bytes = input.extracting(name.start..<name.start &+ name.count)
                path.append(contentsOf: bytes)
                if top > 0 { flattener.name.append(first) }
                flattener.name.append(contentsOf: bytes)
                if top > 0, !isDotted { flattener.name.append(UInt8(ascii: "]")) }
                end &+= unsafe Self.writeDirectly(
                    source + name.start, name.count, readable: input.count &- name.start, to: prefix + end, table,
                    for: Target.self)
            }
        } else {
            let hasIndex = !flattener.nestsInBrackets
            if hasIndex { flattener.containers[top].style = .indices }
            flattener.containers[top].inObject = isObject
            let digits = hasIndex ? unsafe Self.writeIndex(position, to: prefix + end) : 0
            let isNamed = flattener.containers[top].style != .repeated
            unsafe flattener.name.write(upTo: 22) { target in
                guard isNamed else { return 0 }
                let target = UnsafeMutableRawPointer(target)
                unsafe target.storeBytes(of: UInt8(ascii: "["), as: UInt8.self)
                let count = hasIndex ? unsafe Self.writeIndex(position, to: target + 1) : 0
                unsafe target.storeBytes(of: UInt8(ascii: "]"), toByteOffset: count &+ 1, as: UInt8.self)
                return count &+ 2
            }
            end &+= digits
        }
        if top > 0 {
            unsafe prefix.storeBytes(of: around.close.bits.littleEndian, toByteOffset: end, as: UInt64.self)
            end &+= around.close.count
        }
        let open = fields.brackets(inObject: isObject).open
        unsafe prefix.storeBytes(of: open.bits.littleEndian, toByteOffset: end, as: UInt64.self)
        flattener.openDirectly(isObject: isObject, prefixEnd: isHeld ? -1 : end &+ open.count)
        isInObject = isObject
        elementIndex = 0
    }

    /// Goes up out of the innermost container, which has fields, as the events do.
    @inline(never)
    mutating func closeDirectly<Target: DirectFieldEncoder & ~Copyable>(in flattener: inout Flattener<Target>) {
        endLevel()
        flattener.closeDirectly()
    }
}
