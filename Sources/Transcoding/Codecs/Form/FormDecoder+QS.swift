internal import Octets

/// Reading pair by pair: qs decides where a name ends by what comes later in the pair, and what is decoded by all of it.
extension Form.Decoder {
    internal mutating func feedPairs<Sink: FieldSink & ~Copyable>(
        _ input: Span<UInt8>, into sink: inout Sink
    ) throws(ConversionError) -> Int {
        var at = 0
        if place == .value {
            try sendValue(into: &sink)
            if sink.isFull { return 0 }
        }
        while at < input.count {
            if place == .pairStart { try startPair(input, &at) }
            guard at < input.count else { break }
            guard let end = Scan.firstIndex(of: UInt8(ascii: "&"), in: input, from: at) else {
                try gather(input.extracting(at..<input.count))
                at = input.count
                break
            }
            if name.isEmpty {
                try checkLength(end - at)
                try send(input.extracting(at..<end), into: &sink)
            } else {
                try gather(input.extracting(at..<end))
                try sendGathered(into: &sink)
            }
            at = end + 1
            if sink.isFull { break }
        }
        consumed += at
        return at
    }

    internal mutating func finishPair<Sink: FieldSink & ~Copyable>(into sink: inout Sink) throws(ConversionError) {
        if place == .name { try sendGathered(into: &sink) }
        if place == .value { try sendValue(into: &sink) }
    }

    /// Sends the value of the pair whose name has been sent.
    private mutating func sendValue<Sink: FieldSink & ~Copyable>(into sink: inout Sink) throws(ConversionError) {
        place = .pairStart
        guard let pair else { return }
        try sink.content(pair.value.span, isLast: true)
    }

    /// Keeps the start of a pair until its end has come. It stands in `name`, which has no other use here.
    private mutating func gather(_ bytes: Span<UInt8>) throws(ConversionError) {
        try checkLength(name.count + bytes.count)
        name.append(contentsOf: bytes)
    }

    /// Each byte of a name and a value may be an escape.
    private func checkLength(_ count: Int) throws(ConversionError) {
        let (text, passes) = limits.key.addingReportingOverflow(limits.field)
        guard passes || count / 3 <= text else {
            throw .limit("field", of: limits.field, what: "a value", offset: nameOffset)
        }
    }

    private mutating func sendGathered<Sink: FieldSink & ~Copyable>(into sink: inout Sink) throws(ConversionError) {
        // The bytes move out for the call: a method of self can't be given a span into self.
        var bytes = ByteStore()
        swap(&bytes, &name)
        try send(bytes.span, into: &sink)
        swap(&bytes, &name)
        name.removeAll()
    }

    private mutating func send<Sink: FieldSink & ~Copyable>(
        _ raw: Span<UInt8>, into sink: inout Sink
    ) throws(ConversionError) {
        guard var pair else { return }
        self.pair = nil
        defer { self.pair = pair }
        try pair.read(raw, offset: nameOffset)
        guard pair.name.count <= limits.key else {
            throw .limit("key", of: limits.key, what: "the length of a field's name", offset: nameOffset)
        }
        head.setName(copying: pair.name)
        head.hasValue = pair.hasValue
        place = .value
        try sink.beginPart(head)
        // A sink that is full gets the value with the next call.
        guard !sink.isFull else { return }
        place = .pairStart
        try sink.content(pair.value.span, isLast: true)
    }
}
