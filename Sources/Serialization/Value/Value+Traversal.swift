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
    /// Whether a number that is not finite goes out as its word, which people alone read.
    internal var takesAnyNumber = false
    /// Whether a `Float` has the digits of the `Double` of the same value: a reader who takes the number for a `Double`, as those of
    /// property lists do, finds a `Float` in no other.
    internal var widensFloats = false
    /// Whether an object with two members of one name is refused, as it is by those who read it.
    internal var refusesRepeated = false
    /// Open arrays and objects.
    internal var depth = Limits().depth
}

/// An array, an object or a set that something goes through: what is in it, and how much of that has been taken.
///
/// Those that are open stand in an array, and not on the stack, however deep a value is nested.
internal struct OpenedValue {
    internal enum Content {
        case elements([Value])
        case members(Value.Object)
        /// The elements of a set, each of which goes out under the set's own name.
        case repeated(String, [Value])
    }

    /// What comes behind the content; a set whose elements stand in the place of it has no end of its own.
    internal enum End { case array, object, nothing }

    internal let content: Content
    internal let end: End
    internal private(set) var taken = 0

    internal init(_ content: Content, end: End) {
        self.content = content
        self.end = end
    }

    internal init(_ elements: [Value]) { self.init(.elements(elements), end: .array) }
    internal init(_ members: Value.Object) { self.init(.members(members), end: .object) }

    /// A set within an array or, under a name, within an object.
    internal init(spreading elements: Set<Value>, under name: String?) {
        let sorted = Value.sorted(elements)
        self.init(name.map { .repeated($0, sorted) } ?? .elements(sorted), end: .nothing)
    }

    /// A set that is the root: fields under the name that it has not.
    internal init(rootOf elements: Set<Value>) { self.init(.repeated("", Value.sorted(elements)), end: .object) }

    /// Takes the next value, with the name that it goes out under.
    internal mutating func next() -> (name: String?, value: Value)? {
        let place = taken
        switch content {
        case .elements(let elements):
            guard place < elements.count else { return nil }
            taken = place + 1
            return (nil, elements[place])
        case .members(let members):
            guard place < members.count else { return nil }
            taken = place + 1
            let member = members[place]
            return (member.key, member.value)
        case .repeated(let name, let elements):
            guard place < elements.count else { return nil }
            taken = place + 1
            return (name, elements[place])
        }
    }

    /// Takes the next value of the innermost that has one, and closes those that have none.
    internal static func next(of open: inout [OpenedValue]) -> (name: String?, value: Value)? {
        while let last = open.indices.last {
            if let next = open[last].next() { return next }
            open.removeLast()
        }
        return nil
    }

    /// Where the value that was taken last stands: its name, or else its index.
    internal var step: String {
        switch content {
        case .elements: String(taken - 1)
        case .members(let members): members[taken - 1].key
        case .repeated(let name, _): name
        }
    }
}

// MARK: Events

