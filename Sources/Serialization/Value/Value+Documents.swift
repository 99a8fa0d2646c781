internal import Octets
public import Transcoding

/// A document format that a `Value` is read from and written to.
public enum DocumentFormat: String, Hashable, Sendable, CaseIterable {
    /// RFC 8259.
    case json
    /// application/x-www-form-urlencoded, its names read and written as paths: `a[b]=1`.
    case form
    /// Apple's property list, XML or binary; both are read.
    case propertyList
    /// XML, by the conventions of `XML.DecodingOptions` and `XML.EncodingOptions`: attributes are members `@name`, text
    /// beside them is the member `#text`.
    case xml
}

/// How `Value` reads and writes documents.
public struct DocumentOptions: Hashable, Sendable {
    /// What happens to a repeated member of an object of JSON or a property list: refused unless said otherwise, when it is read and when
    /// it is written. Under anything else both are written. `array` is not for documents and keeps both, as `keep` does.
    public var duplicates = DuplicatePolicy.reject
    /// The order in which members are written.
    public var order = MemberOrder.input
    /// How a JSON text is laid out: on one line, with its slashes as they are, unless said otherwise. As with Foundation's `JSONEncoder`,
    /// slashes are escaped by options without `withoutEscapingSlashes`. `sortedKeys` sorts as `order` does, and either will do.
    public var jsonWriting: JSON.WritingOptions = .withoutEscapingSlashes
    /// How a form is read.
    public var formDecoding = FieldDecodingOptions()
    /// How a form is written.
    public var formEncoding = FieldEncodingOptions()
    /// How a property list is read; `duplicates` above holds in the place of its own.
    public var propertyListDecoding = PropertyList.DecodingOptions()
    /// How a property list is written: as XML unless said otherwise.
    public var propertyListEncoding = PropertyList.EncodingOptions()
    /// How the elements and attributes of XML become members.
    public var xmlDecoding = XML.DecodingOptions()
    /// How members become elements and attributes of XML.
    public var xmlEncoding = XML.EncodingOptions()
    /// `tree` bounds the memory, `depth` the nesting; see `Limits`. A document that is read lies in memory already, so while `tree`
    /// isn't set, it is what `Limits.tree(forBody:)` says, and while `field` isn't, no value is too long. What is written does, too: while
    /// `tree` isn't set, it has no bound.
    ///
    /// The others hold for what is read. What is written is bounded by `depth`, and a form's names by `key` and `keyDepth`: so a form
    /// of more than 1000 fields (`fields`), in other formats a name of more than 1 KiB (`key`), and a number of more (`number`) are
    /// written, and refused when they are read with the same options. A program that reads its own documents raises them, and for long
    /// names of XML `xmlDecoding.nameLimit`, too.
    public var limits = Limits()

    /// The defaults.
    public init() {}

    /// The options for reading a document of `count` bytes.
    internal func reading(_ count: Int) -> DocumentOptions {
        var options = self
        options.limits = limits.forBody(of: count)
        return options
    }

    /// The order of members in that format.
    fileprivate func order(in format: DocumentFormat) -> MemberOrder {
        format == .json && jsonWriting.contains(.sortedKeys) ? .sorted : order
    }

    internal var jsonDecoding: JSON.DecodingOptions {
        var decoding = JSON.DecodingOptions()
        decoding.duplicates = duplicates
        return decoding
    }

    /// How a property list is read, with the policy of repeated members that all formats have.
    internal var propertyListReading: PropertyList.DecodingOptions {
        var decoding = propertyListDecoding
        decoding.duplicates = duplicates
        return decoding
    }
}

extension Value {
    /// Reads a whole document.
    ///
    /// Throws a `ConversionError` that says what is wrong and where: the format's own, or one of `options.limits`, as `limit_tree`
    /// beyond `tree`; while that isn't set, it grows with the document, see `Limits.tree(forBody:)`.
    public init(
        decoding bytes: Span<UInt8>, as format: DocumentFormat = .json, options: DocumentOptions = DocumentOptions()
    ) throws(ConversionError) {
        let options = options.reading(bytes.count)
        var tree = Tree(limits: options.limits, duplicates: options.duplicates)
        try tree.read(bytes, as: format, options: options)
        self = tree.value(of: tree.root, setsAreCollected: false)
    }

