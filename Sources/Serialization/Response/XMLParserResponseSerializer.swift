public import HTTPTypes
internal import Transcoding

/// Gives an XML body with a parser that has not begun yet. The counterpart of `AFXMLParserResponseSerializer`.
///
/// The body isn't looked at here, so one that is no XML is noticed when it is parsed.
public struct XMLParserResponseSerializer: ResponseSerializer, Hashable, Codable {
    /// 200 to 299; `application/xml` and `text/xml`.
    public var validation = ResponseValidation(acceptableContentTypes: ["application/xml", "text/xml"])

    /// A serializer of `application/xml` and `text/xml`.
    public init() {}

    /// See `ResponseSerializer`.
    public func serialize(
        _ response: HTTPResponse, body: [UInt8]?, for request: HTTPRequest?
    ) -> ResponseResult<XMLResponseParser> {
        let (mayRead, error) = checked(response, body, request)
        return ResponseResult(value: mayRead ? body.map(XMLResponseParser.init) : nil, error: error)
    }

    /// The object among those of all serializers.
    public func responseObject(_ output: XMLResponseParser) -> ResponseObject { .xmlParser(output) }
}
