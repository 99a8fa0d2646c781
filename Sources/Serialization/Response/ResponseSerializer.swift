public import HTTPTypes
internal import Transcoding

/// Reads responses: checks status and media type, then makes an object of the body.
///
/// All are values: a copy has the same settings and changes apart from the original.
public protocol ResponseSerializer<Output>: Sendable {
    /// What a body becomes.
    associatedtype Output: Sendable

    /// Which responses are acceptable.
    var validation: ResponseValidation { get set }

    /// The object of a response and the error, of which there may be one, both or neither: a 404 whose body can be read gives
    /// both.
    ///
    /// - Parameters:
    ///   - body: nil where there was none at all, which is not the same as an empty one.
    ///   - request: what was asked; for the URL in errors, and to know of HEAD.
    func serialize(_ response: HTTPResponse, body: [UInt8]?, for request: HTTPRequest?) -> ResponseResult<Output>

    /// The object among those of all serializers, for `CompoundResponseSerializer`.
    func responseObject(_ output: Output) -> ResponseObject
}

/// What came of a response.
public struct ResponseResult<Output: Sendable>: Sendable {
    /// The object of the body; nil where there is none, with an error or without.
    public var value: Output?
    /// Why the response is not what was asked for.
    public var error: SerializationError?

    /// A result of these.
    public init(value: Output?, error: SerializationError?) {
        self.value = value
        self.error = error
    }

    /// The object. Throws the error where there is one, even with an object beside it.
    public func get() throws(SerializationError) -> Output? {
        if let error { throw error }
        return value
    }
}

/// The object of any serializer.
public enum ResponseObject: Sendable {
    /// The body as it came.
    case bytes([UInt8])
    /// The body as text.
    case text(String)
    /// A JSON text or a property list.
    case document(Value)
    /// A parser that is still to be asked for the document's events.
    case xmlParser(XMLResponseParser)
    /// What the header of an image says.
    case image(ImageHeader)
    /// That of a serializer that isn't of this module.
    case other(any Sendable)
}

extension ResponseSerializer {
    /// The object of a serializer that isn't of this module: `other`.
    public func responseObject(_ output: Output) -> ResponseObject { .other(output) }

    /// `serialize(_:body:for:)` without a request.
    public func serialize(_ response: HTTPResponse, body: [UInt8]?) -> ResponseResult<Output> {
        serialize(response, body: body, for: nil)
    }

    /// Whether the response is acceptable, without reading its body.
    public func validate(
        _ response: HTTPResponse, body: [UInt8]?, for request: HTTPRequest? = nil
    ) -> ResponseValidation.Outcome {
        validation.validate(response, body: body, for: request)
    }

    /// The statuses that are no error: 200 to 299 at first; nil: all.
    public var acceptableStatusCodes: Set<Int>? {
        get { validation.acceptableStatusCodes }
        set { validation.acceptableStatusCodes = newValue }
    }

    /// The media types that are read, without parameters; nil: all.
    public var acceptableContentTypes: Set<String>? {
        get { validation.acceptableContentTypes }
        set { validation.acceptableContentTypes = newValue }
    }

    /// What of a failed validation keeps the body from being read: a wrong type does, a wrong status alone doesn't.
    internal func checked(
        _ response: HTTPResponse, _ body: [UInt8]?, _ request: HTTPRequest?
    ) -> (mayRead: Bool, error: SerializationError?) {
        let outcome = validation.validate(response, body: body, for: request)
        return (outcome.error?.contains(.unacceptableContentType) != true, outcome.error)
    }

    /// The body that is to be read: none where the validation forbids it, and none of an empty one that may be.
    internal func readable(
        _ response: HTTPResponse, _ body: [UInt8]?, _ request: HTTPRequest?
    ) -> (body: [UInt8]?, error: SerializationError?) {
        let (mayRead, error) = checked(response, body, request)
        let isNothing = body?.isEmpty == true && EmptyBodies.isExpected(response, request)
        return (mayRead && !isNothing ? body : nil, error)
    }

    /// The result of a body that can't be read: its error outside, that of the status beneath. A body that is beyond a limit may be
    /// what it says it is, so the reason is that limit.
    internal func unreadable<Result>(
        _ cause: ConversionError?, _ reason: String, beneath error: SerializationError?
    ) -> ResponseResult<Result> {
        let passed = cause.flatMap { $0.kind == .limit ? "the body is beyond \($0.setting ?? "a limit")" : nil }
        return ResponseResult(
            value: nil,
            error: SerializationError(
                .unreadableBody, reason: passed ?? reason, underlying: error, conversion: cause))
    }
}