extension Value {
    /// Sends the value to a codec or a tree, as the events of one document. A set is sent as an array, sorted by the text of
    /// its elements.
    ///
    /// Throws `value_number` for a number that is not finite, `limit_depth` for more than `limits.depth` nested arrays and
    /// objects, and what the sink throws. The error's `field` is the JSON Pointer to the value at fault where the sink names none.
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
        guard let root = try send(to: &sink, as: spelling, within: []) else { return }
        var open = [root]
        while let last = open.indices.last {
            guard let (name, value) = open[last].next() else {
                switch open.removeLast().end {
                case .array: try sink.endArray()
                case .object: try sink.endObject()
                case .nothing: break
                }
                continue
            }
            if case .set(let elements) = value, spelling.sets == .spread {
                try Self.checkDepth(spelling, open)
                open.append(OpenedValue(spreading: elements, under: name))
                continue
            }
            if let name { try sink.key(Array(name.utf8).span) }
            if let opened = try value.send(to: &sink, as: spelling, within: open) { open.append(opened) }
        }
    }

    /// Sends a scalar, or the beginning of a container, which is returned. A sink names the fields of its own errors, and `open` those
    /// that are found here.
    private func send<Sink: EventSink & ~Copyable>(
        to sink: inout Sink, as spelling: ValueSpelling, within open: [OpenedValue]
    ) throws(ConversionError) -> OpenedValue? {
        switch self {
        case .null: try sink.null()
        case .bool(let value): try sink.bool(value)
        case .number(let number):
            guard number.isFinite || spelling.takesAnyNumber else { throw ValueFault.number.error(within: open) }
            try sink.number(Array(number.text.utf8).span)
        case .string(let text): try sink.string(Array(text.utf8).span, isLast: true)
        case .data(let bytes):
            guard spelling.sendsDataAsFiles else {
                try sink.data(bytes.span)
                return nil
            }
            var head = PartHead()
            head.isFile = true
            try sink.beginFile(head)
            try sink.fileContent(bytes.span, isLast: true)
        case .date(let date): try Self.send(date, to: &sink, as: spelling.dates)
        case .array(let elements):
            try Self.checkDepth(spelling, open)
            try sink.beginArray()
            return OpenedValue(elements)
        case .set(let elements):
            guard spelling.sets != .refused else { throw ValueFault.set.error(within: open) }
            try Self.checkDepth(spelling, open)
            if spelling.sets == .spread {
                // Only the root comes here.
                try sink.beginObject()
                return OpenedValue(rootOf: elements)
            }
            try sink.beginArray()
            return OpenedValue(Self.sorted(elements))
        case .object(let members):
            try Self.checkDepth(spelling, open)
            if spelling.refusesRepeated, members.repeatedName != nil {
                throw ValueFault.repeated.error(within: open)
            }
            try sink.beginObject()
            return OpenedValue(spelling.order == .sorted ? Object(members.sorted()) : members)
        }
        return nil
    }

    private static func send<Sink: EventSink & ~Copyable>(
        _ date: Timestamp, to sink: inout Sink, as style: ValueSpelling.Dates
    ) throws(ConversionError) {
        switch style {
        case .events: try sink.date(Array(date.description.utf8).span)
        case .afnetworking: try sink.string(Array(date.afnetworkingText.utf8).span, isLast: true)
        case .secondsSince2001:
            try sink.number(Array(Number(date.secondsSince2001).text.utf8).span)
        }
    }

    private static func checkDepth(_ spelling: ValueSpelling, _ open: [OpenedValue]) throws(ConversionError) {
        guard open.count < spelling.depth else {
            throw ConversionError.limit("depth", of: spelling.depth, what: "the nesting of the value").within(open)
        }
    }

    /// The elements of a set by their text: 10 comes before 9.
    internal static func sorted(_ elements: Set<Value>) -> [Value] {
        elements.map { (text: $0.string ?? $0.description, value: $0) }
            .sorted { $0.text.utf8.lexicographicallyPrecedes($1.text.utf8) }
            .map(\.value)
    }
}

// MARK: Comparing

extension Value {
    /// Whether both have the same case and content, see `Value`.
    public static func == (left: Value, right: Value) -> Bool {
        var (left, right) = (left, right)
        var open: (left: [OpenedValue], right: [OpenedValue]) = ([], [])
        while true {
            switch (left, right) {
            case (.null, .null): break
            case (.bool(let one), .bool(let other)): guard one == other else { return false }
            case (.number(let one), .number(let other)): guard one == other else { return false }
            case (.string(let one), .string(let other)): guard one == other else { return false }
            case (.data(let one), .data(let other)): guard one == other else { return false }
            case (.date(let one), .date(let other)): guard one == other else { return false }
            case (.set(let one), .set(let other)): guard one == other else { return false }
            case (.array(let one), .array(let other)):
                guard one.count == other.count else { return false }
                open.left.append(OpenedValue(one))
                open.right.append(OpenedValue(other))
            case (.object(let one), .object(let other)):
                guard one.count == other.count else { return false }
                open.left.append(OpenedValue(one))
                open.right.append(OpenedValue(other))
            default: return false
            }
            // Both have as many values, so they end together.
            guard let one = OpenedValue.next(of: &open.left), let other = OpenedValue.next(of: &open.right) else {
                return true
            }
            guard one.name == other.name else { return false }
            (left, right) = (one.value, other.value)
        }
    }

    /// Feeds the case and the content to the hasher.
    public func hash(into hasher: inout Hasher) {
        var value = self
        var open: [OpenedValue] = []
        func combine(_ number: Int, _ content: some Hashable) {
            hasher.combine(number)
            hasher.combine(content)
        }
        while true {
            switch value {
            case .null: hasher.combine(0)
            case .bool(let value): combine(1, value)
            case .number(let number): combine(2, number)
            case .string(let text): combine(3, text)
            case .data(let bytes): combine(4, bytes)
            case .date(let date): combine(5, date)
            case .set(let elements): combine(6, elements)
            case .array(let elements):
                combine(7, elements.count)
                open.append(OpenedValue(elements))
            case .object(let members):
                combine(8, members.count)
                open.append(OpenedValue(members))
            }
            guard let next = OpenedValue.next(of: &open) else { return }
            if let name = next.name { hasher.combine(name) }
            value = next.value
        }
    }
}

