internal import COctets
internal import Octets

// Fields written by C's loop, which goes down into containers and up again by itself. It keeps a plain record of each that is
// open; what it leaves open is opened here afterwards, as if each had been read alone.
extension JSON.Decoder {
    /// The levels that the loop may have open, the one that there was before included.
    private static var mostLevels: Int { 32 }
    /// The members and elements of a document that is held which the loop may note before they are taken.
    static var mostItems: Int { 256 }

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
        unsafe blocks.name_mark = fields.endOfName.inC
        unsafe blocks.text_mark = fields.endOfText.inC
        unsafe blocks.open_mark = fields.open.inC
        unsafe blocks.close_mark = fields.close.inC
        unsafe blocks.true_text = flattener.asText(.true)
        unsafe blocks.false_text = flattener.asText(.false)
        unsafe blocks.null_text = flattener.asText(.null)
        unsafe blocks.style = Self.blockStyle(flattener.options.arrays)
        unsafe blocks.longest_text = Self.longestText
        unsafe blocks.longest_number = limits.number
        unsafe blocks.longest_name = flattener.limits.key
        unsafe blocks.nests_in_brackets = flattener.nestsInBrackets
        unsafe blocks.prints_numbers = flattener.style.numbers != nil
        if usesBlocks { unsafe blocks.levels = blockLevels.reserve(Self.mostLevels) }
        guard flattener.isGathering else { return unsafe blocks }
        // Names of fields are made, and their limits looked at, when the document is written.
        unsafe blocks.root_mark = recast_mark()
        unsafe blocks.name_mark = recast_mark()
        unsafe blocks.text_mark = recast_mark()
        unsafe blocks.style = recast_style_brackets
        unsafe blocks.nests_in_brackets = true
        unsafe blocks.longest_name = Self.unlimited
        unsafe blocks.items = blockItems.reserve(Self.mostItems)
        unsafe blocks.items_room = Self.mostItems
        return unsafe blocks
    }

    /// More bytes than any name has.
    private static var unlimited: Int { .max / 4 }

    private static func blockStyle(_ style: ArrayStyle) -> recast_style {
        switch style {
        case .auto: recast_style_open
        case .brackets: recast_style_brackets
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
        in flattener: inout Flattener<Target>, _ fields: DirectFields, _ table: UnsafePointer<UInt32>
    ) {
        var top = flattener.containers.count &- 1
        let container = flattener.containers[top]
        let isHeld = flattener.isGathering
        var level = recast_level()
        level.prefix_count = isHeld ? 0 : container.prefixEnd
        level.name_end = container.nameEnd
        level.name_room = isHeld ? Self.unlimited : flattener.directNameRoom
        level.position = container.position
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
            unsafe memberNames.lend(to: &blocks, depth: depth, level: &level)
        } else {
            unsafe blocks.names = nil
        }
        unsafe blocks.levels[0] = level
        let start = unsafe blocks.at
        // SAFETY: the slice, the room for the output and the table are the caller's; the rest was filled in above.
        unsafe recast_fields_write(&blocks)
        guard unsafe blocks.at > start else { return }
        let last = unsafe blocks.depth
        for number in 0...last {
            let level = unsafe blocks.levels[number]
            flattener.containers[top].position &+= level.written
            flattener.containers[top].written &+= level.written
            if !level.is_object {
                if !isHeld { settle(&flattener.containers[top], as: level) }
                elementIndex = level.index
            }
            let next = unsafe number < last ? blocks.levels[number &+ 1] : level
            if checksNames {
                // SAFETY: each level's names stand behind those of the one before.
                let end = unsafe number < last ? next.first_name : blocks.names_count
                let bytesLeft = unsafe number < last ? next.bytes_before : blocks.bytes_left
                unsafe memberNames.take(
                    end &- level.first_name, depth: depth &+ number, bits: level.bits, bytesLeft: bytesLeft)
            }
            guard number < last else { return }
            var name = DirectName()
            if level.is_object {
                let run = unsafe FieldText.plainRun(source + next.name_start)
                name.start = next.name_start
                name.count = next.name_count
                name.key = .init(first: run.first, last: run.last, count: run.count)
            }
            unsafe openDirectly(isObject: next.is_object, name, of: input, source, in: &flattener, fields, table)
            top &+= 1
        }
    }

    /// What the loop has found out about an array.
    private func settle(_ container: inout FieldContainer, as level: recast_level) {
        switch level.style {
        case recast_style_brackets: container.style = .brackets
        case recast_style_indices: container.style = .indices
        default: break
        }
        container.inObject = level.in_object
        container.lastWasObject = level.last_was_object
    }
}

