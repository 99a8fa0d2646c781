internal import Octets
public import Transcoding

/// How the cases that not every format knows become events.
internal struct ValueSpelling {
    internal enum Sets {
        /// As an array.
        case array
        /// As its elements, one after the other, each under the name of the set; within an array, as further elements.
        case spread
        case refused
    }

    internal enum Dates {
        case events
        /// As `NSDate` prints them.
        case afnetworking
        /// As a number of seconds since 2001-01-01T00:00:00Z, which is how `Foundation.Date` encodes itself.
        case secondsSince2001
    }

    internal var order = MemberOrder.input
    internal var sets = Sets.array
    internal var dates = Dates.events
    /// Whether bytes go out as a file without a filename, so that they stay as they are.
    internal var sendsDataAsFiles = false
    /// Open arrays and objects.
    internal var depth = Limits().depth
}

extension Value {
    /// Sends the value to a codec or a tree, as the events of one document. A set is sent as an array, sorted by the text of
    /// its elements.
    ///
    /// Throws `value_number` for a number that is not finite, `limit_depth` for more than `limits.depth` nested arrays and
    /// objects, and what the sink throws.
    public func emit<Sink: EventSink & ~Copyable>(
        into sink: inout Sink, order: MemberOrder = .input, limits: Limits = Limits()
    ) throws(ConversionError) {
        var spelling = ValueSpelling()
        spelling.order = order
        spelling.depth = limits.depth
        try emit(into: &sink, as: spelling)
    }

    internal func emit<Sink: EventSink & ~Copyable>(
        into sink: inout Sink, as spelling: ValueSpelling
    ) throws(ConversionError) {
        try emit(into: &sink, as: spelling, level: 0)
    }

    private func emit<Sink: EventSink & ~Copyable>(
        into sink: inout Sink, as spelling: ValueSpelling, level: Int
    ) throws(ConversionError) {
        switch self {
        case .null: try sink.null()
        case .bool(let value): try sink.bool(value)
        case .number(let number):
            guard number.isFinite else { throw ValueFault.number.error() }
            try sink.number(Array(number.text.utf8).span)
        case .string(let text): try sink.string(Array(text.utf8).span, isLast: true)
        case .data(let bytes):
            guard spelling.sendsDataAsFiles else { return try sink.data(bytes.span) }
            var head = PartHead()
            head.isFile = true
            try sink.beginFile(head)
            try sink.fileContent(bytes.span, isLast: true)
        case .date(let date): try Self.emit(date, into: &sink, as: spelling.dates)
        case .array(let elements):
            try Self.check(level, spelling)
            try sink.beginArray()
            for element in elements { try element.emitElement(into: &sink, as: spelling, level: level + 1) }
            try sink.endArray()
        case .set(let elements):
            guard spelling.sets != .refused else { throw ValueFault.set.error() }
            try Self.check(level, spelling)
            if spelling.sets == .spread {
                // Only the root comes here: fields under the name that it has not.
                try sink.beginObject()
                try Self.emit(Object.Member(key: "", value: self), into: &sink, as: spelling, level: level)
                return try sink.endObject()
            }
            try sink.beginArray()
            for element in Self.sorted(elements) {
                try element.emitElement(into: &sink, as: spelling, level: level + 1)
            }
            try sink.endArray()
        case .object(let members):
            try Self.check(level, spelling)
            try sink.beginObject()
            if spelling.order == .sorted {
                for member in members.sorted() { try Self.emit(member, into: &sink, as: spelling, level: level + 1) }
            } else {
                for member in members { try Self.emit(member, into: &sink, as: spelling, level: level + 1) }
            }
            try sink.endObject()
        }
    }

    private static func emit<Sink: EventSink & ~Copyable>(
        _ member: Object.Member, into sink: inout Sink, as spelling: ValueSpelling, level: Int
    ) throws(ConversionError) {
        if case .set(let elements) = member.value, spelling.sets == .spread {
            try check(level, spelling)
            for element in sorted(elements) {
                let one = Object.Member(key: member.key, value: element)
                try emit(one, into: &sink, as: spelling, level: level + 1)
            }
            return
        }
        try sink.key(Array(member.key.utf8).span)
        try member.value.emit(into: &sink, as: spelling, level: level)
    }

    private func emitElement<Sink: EventSink & ~Copyable>(
        into sink: inout Sink, as spelling: ValueSpelling, level: Int
    ) throws(ConversionError) {
        guard case .set(let elements) = self, spelling.sets == .spread else {
            return try emit(into: &sink, as: spelling, level: level)
        }
        try Self.check(level, spelling)
        for element in Self.sorted(elements) { try element.emitElement(into: &sink, as: spelling, level: level + 1) }
    }

    private static func emit<Sink: EventSink & ~Copyable>(
        _ date: Timestamp, into sink: inout Sink, as style: ValueSpelling.Dates
    ) throws(ConversionError) {
        switch style {
        case .events: try sink.date(Array(date.description.utf8).span)
        case .afnetworking: try sink.string(Array(date.afnetworkingText.utf8).span, isLast: true)
        case .secondsSince2001:
            try sink.number(Array(Number(date.secondsSince2001).text.utf8).span)
        }
    }

    private static func check(_ level: Int, _ spelling: ValueSpelling) throws(ConversionError) {
        guard level < spelling.depth else {
            throw .limit("depth", of: spelling.depth, what: "the nesting of the value")
        }
    }

    /// The elements of a set by their text: 10 comes before 9.
    internal static func sorted(_ elements: Set<Value>) -> [Value] {
        elements.map { (text: $0.string ?? $0.description, value: $0) }
            .sorted { $0.text.utf8.lexicographicallyPrecedes($1.text.utf8) }
            .map(\.value)
    }
}

/// What a `Value` can hold and a format can't carry.
internal enum ValueFault {
    case number, set

    internal func error() -> ConversionError {
        switch self {
        case .number: Self.error("value_number", "a number that is not finite can't be written")
        case .set: Self.error("value_set", "a set has no form here; make it an array")
        }
    }

    private static func error(_ code: String, _ reason: String) -> ConversionError {
        ConversionError(.unrepresentable, code: code, reason: reason)
    }
}