    /// As above, for bytes in an array.
    public init(
        decoding bytes: [UInt8], as format: DocumentFormat = .json, options: DocumentOptions = DocumentOptions()
    ) throws(ConversionError) {
        try self.init(decoding: bytes.span, as: format, options: options)
    }

    /// As above, for the UTF-8 of a text.
    public init(
        decoding text: String, as format: DocumentFormat = .json, options: DocumentOptions = DocumentOptions()
    ) throws(ConversionError) {
        try self.init(decoding: Array(text.utf8).span, as: format, options: options)
    }

    /// The value as a document.
    ///
    /// Throws a `ConversionError` that names the place where the format can't carry the value.
    public func encoded(
        as format: DocumentFormat = .json, options: DocumentOptions = DocumentOptions()
    ) throws(ConversionError) -> [UInt8] {
        var source = SpelledValue(self, as: ValueSpelling(for: format, options))
        return try source.document(as: format, options: options)
    }

    internal static func base64(_ bytes: [UInt8]) -> String {
        Base64Encoder.text(of: bytes.span).span.lossyString()
    }

    /// The bytes of a text in base64; nil where it is none.
    internal static func bytes(base64 text: String) -> [UInt8]? { Base64Decoder.bytes(of: Array(text.utf8).span) }
}

/// What a document is written from: a value with its spelling, or the tree that a type has encoded itself into, which has it already.
///
/// Each encoder has a function of its own: a tree's are specialized where the encoders are.
internal protocol DocumentSource: ~Copyable {
    /// Sends the document's events, its members in that order.
    mutating func emit(into encoder: inout JSON.Encoder, order: MemberOrder) throws(ConversionError)
    /// As above, to a form.
    mutating func emit(into form: inout Flattener<Form.Encoder>, order: MemberOrder) throws(ConversionError)
    /// As above, to a property list.
    mutating func emit(into encoder: inout PropertyList.Encoder, order: MemberOrder) throws(ConversionError)
    /// As above, to XML.
    mutating func emit(into encoder: inout XML.Encoder, order: MemberOrder) throws(ConversionError)
}

extension Tree: DocumentSource {}

/// A value that is written with a spelling, whose order is the one that is asked for.
internal struct SpelledValue: DocumentSource {
    private let value: Value
    private let spelling: ValueSpelling

    internal init(_ value: Value, as spelling: ValueSpelling) {
        self.value = value
        self.spelling = spelling
    }

    internal func emit<Sink: EventSink & ~Copyable>(
        into sink: inout Sink, order: MemberOrder
    ) throws(ConversionError) {
        try value.emit(into: &sink, as: spelling)
    }
}

extension DocumentSource where Self: ~Copyable {
    /// The document's bytes.
    internal mutating func document(
        as format: DocumentFormat, options: DocumentOptions
    ) throws(ConversionError) -> [UInt8] {
        let limits = options.limits.forDocument
        switch format {
        case .json:
            var encoder = JSON.Encoder(options: JSON.EncodingOptions())
            encoder.output.highWatermark = .max
            try emit(into: &encoder, order: options.order(in: .json))
            let writing = options.jsonWriting
            guard writing.subtracting(.sortedKeys) != .withoutEscapingSlashes else {
                return encoder.output.span.copied()
            }
            return writing.applied(to: encoder.output.span).span.copied()
        case .form:
            let text = try form(options.formEncoding, limits: limits)
            return text.span.copied()
        case .propertyList:
            var encoder = PropertyList.Encoder(options: options.propertyListEncoding, limits: limits)
            encoder.output.highWatermark = .max
            try emit(into: &encoder, order: options.order)
            try encoder.finish()
            return encoder.output.span.copied()
        case .xml:
            var encoder = XML.Encoder(options: options.xmlEncoding, limits: limits)
            encoder.output.highWatermark = .max
            try emit(into: &encoder, order: options.order)
            try encoder.finish()
            return encoder.output.span.copied()
        }
    }

    /// The document, which must be an object, as a form.
    internal mutating func form(
        _ options: FieldEncodingOptions, limits: Limits
    ) throws(ConversionError) -> OutputBuffer {
        var form = Form.Encoder(options: options)
        form.output.highWatermark = .max
        var flattener = Flattener(target: form, options: options.withoutSorting, limits: limits.forDocument)
        try emit(into: &flattener, order: options.order)
        try flattener.target.finish()
        return flattener.target.output
    }
}