// Documents that are held are read by the same loop, which notes each member and element instead of writing its field. What it
// leaves is for the events.
extension JSON.Decoder {
    /// The bytes that the loop wants behind what it writes at most.
    private static var blockRoom: Int { 1024 }

    /// Reads members and elements from the start of `input` into the document that the flattener holds. Adds the number of
    /// scalars to `count` and returns the number of bytes taken.
    mutating func readHeld<Target: DirectFieldEncoder & ~Copyable>(
        _ input: Span<UInt8>, into flattener: inout Flattener<Target>, count: inout Int
    ) -> Int {
        // The loop knows no limit of names, but takes none of sixteen bytes.
        guard usesBlocks, mutedDepth < 0, input.count > Self.shortSlice, limits.key >= 16, isBetweenItems,
            levels.count == flattener.containers.count, flattener.holdsDirectly(input.count),
            let fields = flattener.target.directFields
        else { return 0 }
        var taken = 0
        var nameCount = -2
        // SAFETY: the loop reads the slice's bytes, and writes only into the room of the tree's bytes and into the items. Of the
        // prefix, which no field has here, it reads two blocks.
        unsafe input.withUnsafeBytes { source in
            unsafe fields.table.withUnsafeBufferPointer { table in
                guard let source = source.baseAddress, let table = table.baseAddress else { return }
                _ = unsafe flattener.prefix.reserve(256)
                var blocks = unsafe makeBlocks(source, input.count, of: flattener, fields, nil)
                unsafe blocks.name_count = nameCount
                unsafe blocks.left = .max
                while taken < input.count {
                    var bytes = ByteStore()
                    flattener.exchangeHeldBytes(&bytes)
                    let base = bytes.count
                    let room = input.count &- taken &+ Self.blockRoom
                    unsafe blocks.at = taken
                    unsafe blocks.to = 0
                    unsafe blocks.room = room
                    unsafe blocks.items_count = 0
                    unsafe blocks.depth = 0
                    unsafe blocks.place = placeOfItem
                    unsafe bytes.write(upTo: room) { target in
                        unsafe blocks.target = target
                        unsafe readInBlocks(&blocks, input, source, in: &flattener, fields, table)
                        return unsafe blocks.to
                    }
                    flattener.exchangeHeldBytes(&bytes)
                    guard unsafe blocks.at > taken else { break }
                    taken = unsafe blocks.at
                    unsafe flattener.hold(
                        UnsafeBufferPointer(start: blocks.items, count: blocks.items_count), from: base,
                        depth: blocks.depth)
                    switch unsafe blocks.place {
                    case recast_place_behind: state = .commaOrEnd
                    case recast_place_item: state = isInObject ? .name : .value
                    default: state = isInObject ? .nameOrEnd : .elementOrEnd
                    }
                }
                count += unsafe blocks.fields
                nameCount = unsafe blocks.name_count
                if nameCount >= 0 { nameStart = unsafe blocks.name_start }
            }
        }
        guard taken > 0 else { return 0 }
        if state != .commaOrEnd || nameCount == -1 {
            namePlace = .none
        } else if nameCount >= 0 {
            namePlace = .slice
            nameEnd = nameStart + nameCount
        }
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
