public import HTTPTypes
internal import Transcoding

/// Gives the bytes of a body as they are, whatever the validation says. The counterpart of `AFHTTPResponseSerializer`.
public struct HTTPResponseSerializer: ResponseSerializer, Hashable, Codable {
    /// 200 to 299, all types.
    public var validation = ResponseValidation()
    /// Which responses may have an empty body without an error.
    public var emptyBodies = EmptyBodies.anywhere
    /// Whether a first line `)]}',` is taken away from the body.
    public var dropsXSSIPrefix = false

    /// A serializer that takes 200 to 299 and all types.
    public init() {}

    /// See `ResponseSerializer`.
    public func serialize(
        _ response: HTTPResponse, body: [UInt8]?, for request: HTTPRequest?
    ) -> ResponseResult<[UInt8]> {
        let error = validation.validate(response, body: body, for: request).error
        if body?.isEmpty ?? true, !emptyBodies.allows(response, request) {
            return ResponseResult(value: body, error: EmptyBodies.fault(beneath: error))
        }
        let bytes = dropsXSSIPrefix ? body.map(EmptyBodies.droppingXSSIPrefix) : body
        return ResponseResult(value: bytes, error: error)
    }

    /// The object among those of all serializers.
    public func responseObject(_ output: [UInt8]) -> ResponseObject { .bytes(output) }
}
