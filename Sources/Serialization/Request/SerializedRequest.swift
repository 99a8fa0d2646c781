public import HTTPTypes
internal import Transcoding

/// A request that is ready to be sent: its head, and what its body is.
public struct SerializedRequest: Sendable {
    /// The method, the target and the header fields.
    public var head: HTTPRequest
    /// What is sent behind the head.
    public var body: RequestBody
    /// What followed the `#` of the URL. It is never sent (RFC 9110 §7.1) and is kept for `url` only.
    public var fragment: String?

    /// A request of these.
    public init(head: HTTPRequest, body: RequestBody = .none, fragment: String? = nil) {
        self.head = head
        self.body = body
        self.fragment = fragment
    }

    /// The URL with everything the serializer put into it; where the request has no authority, its path.
    public var url: String {
        var text = ""
        if let scheme = head.scheme, let authority = head.authority { text = "\(scheme)://\(authority)" }
        text += head.path ?? ""
        if let fragment { text += "#\(fragment)" }
        return text
    }

    /// What follows the `?` of the target, nil where there is none.
    public var query: String? {
        guard let path = head.path, let mark = path.utf8.firstIndex(of: UInt8(ascii: "?")) else { return nil }
        return String(path[path.utf8.index(after: mark)...])
    }

    /// The bytes of a body that lies in memory; nil where there is no body or it is a multipart body.
    public var bodyBytes: [UInt8]? {
        if case .bytes(let bytes) = body { bytes } else { nil }
    }

    /// The multipart body, where it is one.
    public var multipart: MultipartFormData? {
        if case .multipart(let form) = body { form } else { nil }
    }

    /// The bytes of the body; nil where the request has none, which is not the same as an empty one.
    public var contentLength: Int? { body.contentLength }

    /// The request with this body, and a Content-Length that is the body's and no other framing, whatever the head said.
    internal init(head: HTTPRequest, sending body: RequestBody) {
        self.init(head: head, body: body)
        setContentLength()
    }

    /// Sets Content-Length to the length of the body, where there is one: what it says must be what is sent. A
    /// Transfer-Encoding beside it would make two framings of one body (RFC 9112 §6.2), and is taken away. Where there is no body, nothing
    /// may announce one, for which a server would wait: a length of 0 says the same, and stays.
    internal mutating func setContentLength() {
        guard let contentLength else {
            if head.headerFields[.contentLength] != "0" { head.headerFields[.contentLength] = nil }
            head.headerFields[.transferEncoding] = nil
            return
        }
        head.headerFields[.contentLength] = String(contentLength)
        head.headerFields[.transferEncoding] = nil
    }
}

/// What the body of a request is.
public enum RequestBody: Sendable {
    /// There is no body.
    case none
    /// A body in memory, which may be empty.
    case bytes([UInt8])
    /// A multipart body, to be pulled piece by piece with `MultipartFormData.makeStream()`.
    case multipart(MultipartFormData)

    /// The number of bytes, known before the first one is sent; nil where there is no body.
    public var contentLength: Int? {
        switch self {
        case .none: nil
        case .bytes(let bytes): bytes.count
        case .multipart(let form): form.contentLength
        }
    }
}
