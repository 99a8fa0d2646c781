internal import Octets

extension PropertyList {
    /// Reads a binary property list, `bplist00`, once it is complete: what says where the objects are stands at its end.
    ///
    /// Nothing that the body says is believed: every offset, count and reference is compared with what there is before it is
    /// used. Objects may be shared, but none may contain itself, and each is counted as often as it stands somewhere.
    struct BinaryReader: ~Copyable {
        /// What the last 32 bytes say.
        struct Trailer {
            var offsetSize = 0
            var referenceSize = 0
            var objectCount = 0
            var topObject = 0
            /// Where the offsets begin, and so where the objects end.
            var tableStart = 0

            static var size: Int { 32 }
            static var magicSize: Int { 8 }

            init?(_ input: Span<UInt8>) {
                guard input.count >= Self.magicSize + 2 + Self.size else { return nil }
                let start = input.count - Self.size
                offsetSize = Int(input[start + 6])
                referenceSize = Int(input[start + 7])
                guard 1...8 ~= offsetSize, 1...8 ~= referenceSize,
                    let objectCount = Int(exactly: input.bigEndian(at: start + 8, size: 8)),
                    let topObject = Int(exactly: input.bigEndian(at: start + 16, size: 8)),
                    let tableStart = Int(exactly: input.bigEndian(at: start + 24, size: 8)),
                    objectCount > topObject, tableStart > Self.magicSize, tableStart < start,
                    // The division keeps the product below from passing the range.
                    objectCount <= (start - tableStart) / offsetSize, objectCount * offsetSize == start - tableStart
                else { return nil }
                self.objectCount = objectCount
                self.topObject = topObject
                self.tableStart = tableStart
            }
        }

        /// A container that is being emitted.
        struct Frame {
            var object: Int
            var isObject: Bool
            var references: Int
            var count: Int
            var index = 0
        }

        /// An object's marker and what belongs to it.
        struct Head {
            var offset: Int
            var type: UInt8
            var info: UInt8
            /// Where what it holds begins, behind the marker and the count.
            var start: Int
            /// Bytes, UTF-16 units, elements or members.
            var count: Int
        }

        let options: DecodingOptions
        let limits: Limits

        private var body = ByteStore()
        var path: ReadingPath
        var frames: [Frame] = []
        /// Whether each object is one of those in `frames`.
        private var isOpen: [Bool] = []
        var scratch: [UInt8] = []
        /// What has been emitted, counted as a tree counts it.
        private var cost = 0

        init(options: DecodingOptions, limits: Limits) {
            self.options = options
            self.limits = limits
            path = ReadingPath(options.duplicates, limits: limits)
        }

        mutating func reset() {
            body.removeAll(keepingUpTo: 128 * 1024)
            path.removeAll()
            frames.removeAll(keepingCapacity: true)
            if isOpen.capacity > 4096 { isOpen = [] }
            cost = 0
        }

        mutating func feed(_ input: Span<UInt8>) throws(ConversionError) {
            let magic: StaticString = "bplist00"
            if body.count < Trailer.magicSize {
                for index in 0..<min(input.count, min(Trailer.magicSize, limits.tree) - body.count) {
                    // SAFETY: the index is below 8, which is the literal's length.
                    guard unsafe input[index] == magic.utf8Start[body.count + index] else {
                        let isVersion = body.count + index >= 6
                        throw (isVersion ? Fault.unsupportedVersion : .unknownFormat).error(offset: body.count + index)
                    }
                }
            }
            guard input.count <= limits.tree - body.count else {
                throw .limit(
                    "tree", of: limits.tree, what: "a binary property list, which must be held in memory",
                    offset: limits.tree)
            }
            body.append(contentsOf: input)
        }

        var heldCount: Int { body.count }
        var allocatedCount: Int { body.allocatedCount }

