internal import Octets

/// A whole body that is a form or multipart/form-data, read for its fields by whoever converts nothing.
package enum FieldBody {
    /// Sends the fields and files of `body`. Returns whether its Content-Type says that it is one; of another nothing is read.
    ///
    /// - Parameters:
    ///   - options: a charset that the Content-Type names is heeded where it is one of them.
    ///   - passesCharsets: whether the content of a part that declares another charset comes as it is.
    package static func read<Sink: FieldSink & ~Copyable>(
        _ body: Span<UInt8>, contentType: Span<UInt8>, options: FieldDecodingOptions, limits: Limits,
        passesCharsets: Bool, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        if ContentType.isType(contentType, "application/x-www-form-urlencoded") {
            var decoder = Form.Decoder(options: options, limits: limits)
            if let charset = Charset.named(in: contentType), options.charsets.contains(charset) || charset.isUTF8 {
                decoder.declare(contentType)
            }
            _ = try decoder.feed(body, into: &sink)
            try decoder.finish(into: &sink)
            return true
        }
        guard ContentType.isType(contentType, "multipart/form-data") else { return false }
        var declared: Charset?
        let boundary = try Multipart.Boundary(
            contentType: contentType, mediaType: "multipart/form-data", limits: limits, charsets: options.charsets,
            declared: &declared)
        var decoder = Multipart.Decoder(boundary: boundary, options: options, limits: limits)
        decoder.setCharsets(declared: declared, hinted: nil)
        decoder.passesCharsets = passesCharsets
        _ = try decoder.feed(body, into: &sink)
        try decoder.finish(into: &sink)
        return true
    }
}
