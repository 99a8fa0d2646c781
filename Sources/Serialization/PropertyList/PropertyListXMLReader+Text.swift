internal import Octets

extension PropertyList.XMLReader {
    /// Goes on in the text of a leaf. Returns whether to return from `feed`.
    mutating func readText<Sink: EventSink & ~Copyable>(
        _ input: Span<UInt8>, at: inout Int, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        while true {
            let run = textRun(in: input, from: at)
            if try takeRun(run, input, at: &at, into: &sink) { return true }
            guard at < input.count else { return true }
            guard validator.isComplete else { throw failure(.invalidUTF8, at: at) }
            noncharacterBytes = 0
            switch input[at] {
            case UInt8(ascii: "<"): return try beginMarkup(input, at: &at, into: &sink)
            case UInt8(ascii: "&"):
                guard leaf != .yes, leaf != .no else { throw failure(.unexpectedText, at: at) }
                markupOffset = offset + at
                at += 1
                state = .reference
                token.removeAll(keepingCapacity: true)
                return false
            default: throw failure(.invalidCharacter, at: at)
            }
        }
    }

    /// The text from `start` up to markup, a reference or a control that can't stand in it.
    private func textRun(in input: Span<UInt8>, from start: Int) -> TextRun {
        var run = Scan.markupTextRun(in: input, from: start)
        while run.end < input.count, input[run.end] == UInt8(ascii: ">") || input[run.end] == ASCII.carriageReturn {
            let next = Scan.markupTextRun(in: input, from: run.end + 1)
            run = TextRun(end: next.end, isASCII: run.isASCII && next.isASCII)
        }
        return run
    }

    /// Takes the text from `at` to `run.end` into the leaf. Returns whether to return from `feed`.
    mutating func takeRun<Sink: EventSink & ~Copyable>(
        _ run: TextRun, _ input: Span<UInt8>, at: inout Int, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        let start = at
        guard run.end > start else { return false }
        switch leaf {
        case .string:
            if run.end - start >= Self.longRun {
                // What has gathered goes out first; the run is looked at again where the sink is full.
                if try flush(into: &sink) { return true }
                try checkCharacters(run, in: input, from: start)
                at = run.end
                guard !isMuted else { return false }
                try sink.string(input.extracting(start..<run.end), isLast: false)
                return sink.isFull
            }
            try checkCharacters(run, in: input, from: start)
            at = run.end
            held.append(contentsOf: input.extracting(start..<run.end))
            return held.count < Self.batch ? false : try flush(into: &sink)
        case .key: try hold(run, input, at: &at, limit: limits.key, "key", "a key")
        case .integer, .real: try hold(run, input, at: &at, limit: limits.number, "number", "a number")
        case .date:
            let room = Self.dateLimit - held.count
            try checkCharacters(TextRun(end: min(run.end, start + room), isASCII: run.isASCII), in: input, from: start)
            guard run.end - start <= room else { throw failure(.invalidDate, from: elementOffset) }
            held.append(contentsOf: input.extracting(start..<run.end))
            at = run.end
        case .data: try takeBase64(input.extracting(start..<run.end), at: &at)
        default:
            // White space may stand in <true> and </true>.
            let end = Scan.endOfWhitespace(in: input, from: start)
            guard end >= run.end else { throw failure(.unexpectedText, at: end) }
            at = run.end
        }
        return false
    }

    /// Holds the run, which with what is held must not pass `limit`.
    private mutating func hold(
        _ run: TextRun, _ input: Span<UInt8>, at: inout Int, limit: Int, _ name: String, _ what: String
    ) throws(ConversionError) {
        let room = limit - held.count
        let end = at + min(run.end - at, room)
        try checkCharacters(TextRun(end: end, isASCII: run.isASCII), in: input, from: at)
        if end < run.end { throw limitFailure(name, of: limit, what: what, offset: offset + end) }
        held.append(contentsOf: input.extracting(at..<end))
        at = end
    }

    /// Sends the text that has gathered. Returns whether to return from `feed`.
    private mutating func flush<Sink: EventSink & ~Copyable>(into sink: inout Sink) throws(ConversionError) -> Bool {
        guard !held.isEmpty else { return false }
        defer { held.removeAll(keepingCapacity: true) }
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

    /// Checks that the run is UTF-8 and has no U+FFFE and U+FFFF; controls have ended it.
    private mutating func checkCharacters(
        _ run: TextRun, in input: Span<UInt8>, from start: Int
    ) throws(ConversionError) {
        if run.isASCII && validator.isComplete {
            noncharacterBytes = 0
            return
        }
        var end = run.end
        var seen = noncharacterBytes
        var at = start
        while at < run.end {
            let byte = input[at]
            if seen == 2, byte >= 0xBE, byte <= 0xBF {
                end = at
                break
            }
            seen = byte == 0xEF ? 1 : seen == 1 && byte == 0xBF ? 2 : 0
            at += 1
        }
        if let index = validator.check(input.extracting(start..<end)) { throw failure(.invalidUTF8, at: start + index) }
        if end < run.end { throw failure(.invalidCharacter, at: end) }
        noncharacterBytes = seen
    }

    /// Goes on between `<![CDATA[` and `]]>`. Returns whether to return from `feed`.
    mutating func readCharacters<Sink: EventSink & ~Copyable>(
        _ input: Span<UInt8>, at: inout Int, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        while at < input.count {
            let byte = input[at]
            if matched > 0 {
                if byte == UInt8(ascii: "]"), matched < 2 {
                    matched += 1
                    at += 1
                    continue
                }
                if byte == UInt8(ascii: ">"), matched == 2 {
                    at += 1
                    matched = 0
                    state = .content
                    return false
                }
                // They were text; a third one may still begin the end.
                let count = byte == UInt8(ascii: "]") ? 1 : matched
                let isThird = byte == UInt8(ascii: "]")
                matched -= count
                let stops = try takeText(Self.brackets.span.extracting(first: count), into: &sink)
                if isThird {
                    matched += 1
                    at += 1
                }
                if stops { return true }
                continue
            }
            if byte == UInt8(ascii: "]") {
                guard validator.isComplete else { throw failure(.invalidUTF8, at: at) }
                matched = 1
                at += 1
                continue
            }
            if byte < 0x20, !byte.isXMLSpace { throw failure(.invalidCharacter, at: at) }
            var end = at + 1
            var bits = byte
            while end < input.count, input[end] != UInt8(ascii: "]"), input[end] >= 0x20 || input[end].isXMLSpace {
                bits |= input[end]
                end += 1
            }
            if try takeRun(TextRun(end: end, isASCII: bits < 0x80), input, at: &at, into: &sink) { return true }
        }
        return false
    }

    private static let brackets = Array("]]".utf8)

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