        mutating func finish<Sink: EventSink & ~Copyable>(into sink: inout Sink) throws(ConversionError) {
            // Taken out so that the span doesn't borrow the reader while it changes.
            var whole = ByteStore()
            swap(&whole, &body)
            defer { swap(&whole, &body) }
            guard whole.count > 0 else { throw Fault.emptyBody.error(offset: 0) }
            guard whole.count >= Trailer.magicSize else {
                throw Fault.unexpectedEnd.error(offset: whole.count)
            }
            let input = whole.span
            guard let trailer = Trailer(input) else {
                throw Fault.invalidTrailer.error(offset: max(0, input.count - Trailer.size))
            }
            isOpen.removeAll(keepingCapacity: true)
            for _ in 0..<trailer.objectCount { isOpen.append(false) }
            try emit(trailer.topObject, trailer, input, into: &sink)
            while let frame = frames.last {
                guard frame.index < frame.count else {
                    try close(frame, into: &sink)
                    continue
                }
                frames[frames.count - 1].index += 1
                var at = frame.references + frame.index * trailer.referenceSize
                if frame.isObject {
                    try emitKey(try object(at: at, trailer, input), trailer, input, into: &sink)
                    at += frame.count * trailer.referenceSize
                }
                try emit(try object(at: at, trailer, input), trailer, input, into: &sink)
            }
        }

        func failure(_ fault: Fault, at offset: Int) -> ConversionError {
            fault.error(offset: offset, pointer: path.pointer)
        }

        /// Counts a value or a name, or refuses.
        mutating func charge(bytes: Int, nodes: Int = 0, at offset: Int) throws(ConversionError) {
            cost += bytes + nodes * Tree.nodeCost
            guard cost <= limits.tree else {
                throw ConversionError.limit(
                    "tree", of: limits.tree, what: "what the binary property list stands for", offset: offset
                ).at(pointer: path.pointer)
            }
        }

        /// The object that the reference at `at` leads to. The caller has seen that the reference lies among the objects.
        private func object(
            at: Int, _ trailer: Trailer, _ input: Span<UInt8>
        ) throws(ConversionError) -> Int {
            let reference = input.bigEndian(at: at, size: trailer.referenceSize)
            guard reference < UInt64(trailer.objectCount) else { throw failure(.objectReference, at: at) }
            return Int(reference)
        }

        /// Goes down into a container.
        mutating func open<Sink: EventSink & ~Copyable>(
            _ object: Int, _ head: Head, _ trailer: Trailer, into sink: inout Sink
        ) throws(ConversionError) {
            let isObject = head.type == 0xD
            guard !isOpen[object] else { throw failure(.cycle, at: head.offset) }
            guard frames.count < limits.depth else {
                throw ConversionError.limit(
                    "depth", of: limits.depth, what: "the nesting of the document", offset: head.offset
                ).at(pointer: path.pointer)
            }
            let size = trailer.referenceSize * (isObject ? 2 : 1)
            guard head.count <= (trailer.tableStart - head.start) / size else {
                throw failure(.invalidOffset, at: head.offset)
            }
            frames.append(Frame(object: object, isObject: isObject, references: head.start, count: head.count))
            isOpen[object] = true
            _ = try path.open(isObject: isObject, into: &sink)
        }

        private mutating func close<Sink: EventSink & ~Copyable>(
            _ frame: Frame, into sink: inout Sink
        ) throws(ConversionError) {
            frames.removeLast()
            isOpen[frame.object] = false
            _ = try path.close(into: &sink)
        }

        /// Sends a name.
        mutating func sendKey<Sink: EventSink & ~Copyable>(
            _ name: Span<UInt8>, at offset: Int, into sink: inout Sink
        ) throws(ConversionError) {
            guard name.count <= limits.key else {
                throw ConversionError.limit("key", of: limits.key, what: "a key", offset: offset).at(
                    pointer: path.pointer)
            }
            try charge(bytes: name.count, at: offset)
            _ = try path.key(name, at: offset, into: &sink)
        }
    }
}

extension Span where Element == UInt8 {
    /// The unsigned number of `size` bytes, at most eight, at `at`, highest first.
    func bigEndian(at: Int, size: Int) -> UInt64 {
        var value: UInt64 = 0
        for index in at..<at + size { value = value << 8 | UInt64(self[index]) }
        return value
    }
}

