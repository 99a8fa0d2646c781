internal import Octets

extension PropertyList.XMLElements {
    /// Takes the text from `at` to `end` of the slice, in a leaf or between elements. Returns whether to return from `feed`.
    mutating func takeRun<Sink: EventSink & ~Copyable>(
        to end: Int, _ input: Span<UInt8>, at: inout Int, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        let start = at
        switch leaf {
        case .string:
            if end - start >= Self.longRun {
                // What has gathered goes out first; the run is looked at again where the sink is full.
                if try flush(into: &sink) { return true }
                at = end
                guard !isMuted else { return false }
                try sink.string(input.extracting(start..<end), isLast: false)
                return sink.isFull
            }
            at = end
            held.append(contentsOf: input.extracting(start..<end))
            return held.count < Self.batch ? false : try flush(into: &sink)
        case .key: try hold(to: end, input, at: &at, limit: limits.key, "key", "a key")
        case .integer, .real: try hold(to: end, input, at: &at, limit: limits.number, "number", "a number")
        case .date:
            guard end - start <= Self.dateLimit - held.count else { throw failure(.invalidDate, from: elementOffset) }
            held.append(contentsOf: input.extracting(start..<end))
            at = end
        case .data: try takeBase64(input.extracting(start..<end), at: &at)
        default:
            // White space may stand between elements, and in <true> and </true>.
            let text = Scan.endOfWhitespace(in: input, from: start)
            guard text >= end else { throw failure(.unexpectedText, at: text) }
            at = end
        }
        return false
    }

    /// Holds the run, which with what is held must not pass `limit`.
    private mutating func hold(
        to end: Int, _ input: Span<UInt8>, at: inout Int, limit: Int, _ name: String, _ what: String
    ) throws(ConversionError) {
        let fitting = at + min(end - at, limit - held.count)
        if fitting < end { throw limitFailure(name, of: limit, what: what, offset: offset + fitting) }
        held.append(contentsOf: input.extracting(at..<end))
        at = end
    }

    /// Sends the text that has gathered. Returns whether to return from `feed`.
    private mutating func flush<Sink: EventSink & ~Copyable>(into sink: inout Sink) throws(ConversionError) -> Bool {
        guard !held.isEmpty else { return false }
        defer { held.removeAll() }
        guard !isMuted else { return false }
        try sink.string(held.span, isLast: false)
        return sink.isFull
    }

    /// Decodes base64 with white space anywhere in it; `text` begins at `at` of the slice.
    private mutating func takeBase64(_ text: Span<UInt8>, at: inout Int) throws(ConversionError) {
        // As an input's bytes, any number beyond this is none that can come.
        let greatest = (min(limits.tree, Int.max / 8) + 2) / 3 * 4
        var index = 0
        while index < text.count {
            if text[index].isXMLSpace {
                index += 1
                continue
            }
            var end = index
            while end < text.count, !text[end].isXMLSpace { end += 1 }
            let taken = min(end, index + greatest - base64Count)
            if let fault = base64.decode(text.extracting(index..<taken), into: &bytes) {
                throw failure(.invalidData, at: at + index + fault)
            }
            guard taken == end else { throw dataTooLong }
            base64Count += end - index
            index = end
        }
        at += text.count
    }

    /// Takes a few bytes of text that don't stand in the slice as they are. Returns whether to return from `feed`.
    mutating func takeText<Sink: EventSink & ~Copyable>(
        _ text: Span<UInt8>, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        var limit = Int.max
        var name = ""
        var what = ""
        switch leaf {
        case .key: (limit, name, what) = (limits.key, "key", "a key")
        case .integer, .real: (limit, name, what) = (limits.number, "number", "a number")
        case .date: limit = Self.dateLimit
        case .data:
            var at = 0
            do throws(ConversionError) {
                try takeBase64(text, at: &at)
            } catch {
                var error = error
                if error.code == PropertyList.Fault.invalidData.code { error.offset = markupOffset }
                throw error
            }
            return false
        default: break
        }
        if held.count + text.count > limit {
            if name.isEmpty { throw failure(.invalidDate, from: elementOffset) }
            throw limitFailure(name, of: limit, what: what, offset: markupOffset)
        }
        held.append(contentsOf: text)
        return leaf == .string && held.count >= Self.batch ? try flush(into: &sink) : false
    }
}
