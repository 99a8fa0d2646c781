public import HTTPTypes
internal import Transcoding

/// Reads a property list, XML or binary. The counterpart of `AFPropertyListResponseSerializer`.
///
/// No body at all, and an empty one with 204 or 205 or to HEAD, is nothing without an error; another empty body is an error.
public struct PropertyListResponseSerializer: ResponseSerializer, Hashable {
    /// 200 to 299; `application/x-plist`.
    public var validation = ResponseValidation(acceptableContentTypes: ["application/x-plist"])
    /// How the document is read: `duplicates` and `limits` hold. While `limits.tree` isn't set, it grows with the body, see
    /// `Limits.tree(forBody:)`.
    public var options = DocumentOptions()

    /// A serializer of `application/x-plist`.
    public init() {}

    /// See `ResponseSerializer`.
    public func serialize(
        _ response: HTTPResponse, body: [UInt8]?, for request: HTTPRequest?
    ) -> ResponseResult<Value> {
        let (body, error) = readable(response, body, request)
        guard let body else { return ResponseResult(value: nil, error: error) }
        do throws(ConversionError) {
            return ResponseResult(
                value: try Value(decoding: body, as: .propertyList, options: options), error: error)
        } catch let fault {
            return unreadable(fault, "the body is not a property list", beneath: error)
        }
    }

    /// The object among those of all serializers.
    public func responseObject(_ output: Value) -> ResponseObject { .document(output) }
}