extension PropertyList.BinaryReader {
    /// Emits an object, or goes down into it.
    mutating func emit<Sink: EventSink & ~Copyable>(
        _ object: Int, _ trailer: Trailer, _ input: Span<UInt8>, into sink: inout Sink
    ) throws(ConversionError) {
        let head = try head(of: object, trailer, input)
        try charge(bytes: 0, nodes: 1, at: head.offset)
        switch head.type {
        case 0x0:
            switch head.info {
            case 0x0: break
            case 0x8, 0x9: break
            case 0xC, 0xD, 0xE: throw failure(.objectType, at: head.offset)
            default: throw failure(.invalidObject, at: head.offset)
            }
            guard path.endValue() else { return }
            if head.info == 0 { try sink.null() } else { try sink.bool(head.info == 0x9) }
        case 0x1:
            scratch.removeAll(keepingCapacity: true)
            try readInteger(head, input)
            try sendNumber(at: head.offset, into: &sink)
        case 0x2:
            try emitReal(head, input, into: &sink)
        case 0x3:
            let value = Double(bitPattern: input.bigEndian(at: head.start, size: 8))
            guard let date = PropertyList.Date(value) else {
                let fault: PropertyList.Fault =
                    !value.isFinite ? .invalidDate : PropertyList.Date.holds(value) ? .datePrecision : .dateRange
                throw failure(fault, at: head.offset)
            }
            scratch.removeAll(keepingCapacity: true)
            date.append(to: &scratch, withFraction: true)
            try charge(bytes: scratch.count, at: head.offset)
            guard path.endValue() else { return }
            try sink.date(scratch.span)
        case 0x4:
            try charge(bytes: head.count, at: head.offset)
            guard path.endValue() else { return }
            try sink.data(input.extracting(head.start..<head.start + head.count))
        case 0x5:
            let text = try asciiText(head, input)
            try charge(bytes: text.count, at: head.offset)
            guard path.endValue() else { return }
            try sink.string(text, isLast: true)
        case 0x6:
            try charge(bytes: head.count, at: head.offset)
            try readUTF16(head, input)
            try charge(bytes: scratch.count - head.count, at: head.offset)
            guard path.endValue() else { return }
            try sink.string(scratch.span, isLast: true)
        case 0x8: throw failure(.uid, at: head.offset)
        case 0xA, 0xD: try open(object, head, trailer, into: &sink)
        case 0x7, 0xB, 0xC: throw failure(.objectType, at: head.offset)
        default: throw failure(.invalidObject, at: head.offset)
        }
    }

    /// Emits the name of a member.
    mutating func emitKey<Sink: EventSink & ~Copyable>(
        _ object: Int, _ trailer: Trailer, _ input: Span<UInt8>, into sink: inout Sink
    ) throws(ConversionError) {
        let head = try head(of: object, trailer, input)
        switch head.type {
        case 0x5: try sendKey(try asciiText(head, input), at: head.offset, into: &sink)
        case 0x6:
            // A unit is one byte of UTF-8 at least.
            guard head.count <= limits.key else {
                throw ConversionError.limit("key", of: limits.key, what: "a key", offset: head.offset).at(
                    pointer: path.pointer)
            }
            try readUTF16(head, input)
            // Taken out so that the span doesn't borrow the reader while it changes.
            var name: [UInt8] = []
            swap(&name, &scratch)
            defer { swap(&name, &scratch) }
            try sendKey(name.span, at: head.offset, into: &sink)
        default: throw failure(.keyType, at: head.offset)
        }
    }

    /// Finds an object and sees that all it holds, but the references of a container, lies among the objects.
    private func head(
        of object: Int, _ trailer: Trailer, _ input: Span<UInt8>
    ) throws(ConversionError) -> Head {
        let entry = trailer.tableStart + object * trailer.offsetSize
        let found = input.bigEndian(at: entry, size: trailer.offsetSize)
        guard found >= UInt64(Trailer.magicSize), found < UInt64(trailer.tableStart) else {
            throw failure(.invalidOffset, at: entry)
        }
        let offset = Int(found)
        let type = input[offset] >> 4
        let info = input[offset] & 0xF
        var head = Head(offset: offset, type: type, info: info, start: offset + 1, count: 0)
        var size = 1
        switch type {
        case 0x0: return head
        case 0x1:
            guard info <= 4 else { throw failure(.invalidObject, at: offset) }
            head.count = 1 << Int(info)
        case 0x2:
            guard info == 2 || info == 3 else { throw failure(.invalidObject, at: offset) }
            head.count = 1 << Int(info)
        case 0x3:
            guard info == 3 else { throw failure(.invalidObject, at: offset) }
            head.count = 8
        case 0x8: head.count = Int(info) + 1
        case 0x4, 0x5, 0x6, 0x7, 0xA, 0xB, 0xC, 0xD:
            head.count = Int(info)
            if info == 0xF { try readCount(&head, trailer, input) }
            if type == 0x6 { size = 2 }
            // References are looked at where a container is opened.
            if type >= 0xA { return head }
        default: throw failure(.invalidObject, at: offset)
        }
        guard head.count <= (trailer.tableStart - head.start) / size else {
            throw failure(.invalidOffset, at: offset)
        }
        return head
    }

