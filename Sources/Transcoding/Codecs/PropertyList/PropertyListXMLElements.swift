internal import Octets

extension PropertyList.XMLElements {
    /// Takes a start tag, or the begin of an empty element. Returns whether to return from `feed`.
    @inline(__always)
    mutating func beginElement<Sink: EventSink & ~Copyable>(
        _ element: Element, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        if leaf != nil { throw failure(.unexpectedElement, from: markupOffset) }
        switch element {
        case .plist:
            guard position == .prolog else {
                throw failure(position == .epilog ? .trailingData : .unexpectedElement, from: markupOffset)
            }
            position = .root
            return false
        case .key:
            guard position == .inside, path.isInObject else { throw misplaced }
            guard !path.hasName else { throw failure(.keyWithoutValue, from: elementOffset) }
        default:
            switch position {
            case .root: break
            case .inside where !path.isInObject || path.hasName: break
            case .inside: throw failure(.valueWithoutKey, from: markupOffset)
            case .prolog, .rootEnd, .epilog: throw misplaced
            }
        }
        if element.isContainer { return try openContainer(isObject: element == .dict, into: &sink) }
        leaf = element
        elementOffset = markupOffset
        buffered.removeAll()
        if element == .data {
            base64 = Base64Decoder()
            base64Count = 0
            bytes.removeAll()
        }
        return false
    }

    /// Takes an end tag, which is that of the open element, or the end of an empty one. Returns whether to return from `feed`.
    @inline(__always)
    mutating func endElement<Sink: EventSink & ~Copyable>(into sink: inout Sink) throws(ConversionError) -> Bool {
        if let leaf { return try endLeaf(leaf, into: &sink) }
        guard path.depth == 0 else {
            guard !path.hasName else { throw failure(.keyWithoutValue, from: elementOffset) }
            return try closeContainer(into: &sink)
        }
        guard position == .rootEnd else { throw failure(.noValue, from: markupOffset) }
        position = .epilog
        return false
    }

    private var misplaced: ConversionError {
        let fault: PropertyList.Fault =
            switch position {
            case .rootEnd: .secondValue
            case .epilog: .trailingData
            default: .unexpectedElement
            }
        return failure(fault, from: markupOffset)
    }

    private mutating func openContainer<Sink: EventSink & ~Copyable>(
        isObject: Bool, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        guard path.depth < limits.depth else {
            throw limitFailure("depth", of: limits.depth, what: "the nesting of the document", offset: markupOffset)
        }
        position = .inside
        return try path.open(isObject: isObject, into: &sink) && sink.isFull
    }

    private mutating func closeContainer<Sink: EventSink & ~Copyable>(
        into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        let isSent = try path.close(into: &sink)
        if path.depth == 0 { position = .rootEnd }
        return isSent && sink.isFull
    }

    /// Sends the value of the leaf that has ended.
    private mutating func endLeaf<Sink: EventSink & ~Copyable>(
        _ element: Element, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        leaf = nil
        // Taken out so that its span doesn't borrow the reader while it changes.
        var text = ByteStore()
        swap(&text, &buffered)
        defer { swap(&text, &buffered) }
        if element == .key { return try path.key(text.span, at: elementOffset, into: &sink) && sink.isFull }
        if !number.isEmpty { number.removeAll(keepingCapacity: true) }
        var isString = element == .string
        switch element {
        case .integer:
            if let fault = PropertyList.Number.appendInteger(text.span, to: &number) {
                throw failure(fault, from: elementOffset)
            }
        case .real:
            switch PropertyList.Number.appendReal(text.span, to: &number) {
            case .number: break
            case .fault(let fault): throw failure(fault, from: elementOffset)
            case .nonFinite:
                guard options.nonFiniteReals == .string else { throw failure(.nonFiniteReal, from: elementOffset) }
                isString = true
            }
        case .date:
            let date = text.span.trimmedOfXMLSpace()
            guard date.count == 20, date[19] == UInt8(ascii: "Z"), date[10] == UInt8(ascii: "T"), date.isRFC3339,
                date[17] < UInt8(ascii: "6")
            else { throw failure(.invalidDate, from: elementOffset) }
        case .data:
            guard base64.finish() else { throw failure(.invalidData, from: elementOffset) }
            guard bytes.count <= limits.tree else { throw dataTooLong }
        default: break
        }
        let isSent = path.endValue()
        if path.depth == 0 { position = .rootEnd }
        guard isSent else { return false }
        switch element {
        case _ where isString: try sink.string(text.span, isLast: true)
        case .integer, .real: try sink.number(number.span)
        case .date: try sink.date(text.span.trimmedOfXMLSpace())
        case .data: try sink.data(bytes.span)
        default: try sink.bool(element == .yes)
        }
        return sink.isFull
    }

    var dataTooLong: ConversionError {
        limitFailure("tree", of: limits.tree, what: "data that must be held in memory", offset: elementOffset)
    }
}

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
                guard !path.isMuted else { return false }
                try sink.string(input.extracting(start..<end), isLast: false)
                return sink.isFull
            }
            at = end
            buffered.append(contentsOf: input.extracting(start..<end))
            return buffered.count < Self.batch ? false : try flush(into: &sink)
        case .key: try buffer(to: end, input, at: &at, limit: limits.key, "key", "a key")
        case .integer, .real: try buffer(to: end, input, at: &at, limit: limits.number, "number", "a number")
        case .date:
            guard end - start <= Self.dateLimit - buffered.count else {
                throw failure(.invalidDate, from: elementOffset)
            }
            buffered.append(contentsOf: input.extracting(start..<end))
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

    /// Buffers the run, which with what is buffered must not pass `limit`.
    private mutating func buffer(
        to end: Int, _ input: Span<UInt8>, at: inout Int, limit: Int, _ name: String, _ what: String
    ) throws(ConversionError) {
        let fitting = at + min(end - at, limit - buffered.count)
        if fitting < end { throw limitFailure(name, of: limit, what: what, offset: offset + fitting) }
        buffered.append(contentsOf: input.extracting(at..<end))
        at = end
    }

    /// Sends the text that has gathered. Returns whether to return from `feed`.
    private mutating func flush<Sink: EventSink & ~Copyable>(into sink: inout Sink) throws(ConversionError) -> Bool {
        guard !buffered.isEmpty else { return false }
        defer { buffered.removeAll() }
        guard !path.isMuted else { return false }
        try sink.string(buffered.span, isLast: false)
        return sink.isFull
    }

    /// Sends the text of a string in front of a fault: where the sink refuses it, that is told, which stands before the fault, however
    /// they are cut. What the sink has refused already has left nothing here.
    mutating func sendBeforeFault<Sink: EventSink & ~Copyable>(into sink: inout Sink) throws(ConversionError) {
        if leaf == .string { _ = try flush(into: &sink) }
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
        if buffered.count + text.count > limit {
            if name.isEmpty { throw failure(.invalidDate, from: elementOffset) }
            throw limitFailure(name, of: limit, what: what, offset: markupOffset)
        }
        buffered.append(contentsOf: text)
        return leaf == .string && buffered.count >= Self.batch ? try flush(into: &sink) : false
    }
}
