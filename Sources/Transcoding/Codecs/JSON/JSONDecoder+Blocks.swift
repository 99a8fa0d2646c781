internal import COctets
internal import Octets

// Fields written by C's loop, which goes down into containers and up again by itself. It keeps a plain record of each that is
// open; what it leaves open is opened here afterwards, as if each had been read alone.
extension JSON.Decoder {
    /// The levels that the loop may have open, the one that there was before included.
    private static var mostLevels: Int { 32 }

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
        return unsafe blocks
    }

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
        var level = recast_level()
        level.prefix_count = container.prefixEnd
        level.name_end = container.nameEnd
        level.name_room = flattener.directNameRoom
        level.position = container.position
        level.index = elementIndex
        level.is_object = isInObject
        level.in_object = container.inObject
        level.last_was_object = container.lastWasObject
        let isUnsettled = flattener.options.arrays == .auto && container.written == 0
        level.style = isUnsettled ? recast_style_open : Self.blockStyle(container.style)
        let depth = levels.count
        // No level may be open that has no place for a scalar.
        let more = min(limits.depth &- depth, flattener.limits.keyDepth &- container.depth &- 1)
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
                settle(&flattener.containers[top], as: level)
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