    /// Reads the count that follows a marker as an integer object.
    private func readCount(
        _ head: inout Head, _ trailer: Trailer, _ input: Span<UInt8>
    ) throws(ConversionError) {
        guard head.start < trailer.tableStart else { throw failure(.invalidOffset, at: head.offset) }
        let marker = input[head.start]
        guard marker & 0xF0 == 0x10, marker & 0xF <= 3 else { throw failure(.invalidObject, at: head.offset) }
        let size = 1 << Int(marker & 0xF)
        guard size < trailer.tableStart - head.start,
            let count = Int(exactly: input.bigEndian(at: head.start + 1, size: size))
        else { throw failure(.invalidOffset, at: head.offset) }
        head.start += 1 + size
        head.count = count
    }

    /// Puts an integer's decimal text into `scratch`.
    private mutating func readInteger(_ head: Head, _ input: Span<UInt8>) throws(ConversionError) {
        guard head.count == 16 else {
            let value = input.bigEndian(at: head.start, size: head.count)
            // Eight bytes are signed, fewer are not.
            if head.count == 8 {
                return PropertyList.Number.append(Int64(bitPattern: value), to: &scratch)
            }
            return PropertyList.Number.append(value, to: &scratch)
        }
        // Foundation writes 2⁶³…2⁶⁴−1 with sixteen bytes.
        let high = input.bigEndian(at: head.start, size: 8)
        let low = input.bigEndian(at: head.start + 8, size: 8)
        if high == 0 {
            PropertyList.Number.append(low, to: &scratch)
        } else if high == .max, low >= UInt64(1) << 63 {
            PropertyList.Number.append(Int64(bitPattern: low), to: &scratch)
        } else {
            throw failure(.integerRange, at: head.offset)
        }
    }

    private mutating func emitReal<Sink: EventSink & ~Copyable>(
        _ head: Head, _ input: Span<UInt8>, into sink: inout Sink
    ) throws(ConversionError) {
        let bits = input.bigEndian(at: head.start, size: head.count)
        let value =
            head.count == 4
            ? Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits))) : Double(bitPattern: bits)
        scratch.removeAll(keepingCapacity: true)
        guard value.isFinite else {
            guard options.nonFiniteReals == .string else { throw failure(.nonFiniteReal, at: head.offset) }
            scratch.append(contentsOf: (value.isNaN ? "nan" : value < 0 ? "-inf" : "inf").utf8)
            try charge(bytes: scratch.count, at: head.offset)
            guard path.endValue() else { return }
            return try sink.string(scratch.span, isLast: true)
        }
        PropertyList.Number.append(value, to: &scratch)
        try sendNumber(at: head.offset, into: &sink)
    }

    private mutating func sendNumber<Sink: EventSink & ~Copyable>(
        at offset: Int, into sink: inout Sink
    ) throws(ConversionError) {
        try charge(bytes: scratch.count, at: offset)
        guard path.endValue() else { return }
        try sink.number(scratch.span)
    }

    @_lifetime(copy input)
    private func asciiText(_ head: Head, _ input: Span<UInt8>) throws(ConversionError) -> Span<UInt8> {
        let text = input.extracting(head.start..<head.start + head.count)
        var bits: UInt8 = 0
        for index in text.indices { bits |= text[index] }
        guard bits < 0x80 else { throw failure(.invalidString, at: head.offset) }
        return text
    }

    /// Puts the UTF-8 of a UTF-16 string into `scratch`.
    private mutating func readUTF16(_ head: Head, _ input: Span<UInt8>) throws(ConversionError) {
        scratch.removeAll(keepingCapacity: true)
        var at = head.start
        let end = head.start + head.count * 2
        while at < end {
            var scalar = UInt32(input[at]) << 8 | UInt32(input[at + 1])
            at += 2
            if scalar & 0xF800 == 0xD800 {
                guard scalar < 0xDC00, at < end, input[at] & 0xFC == 0xDC else {
                    throw failure(.invalidString, at: at - 2)
                }
                let low = UInt32(input[at]) << 8 | UInt32(input[at + 1])
                scalar = 0x10000 + (scalar & 0x3FF) << 10 + low & 0x3FF
                at += 2
            }
            scratch.append(UTF8Character(scalar))
        }
    }
}
