public import HTTPTypes
internal import Transcoding

/// Asks several serializers in turn; the first that makes an object wins. The counterpart of
/// `AFCompoundResponseSerializer`.
///
/// The winner's error comes with its object, with status 404 for one. When none makes an object their errors are dropped,
/// and the bytes come back as `HTTPResponseSerializer` gives them, checked by this serializer's own `validation`.
public struct CompoundResponseSerializer: ResponseSerializer {
    /// 200 to 299 and all types: what holds for responses that no member makes an object of.
    public var validation = ResponseValidation()
    /// The serializers, in the order in which they are asked.
    public var responseSerializers: [any ResponseSerializer]

    /// A serializer that asks these in turn.
    public init(_ responseSerializers: [any ResponseSerializer]) {
        self.responseSerializers = responseSerializers
    }

    /// See `ResponseSerializer`.
    public func serialize(
        _ response: HTTPResponse, body: [UInt8]?, for request: HTTPRequest?
    ) -> ResponseResult<ResponseObject> {
        for serializer in responseSerializers {
            if let result = Self.result(of: serializer, response, body, request) { return result }
        }
        let error = validation.validate(response, body: body, for: request).error
        return ResponseResult(value: body.map { .bytes($0) }, error: error)
    }

    /// The object among those of all serializers.
    public func responseObject(_ output: ResponseObject) -> ResponseObject { output }

    private static func result<Member: ResponseSerializer>(
        of member: Member, _ response: HTTPResponse, _ body: [UInt8]?, _ request: HTTPRequest?
    ) -> ResponseResult<ResponseObject>? {
        let result = member.serialize(response, body: body, for: request)
        return result.value.map { ResponseResult(value: member.responseObject($0), error: result.error) }
    }
}
