public import HTTPTypes
internal import Octets
public import Transcoding

/// Sends parameters as `a=1&b=2`: in the query for GET, HEAD and DELETE, as an application/x-www-form-urlencoded body for
/// all other methods. The counterpart of `AFHTTPRequestSerializer`.
///
/// A request without parameters gets an empty body and the Content-Type all the same, except under the dialect `alamofire`,
/// which leaves it alone.
public struct HTTPRequestSerializer: RequestSerializer, DocumentRequestSerializer {
    /// Header fields, methods and the form encoding.
    public var settings: RequestSettings

    /// A serializer with the rules of `dialect`: AFNetworking's unless said otherwise.
    public init(dialect: Dialect = .afnetworking) {
        settings = RequestSettings(dialect: dialect)
    }

    /// See `RequestSerializer`.
    public func serialize(
        _ request: HTTPRequest, parameters: Value?
    ) throws(SerializationError) -> SerializedRequest {
        try serializeTarget(of: request, parameters)
    }

    internal func body(
        of parameters: RequestParameters?, for head: HTTPRequest
    ) throws(SerializationError) -> (bytes: [UInt8], contentType: String)? {
        let isAlamofire = encoding.dialect == .alamofire
        if isAlamofire, parameters == nil { return nil }
        let form = try settings.query(of: parameters, for: head)
        return (Array(form.utf8), "application/x-www-form-urlencoded" + (isAlamofire ? "; charset=utf-8" : ""))
    }

    /// The parameters as a query or form, without a request: `AFQueryStringFromParameters`.
    ///
    /// Throws `invalidParameters` where they can't be written so; `querySerialization` is not asked.
    public static func queryString(
        from parameters: Value, dialect: Dialect = .afnetworking
    ) throws(SerializationError) -> String {
        try RequestSettings(dialect: dialect).query(of: .value(parameters))
    }

    /// The text as it stands in a query or form: `AFPercentEscapedStringFromString`.
    public static func percentEscaped(_ text: String, dialect: Dialect = .afnetworking) -> String {
        var encoder = Form.Encoder(options: FieldEncodingOptions(dialect: dialect))
        // A field without a value is nothing but its escaped name; one without a name would be written `=`.
        guard !text.isEmpty else { return "" }
        var head = PartHead(name: Array(text.utf8).span)
        head.hasValue = false
        // What the form encoder refuses are files.
        guard (try? encoder.beginPart(head)) != nil else { return "" }
        // WHATWG's forms have a `=` behind each name; those of the text are escaped.
        let text = encoder.output.span.lossyString()
        return text.hasSuffix("=") ? String(text.dropLast()) : text
    }
}
