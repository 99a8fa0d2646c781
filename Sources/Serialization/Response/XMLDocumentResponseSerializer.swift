public import HTTPTypes
public import Transcoding

/// Reads an XML body into a document. The counterpart of `AFXMLDocumentResponseSerializer`.
public struct XMLDocumentResponseSerializer: ResponseSerializer, Hashable {
    /// 200 to 299; `application/xml` and `text/xml`.
    public var validation = ResponseValidation(acceptableContentTypes: ["application/xml", "text/xml"])
    /// How elements and attributes become a document. See `XML.DecodingOptions`.
    public var options = XML.DecodingOptions()
    /// What bounds the document. See `Limits`; while `tree` isn't set, it is what `Limits.tree(forBody:)` says.
    public var limits = Limits()

    /// A serializer of `application/xml` and `text/xml`.
    public init() {}

    /// See `ResponseSerializer`.
    public func serialize(
        _ response: HTTPResponse, body: [UInt8]?, for request: HTTPRequest?
    ) -> ResponseResult<Value> {
        let (body, error) = readable(response, body, request)
        guard let body else { return ResponseResult(value: nil, error: error) }
        var parser = XMLResponseParser(body)
        parser.options = options
        parser.limits = limits
        do throws(ConversionError) {
            return ResponseResult(value: try parser.document(), error: error)
        } catch let fault {
            return unreadable(fault, "the body is not XML", beneath: error)
        }
    }

    /// The object among those of all serializers.
    public func responseObject(_ output: Value) -> ResponseObject { .document(output) }
}
