public import HTTPTypes
internal import Transcoding

/// Gives an image with its format and size in pixels, read from its header and not decoded. The counterpart of
/// `AFImageResponseSerializer`.
///
/// The format is what the bytes say, not what the Content-Type says. An image of another format, or one whose header is cut
/// off, is an error, `unreadableBody`.
public struct ImageResponseSerializer: ResponseSerializer, Hashable, Codable {
    /// 200 to 299; the types of AFNetworking.
    public var validation = ResponseValidation(acceptableContentTypes: [
        "image/tiff", "image/jpeg", "image/gif", "image/png", "image/ico", "image/x-icon", "image/bmp", "image/x-bmp",
        "image/x-xbitmap", "image/x-win-bitmap",
    ])

    /// A serializer of AFNetworking's image types.
    public init() {}

    /// See `ResponseSerializer`.
    public func serialize(
        _ response: HTTPResponse, body: [UInt8]?, for request: HTTPRequest?
    ) -> ResponseResult<ImageHeader> {
        let (body, error) = readable(response, body, request)
        guard let body else { return ResponseResult(value: nil, error: error) }
        guard let image = ImageHeader(body) else {
            return unreadable(nil, "the body has no header of PNG, JPEG, GIF, BMP, ICO, TIFF or WebP", beneath: error)
        }
        return ResponseResult(value: image, error: error)
    }

    /// The object among those of all serializers.
    public func responseObject(_ output: ImageHeader) -> ResponseObject { .image(output) }
}
