internal import Octets

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
    /// What happens to a repeated member of a JSON object: refused unless said otherwise. `array` is not for documents and
    /// keeps both, as `keep` does.
    public var duplicates = DuplicatePolicy.reject
    /// The order in which members are written.
    public var order = MemberOrder.input
    /// How a form is read.
    public var formDecoding = FieldDecodingOptions()
    /// How a form is written.
    public var formEncoding = FieldEncodingOptions()
    /// How a property list is written.
    public var propertyListFormat = PropertyList.Format.xml
    /// How the elements and attributes of XML become members.
    public var xmlDecoding = XML.DecodingOptions()
    /// How members become elements and attributes of XML.
    public var xmlEncoding = XML.EncodingOptions()
    /// `tree` bounds the memory, `depth` the nesting; see `Limits`.
    public var limits = Limits()

    /// The defaults.
    public init() {}
}

extension Value {
    /// Reads a whole document.
    ///
    /// Throws a `ConversionError` that says what is wrong and where: the format's own, or `limit_tree` beyond
    /// `options.limits.tree`, 1 MiB unless said otherwise.
    public init(
        decoding bytes: Span<UInt8>, as format: DocumentFormat = .json, options: DocumentOptions = DocumentOptions()
    ) throws(ConversionError) {
        var builder = ValueBuilder(limits: options.limits, duplicates: options.duplicates)
        switch format {
        case .json:
            var decoding = JSON.DecodingOptions()
            decoding.duplicates = options.duplicates
            var decoder = JSON.Decoder(options: decoding, limits: options.limits)
            _ = try decoder.feed(bytes, into: &builder)
            try decoder.finish(into: &builder)
        case .form:
            var decoder = Form.Decoder(options: options.formDecoding, limits: options.limits)
            var fields = FieldTreeBuilder(options: options.formDecoding, limits: options.limits)
            _ = try decoder.feed(bytes, into: &fields)
            try decoder.finish(into: &fields)
            try fields.settle()
            fields.settleRoot()
            try fields.emitTree(into: &builder)
        case .propertyList:
            var decoding = PropertyList.DecodingOptions()
            decoding.duplicates = options.duplicates
            var decoder = PropertyList.Decoder(options: decoding, limits: options.limits)
            _ = try decoder.feed(bytes, into: &builder)
            try decoder.finish(into: &builder)
        case .xml:
            var decoder = XML.Decoder(options: options.xmlDecoding, limits: options.limits)
            _ = try decoder.feed(bytes, into: &builder)
            try decoder.finish(into: &builder)
        }
        // A decoder that ended without an error has sent a whole value.
        self = builder.value ?? .null
    }

    /// The same for bytes in an array.
    public init(
        decoding bytes: [UInt8], as format: DocumentFormat = .json, options: DocumentOptions = DocumentOptions()
    ) throws(ConversionError) {
        try self.init(decoding: bytes.span, as: format, options: options)
    }

    /// The same for the UTF-8 of a text.
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
        switch format {
        case .json:
            var encoder = JSON.Encoder(options: JSON.EncodingOptions())
            try emit(into: &encoder, order: options.order, limits: options.limits)
            return encoder.output.span.copied()
        case .form:
            let text = try formText(options.formEncoding, limits: options.limits)
            return text.span.copied()
        case .propertyList:
            var encoding = PropertyList.EncodingOptions()
            encoding.format = options.propertyListFormat
            var encoder = PropertyList.Encoder(options: encoding, limits: options.limits)
            var spelling = ValueSpelling()
            spelling.order = options.order
            spelling.depth = options.limits.depth
            spelling.sets = .refused
            try emit(into: &encoder, as: spelling)
            try encoder.finish()
            return encoder.output.span.copied()
        case .xml:
            var encoder = XML.Encoder(options: options.xmlEncoding, limits: options.limits)
            try emit(into: &encoder, order: options.order, limits: options.limits)
            try encoder.finish()
            return encoder.output.span.copied()
        }
    }

    /// The value, which must be an object, as a form.
    internal func formText(
        _ options: FieldEncodingOptions, limits: Limits
    ) throws(ConversionError) -> OutputBuffer {
        let form = Form.Encoder(options: options)
        var flattener = Flattener(target: form, options: options.withoutSorting, limits: limits)
        try emit(into: &flattener, as: ValueSpelling(for: options, limits: limits))
        try flattener.target.finish()
        return flattener.target.output
    }

    internal static func base64(_ bytes: [UInt8]) -> String {
        var output = OutputBuffer()
        var encoder = Base64Encoder()
        encoder.encode(bytes.span, into: &output)
        encoder.finish(into: &output)
        return output.span.lossyString()
    }

    /// The bytes of a text in base64; nil where it is none.
    internal static func bytes(base64 text: String) -> [UInt8]? {
        var output = OutputBuffer()
        var decoder = Base64Decoder()
        guard decoder.decode(Array(text.utf8).span, into: &output) == nil, decoder.finish(into: &output) else {
            return nil
        }
        return output.span.copied()
    }
}

extension ValueSpelling {
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
    /// The same for a document that comes sorted already: nothing need be held until its end. Alamofire sorts what was
    /// written, which only the flattener can do.
    internal var withoutSorting: FieldEncodingOptions {
        var options = self
        if dialect != .alamofire { options.order = .input }
        return options
    }
}

extension FieldTreeBuilder {
    /// Sends what was built and settled.
    internal mutating func emitTree<Sink: EventSink & ~Copyable>(into sink: inout Sink) throws(ConversionError) {
        var walk = TreeWalk()
        walk.start(&tree, order: .input)
        _ = try walk.advance(&tree, into: &sink)
    }
}
