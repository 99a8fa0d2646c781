public import HTTPTypes
internal import Octets
public import Transcoding

/// What all request serializers have in common.
public struct RequestSettings: Sendable {
    /// Makes the query or the form body of the parameters. Nil is an empty text; the text is used as it is.
    public typealias QuerySerialization = @Sendable (_ request: HTTPRequest, _ parameters: Value) throws -> String?

    /// Fields that every request gets unless it has them already.
    public var headerFields = HTTPFields()
    /// The methods whose parameters go into the query of the URL instead of a body, in upper case.
    public var methodsEncodingParametersInURI: Set<String> = ["GET", "HEAD", "DELETE"]
    /// How parameters become names and values, in the query, in a form body and in multipart parts.
    public var encoding: FieldEncodingOptions
    /// What makes a `Value` of parameters of an `Encodable` type.
    public var encoder = ValueEncoder()
    /// What makes the query or the form body instead of `encoding`, where it is set.
    public var querySerialization: QuerySerialization?
    /// What bounds the parameters: `depth`, and `key` and `keyDepth` for the names that they become.
    public var limits = Limits()

    /// The settings of a dialect: AFNetworking's rules unless said otherwise.
    public init(dialect: Dialect = .afnetworking) {
        encoding = FieldEncodingOptions(dialect: dialect)
    }

    /// Whether parameters of a request with this method go into the query. Upper and lower case are the same here.
    public func encodesParametersInURI(_ method: HTTPRequest.Method) -> Bool {
        methodsEncodingParametersInURI.contains(method.rawValue.uppercased())
    }
}

extension RequestSettings {
    /// Fields that the request has not yet get their default.
    internal func addDefaults(to head: inout HTTPRequest) {
        for field in headerFields where !head.headerFields.contains(field.name) {
            // All values of a name that is not there yet.
            head.headerFields[fields: field.name] = headerFields[fields: field.name]
        }
    }

    /// The text of the parameters as a query or form.
    internal func query(of parameters: Value?, for head: HTTPRequest) throws(SerializationError) -> String {
        guard let parameters else { return "" }
        if let querySerialization {
            return try Self.text(querySerialization, head, parameters)
        }
        return try query(of: parameters)
    }

    /// What the caller's function makes, or its error within one of ours.
    private static func text(
        _ serialization: QuerySerialization, _ head: HTTPRequest, _ parameters: Value
    ) throws(SerializationError) -> String {
        let result = Result { try serialization(head, parameters) }
        switch result {
        case .success(let text): return text ?? ""
        case .failure(let error):
            throw SerializationError(
                .querySerialization, reason: "the custom query serialization failed", underlying: error)
        }
    }

    internal func query(of parameters: Value) throws(SerializationError) -> String {
        do throws(ConversionError) {
            var source = parameters
            let spelling = ValueSpelling(for: encoding, limits: limits)
            let text = try source.form(encoding, spelling, limits: limits)
            return text.span.lossyString()
        } catch {
            throw SerializationError(
                .invalidParameters, reason: "the parameters can't be written as a form", conversion: error)
        }
    }

    /// The request with its parameters in the query: no body, no Content-Type.
    internal func serializeIntoURI(
        _ head: HTTPRequest, parameters: Value?
    ) throws(SerializationError) -> SerializedRequest {
        var head = head
        let query = try query(of: parameters, for: head)
        head.path = RequestURL.appending(
            query, to: head.path ?? "/", keepsEmpty: encoding.dialect == .afnetworking)
        return SerializedRequest(head: head)
    }
}
