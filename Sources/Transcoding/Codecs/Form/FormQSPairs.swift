internal import Octets

/// Reading pair by pair: qs decides where a name ends by what comes later in the pair, and what is decoded by all of it.
extension Form.Decoder {
    internal mutating func feedPairs<Sink: FieldSink & ~Copyable>(
        _ input: Span<UInt8>, into sink: inout Sink
    ) throws(ConversionError) -> Int {
        var at = 0
        if state == .value {
            try sendValue(into: &sink)
            if sink.isFull { return 0 }
        }
        while at < input.count {
            if state == .pairStart { try startPair(input, &at) }
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
        if state == .name { try sendGathered(into: &sink) }
        if state == .value { try sendValue(into: &sink) }
    }

    /// Sends the value of the pair whose name has been sent.
    private mutating func sendValue<Sink: FieldSink & ~Copyable>(into sink: inout Sink) throws(ConversionError) {
        state = .pairStart
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
        // It moves out for the calls: a method of self can't be given a span into self.
        var own: QSPair?
        swap(&own, &pair)
        defer { swap(&own, &pair) }
        try own?.read(raw, offset: nameOffset)
        if own != nil { try send(own!, into: &sink) }
    }

    private mutating func send<Sink: FieldSink & ~Copyable>(
        _ pair: borrowing QSPair, into sink: inout Sink
    ) throws(ConversionError) {
        guard pair.name.count <= limits.key else {
            throw .limit("key", of: limits.key, what: "the length of a field's name", offset: nameOffset)
        }
        head.setName(copying: pair.name)
        head.hasValue = pair.hasValue
        state = .value
        try sink.beginPart(head)
        // A sink that is full gets the value with the next call.
        guard !sink.isFull else { return }
        state = .pairStart
        try sink.content(pair.value.span, isLast: true)
    }
}

// Under qs, too, pairs that lie whole in a slice and that anybody would read alike are given to a tree without events.
extension Form.Decoder {
    internal mutating func feedPairs<Sink: WholeFieldSink & ~Copyable>(
        _ input: Span<UInt8>, wholeInto sink: inout Sink
    ) throws(ConversionError) -> Int {
        if state != .pairStart {
            // What an earlier slice began ends first.
            let end = Scan.firstIndex(of: UInt8(ascii: "&"), in: input).map { $0 + 1 } ?? input.count
            let taken = try feedPairs(input.extracting(0..<end), into: &sink)
            guard taken == end, state == .pairStart, !sink.isFull, end < input.count else { return taken }
            return taken + (try feedPairs(input.extracting(end...), wholeInto: &sink))
        }
        var at = 0
        var pace = RunPace()
        while at < input.count, !sink.isFull {
            if pace.isDue {
                let count = sink.takePairs(
                    input, &at, most: limits.fields - fields - emptyPairs, behind: 0..<0, beyond: true)
                fields += count
                pace.took(count)
            }
            try startPair(input, &at)
            guard at < input.count, let end = Scan.firstIndex(of: UInt8(ascii: "&"), in: input, from: at) else { break }
            try checkLength(end - at)
            if !(try takePair(input.extracting(at..<end), into: &sink)) {
                try send(input.extracting(at..<end), into: &sink)
            }
            at = end + 1
        }
        consumed += at
        guard at < input.count, !sink.isFull else { return at }
        return at + (try feedPairs(input.extracting(at...), into: &sink))
    }

    /// Gives a pair to the sink that qs cuts at its first `=`, and whose name and value are text once they are decoded. Returns false,
    /// with nothing read, for any other.
    private mutating func takePair<Sink: WholeFieldSink & ~Copyable>(
        _ raw: Span<UInt8>, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        let plain = Scan.formName(in: raw, from: 0)
        guard plain.isASCII, plain.end < raw.count else { return false }
        let isPlain = raw[plain.end] == UInt8(ascii: "=")
        guard let end = isPlain ? plain.end : Scan.firstIndex(of: UInt8(ascii: "="), in: raw, from: plain.end),
            end <= limits.key, raw.count - end <= Self.wholeValue
        else { return false }
        let name = raw.extracting(0..<end), start = end + 1
        let value = Scan.formValue(in: raw, from: start)
        if value.isASCII, value.end == raw.count {
            return try take(name, isPlain: isPlain, raw.extracting(start...), into: &sink)
        }
        // The value moves out: a method of self can't be given a span into self.
        var text = ByteStore()
        swap(&text, &decoded)
        text.removeAll()
        let run = text.append(formDecoding: raw, from: start, to: raw.count)
        var isTaken = false
        if run.end == raw.count, run.isASCII || text.isValidUTF8 {
            isTaken = try take(name, isPlain: isPlain, text.span, into: &sink)
        }
        text.removeAll()
        swap(&text, &decoded)
        return isTaken
    }

    /// As above, with the name as it came, and the value.
    private mutating func take<Sink: WholeFieldSink & ~Copyable>(
        _ raw: Span<UInt8>, isPlain: Bool, _ value: Span<UInt8>, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        // The name ends at a `]=` where there is one, also behind the first `=`.
        let close = UInt8(ascii: "]")
        let mayEndLater = Scan.firstIndex(of: close, in: value) != nil
        if isPlain {
            guard !mayEndLater else { return false }
            state = .pairStart
            try sink.field(raw, value, isPlain: true)
            return true
        }
        let percent = UInt8(ascii: "%"), plus = UInt8(ascii: "+")
        let run = Scan.run(to: percent, plus, percent, plus, in: raw, from: 0)
        guard run.isASCII else { return false }
        if run.end == raw.count {
            guard !mayEndLater || raw[raw.count - 1] == close else { return false }
            state = .pairStart
            try sink.field(raw, value, isPlain: false)
            return true
        }
        // As the value does.
        var name = ByteStore()
        swap(&name, &self.name)
        let decoded = name.append(formDecoding: raw, from: 0, to: raw.count)
        let isTaken =
            decoded.end == raw.count && decoded.isASCII && !name.isEmpty
            && (!mayEndLater || name[name.count - 1] == close)
        if isTaken {
            state = .pairStart
            try sink.field(name.span, value, isPlain: false)
        }
        name.removeAll()
        swap(&name, &self.name)
        return isTaken
    }

    /// As above, of the body's last pair, which was gathered.
    internal mutating func takeGathered<Sink: WholeFieldSink & ~Copyable>(
        into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        // The bytes move out for the call: a method of self can't be given a span into self.
        var bytes = ByteStore()
        swap(&bytes, &name)
        let isTaken = try takePair(bytes.span, into: &sink)
        swap(&bytes, &name)
        if isTaken { name.removeAll() }
        return isTaken
    }
}