// MARK: Describing and changing

extension Value: CustomStringConvertible {
    /// The value as a compact JSON text, for people: sets are arrays here, sorted by the text of their elements, and a number that
    /// isn't finite is its word.
    public var description: String {
        var encoder = JSON.Encoder(options: JSON.EncodingOptions())
        encoder.output.highWatermark = .max
        var spelling = ValueSpelling()
        spelling.takesAnyNumber = true
        spelling.depth = .max
        // Nothing that is left can be refused.
        try? emit(into: &encoder, as: spelling)
        return encoder.output.span.lossyString()
    }
}

extension Value {
    /// A container without its nulls, which is being made.
    private struct Kept {
        var source: OpenedValue
        /// The name that it will have itself.
        let name: String?
        private let isObject: Bool
        private var elements: [Value] = []
        private var members: [Object.Member] = []

        /// Nil for what is no container.
        init?(of value: Value, name: String?) {
            switch value {
            case .array(let elements): (source, isObject) = (OpenedValue(elements), false)
            case .object(let members): (source, isObject) = (OpenedValue(members), true)
            default: return nil
            }
            self.name = name
        }

        mutating func add(_ value: Value, name: String?) {
            if isObject { members.append(Object.Member(key: name ?? "", value: value)) } else { elements.append(value) }
        }

        var value: Value { isObject ? .object(Object(members)) : .array(elements) }
    }

    /// The value without its nulls, by the rule of `removal`. Containers that lose all stay, empty; a null that is the whole
    /// value stays too.
    public func removingNulls(_ removal: NullRemoval = .deep) -> Value {
        guard removal != .off else { return self }
        guard let root = Kept(of: self, name: nil) else { return withoutNullElements(removal) }
        var open = [root]
        while true {
            let last = open.count - 1
            guard let (name, value) = open[last].source.next() else {
                let made = open.removeLast()
                guard last > 0 else { return made.value }
                open[last - 1].add(made.value, name: made.name)
                continue
            }
            if value.isNull, name != nil || removal == .deep { continue }
            if let container = Kept(of: value, name: name) {
                open.append(container)
            } else {
                open[last].add(value.withoutNullElements(removal), name: name)
            }
        }
    }

    /// A set without null, where that is to go; anything else as it is.
    private func withoutNullElements(_ removal: NullRemoval) -> Value {
        guard case .set(let elements) = self, removal == .deep else { return self }
        return .set(elements.filter { !$0.isNull })
    }
}

// MARK: Faults

/// What a `Value` can hold and a format can't carry.
internal enum ValueFault {
    case number, set, text, repeated

    internal func error() -> ConversionError {
        switch self {
        case .number: Self.error("value_number", "a number that is not finite can't be written")
        case .set: Self.error("value_set", "a set has no form here; make it an array")
        case .repeated:
            Self.error(
                "value_duplicate",
                "an object has two members of one name; make them one, or say duplicates: keep in DocumentOptions"
            )
        case .text: Self.error("value_number", "a number's text is none of JSON's")
        }
    }

    /// The error of the value that was taken last of those that are open.
    fileprivate func error(within open: [OpenedValue]) -> ConversionError { error().within(open) }

    private static func error(_ code: String, _ reason: String) -> ConversionError {
        ConversionError(.unrepresentable, code: code, reason: reason)
    }
}

extension ConversionError {
    /// The error with the JSON Pointer (RFC 6901 §3) of `path`, names and indices from the outside in, in front of the one that it
    /// has. The root's is none.
    internal func below(_ path: some Sequence<String>) -> ConversionError {
        var pointer: [UInt8] = []
        for step in path { JSONPointer.append(Array(step.utf8).span, to: &pointer) }
        return pointer.isEmpty ? self : at(pointer: String(decoding: pointer, as: UTF8.self) + (field ?? ""))
    }

    /// The error of the value that was taken last of those that are open. Where a set's elements stand in its place, the name that they
    /// have is said once.
    fileprivate func within(_ open: [OpenedValue]) -> ConversionError {
        var path: [String] = []
        for (index, value) in open.enumerated() {
            if index + 1 < open.count, case .repeated = open[index + 1].content { continue }
            path.append(value.step)
        }
        return below(path)
    }
}
