// Whole documents to a tree and back. Decoders are generic over what they feed and a walk over what it sends to, which the
// compiler specializes in their own module alone (docs/decisions/0017); so what programs do with trees is joined here.
extension Tree {
    /// Takes a whole JSON text; the tree was empty.
    package mutating func read(
        json bytes: Span<UInt8>, options: JSON.DecodingOptions, limits: Limits
    ) throws(ConversionError) {
        var decoder = JSON.Decoder(options: options, limits: limits)
        _ = try decoder.feed(bytes, into: &self)
        try decoder.finish(into: &self)
    }

    /// Takes a whole property list; the tree was empty.
    package mutating func read(
        propertyList bytes: Span<UInt8>, options: PropertyList.DecodingOptions, limits: Limits
    ) throws(ConversionError) {
        var decoder = PropertyList.Decoder(options: options, limits: limits)
        _ = try decoder.feed(bytes, into: &self)
        try decoder.finish(into: &self)
    }

    /// Takes a whole XML document; the tree was empty.
    package mutating func read(
        xml bytes: Span<UInt8>, options: XML.DecodingOptions, limits: Limits
    ) throws(ConversionError) {
        var decoder = XML.Decoder(options: options, limits: limits)
        _ = try decoder.feed(bytes, into: &self)
        try decoder.finish(into: &self)
    }

    /// Takes a whole form; the tree was empty.
    package mutating func read(
        form bytes: Span<UInt8>, options: FieldDecodingOptions, limits: Limits
    ) throws(ConversionError) {
        var fields = FieldTreeBuilder(options: options, limits: limits)
        try fields.read(form: bytes, options: options, limits: limits)
        swap(&self, &fields.tree)
    }

    /// Sends the document, its members in that order.
    package mutating func emit(into encoder: inout JSON.Encoder, order: MemberOrder) throws(ConversionError) {
        try send(to: &encoder, order)
    }

    /// As above, to a form.
    package mutating func emit(
        into flattener: inout Flattener<Form.Encoder>, order: MemberOrder
    ) throws(ConversionError) {
        try send(to: &flattener, order)
    }

    /// As above, to a property list.
    package mutating func emit(into encoder: inout PropertyList.Encoder, order: MemberOrder) throws(ConversionError) {
        try send(to: &encoder, order)
    }

    /// As above, to XML.
    package mutating func emit(into encoder: inout XML.Encoder, order: MemberOrder) throws(ConversionError) {
        try send(to: &encoder, order)
    }

    @inline(__always)
    private mutating func send<Sink: EventSink & ~Copyable>(
        to sink: inout Sink, _ order: MemberOrder
    ) throws(ConversionError) {
        var walk = TreeWalk()
        walk.start(&self, order: order)
        while try !walk.advance(&self, into: &sink) {}
    }
}

extension FieldTreeBuilder {
    /// Takes the fields of a whole form and settles their tree.
    package mutating func read(
        form bytes: Span<UInt8>, options: FieldDecodingOptions, limits: Limits
    ) throws(ConversionError) {
        var decoder = Form.Decoder(options: options, limits: limits)
        _ = try decoder.feed(bytes, wholeInto: &self)
        try decoder.finish(wholeInto: &self)
        try settle()
        settleRoot()
    }
}