extension Tree {
    /// Makes the tree, which is empty, that of a whole document.
    internal mutating func read(
        _ bytes: Span<UInt8>, as format: DocumentFormat, options: DocumentOptions
    ) throws(ConversionError) {
        switch format {
        case .json: try read(json: bytes, options: options.jsonDecoding, limits: options.limits)
        case .form: try read(form: bytes, options: options.formDecoding, limits: options.limits)
        case .propertyList:
            try read(propertyList: bytes, options: options.propertyListReading, limits: options.limits)
        case .xml: try read(xml: bytes, options: options.xmlDecoding, limits: options.limits)
        }
    }

    /// The value that a node and what stands below it are.
    ///
    /// - Parameter setsAreCollected: whether an array of the kind `collected` is a set.
    internal func value(of node: Node, setsAreCollected: Bool) -> Value {
        guard node != Tree.none else { return .null }
        if let scalar = scalar(node) { return scalar }
        // Those that are open stand here, and not on the stack, however deep the document is nested.
        var open = [FilledValue(of: node, in: self)]
        while true {
            let last = open.count - 1
            let child = open[last].next
            guard child != Tree.none else {
                let made = open.removeLast().value(in: self, setsAreCollected: setsAreCollected)
                guard last > 0 else { return made }
                open[last - 1].add(made, in: self)
                continue
            }
            if let scalar = scalar(child) {
                open[last].add(scalar, in: self)
            } else {
                open.append(FilledValue(of: child, in: self))
            }
        }
    }

    /// The value of a node that is no container.
    private func scalar(_ node: Node) -> Value? {
        switch kind(node) {
        case .null: .null
        case .yes: .bool(true)
        case .no: .bool(false)
        case .number: .number(Value.Number(unchecked: text(node).lossyString()))
        case .string: .string(text(node).lossyString())
        case .data: .data(text(node).copied())
        // A decoder emits what RFC 3339 says; another text stays one.
        case .date: Timestamp(text(node)).map { .date($0) } ?? .string(text(node).lossyString())
        case .array, .collected, .object, .keyed: nil
        }
    }
}

/// A container of a tree that a value is made of, and what has been made of its children.
private struct FilledValue {
    private let node: Tree.Node
    /// The child that is to be added next, or `none`.
    private(set) var next: Tree.Node
    private let hasNames: Bool
    private var elements: [Value] = []
    private var members: [Value.Object.Member] = []

    init(of node: Tree.Node, in tree: borrowing Tree) {
        self.node = node
        next = tree.firstChild(node)
        hasNames = tree.kind(node).hasNames
        if hasNames {
            members.reserveCapacity(tree.childCount(node))
        } else {
            elements.reserveCapacity(tree.childCount(node))
        }
    }

    mutating func add(_ value: Value, in tree: borrowing Tree) {
        if hasNames {
            members.append(Value.Object.Member(key: tree.name(next).lossyString(), value: value))
        } else {
            elements.append(value)
        }
        next = tree.nextSibling(next)
    }

    func value(in tree: borrowing Tree, setsAreCollected: Bool) -> Value {
        if hasNames { return .object(Value.Object(members)) }
        return setsAreCollected && tree.kind(node) == .collected ? .set(Set(elements)) : .array(elements)
    }
}

extension ValueSpelling {
    /// What a format makes of sets and dates, and the order and depth that the options say.
    internal init(for format: DocumentFormat, _ options: DocumentOptions) {
        guard format != .form else {
            self.init(for: options.formEncoding, limits: options.limits)
            return
        }
        self.init()
        order = options.order(in: format)
        depth = options.limits.depth
        if format == .propertyList { (sets, widensFloats) = (.refused, true) }
        refusesRepeated = format != .xml && options.duplicates == .reject
    }

    /// What the dialect of a form or a multipart body makes of sets and dates.
    internal init(for options: FieldEncodingOptions, limits: Limits) {
        self.init()
        order = options.order
        depth = limits.depth
        switch options.dialect {
        case .afnetworking: (sets, dates) = (.spread, .afnetworking)
        case .alamofire: dates = .secondsSince2001
        default: break
        }
    }
}

extension FieldEncodingOptions {
    /// As above, for a document that comes sorted already: nothing need be held until its end. Alamofire sorts what was
    /// written, which only the flattener can do.
    internal var withoutSorting: FieldEncodingOptions {
        var options = self
        if dialect != .alamofire { options.order = .input }
        return options
    }
}
