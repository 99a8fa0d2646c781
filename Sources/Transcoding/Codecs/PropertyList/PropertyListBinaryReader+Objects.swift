internal import Octets

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
            guard sends() else { return }
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
                throw failure(value.isFinite ? .dateRange : .invalidDate, at: head.offset)
            }
            scratch.removeAll(keepingCapacity: true)
            date.append(to: &scratch, withFraction: true)
            try charge(bytes: scratch.count, at: head.offset)
            guard sends() else { return }
            try sink.date(scratch.span)
        case 0x4:
            try charge(bytes: head.count, at: head.offset)
            guard sends() else { return }
            try sink.data(input.extracting(head.start..<head.start + head.count))
        case 0x5:
            let text = try asciiText(head, input)
            try charge(bytes: text.count, at: head.offset)
            guard sends() else { return }
            try sink.string(text, isLast: true)
        case 0x6:
            try charge(bytes: head.count, at: head.offset)
            try readUTF16(head, input)
            try charge(bytes: scratch.count - head.count, at: head.offset)
            guard sends() else { return }
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
                throw .limit("key", of: limits.key, what: "a key", offset: head.offset, field: path.pointer)
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

    /// Goes on behind a scalar; whether its event is to be sent.
    private mutating func sends() -> Bool {
        let wasMuted = isMuted
        endValue()
        return !wasMuted
    }

    /// Finds an object and sees that all it holds, but the references of a container, lies among the objects.
    private func head(
        of object: Int, _ trailer: Trailer, _ input: Span<UInt8>
    ) throws(ConversionError) -> Head {
        let place = trailer.tableStart + object * trailer.offsetSize
        let found = input.bigEndian(at: place, size: trailer.offsetSize)
        guard found >= UInt64(Trailer.magicSize), found < UInt64(trailer.tableStart) else {
            throw failure(.invalidOffset, at: place)
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
            guard sends() else { return }
            return try sink.string(scratch.span, isLast: true)
        }
        PropertyList.Number.append(value, to: &scratch)
        try sendNumber(at: head.offset, into: &sink)
    }

    private mutating func sendNumber<Sink: EventSink & ~Copyable>(
        at offset: Int, into sink: inout Sink
    ) throws(ConversionError) {
        try charge(bytes: scratch.count, at: offset)
        guard sends() else { return }
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
            scratch.append(utf8: scalar)
        }
    }
}
