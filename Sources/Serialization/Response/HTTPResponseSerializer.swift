public import HTTPTypes

/// Gives the bytes of a body as they are, whatever the validation says. The counterpart of `AFHTTPResponseSerializer`.
public struct HTTPResponseSerializer: ResponseSerializer, Hashable, Codable {
    /// 200 to 299, all types.
    public var validation = ResponseValidation()
    public var emptyBodies = EmptyBodies.anywhere
    /// Whether a first line `)]}',` is taken away from the body.
    public var dropsXSSIPrefix = false

    public init() {}

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

    public func responseObject(_ output: [UInt8]) -> ResponseObject { .bytes(output) }
}
