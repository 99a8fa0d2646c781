public import HTTPTypes
internal import Octets
internal import Transcoding

/// Gives a body as text. The counterpart of Alamofire's `StringResponseSerializer`.
///
/// The charset is that of the serializer, else that of the Content-Type, else ISO 8859-1, which every body is.
public struct StringResponseSerializer: ResponseSerializer, Hashable, Codable {
    /// A charset that text is read in.
    public enum Charset: String, Hashable, Sendable, Codable, CaseIterable {
        /// UTF-8 (RFC 3629).
        case utf8 = "utf-8"
        /// US-ASCII (RFC 20).
        case ascii = "us-ascii"
        /// ISO 8859-1.
        case latin1 = "iso-8859-1"
    }

    /// 200 to 299, all types.
    public var validation = ResponseValidation()
    /// Which responses may have an empty body without an error.
    public var emptyBodies = EmptyBodies.whereExpected
    /// The charset of all bodies; nil: what the response says.
    public var charset: Charset?
    /// Whether a first line `)]}',` is taken away from the body.
    public var dropsXSSIPrefix = false

    /// A serializer that reads all bodies in `charset`; nil: in that of the response.
    public init(charset: Charset? = nil) { self.charset = charset }

    /// See `ResponseSerializer`.
    public func serialize(
        _ response: HTTPResponse, body: [UInt8]?, for request: HTTPRequest?
    ) -> ResponseResult<String> {
        let (mayRead, error) = checked(response, body, request)
        guard mayRead else { return ResponseResult(value: nil, error: error) }
        guard let body, !body.isEmpty else {
            let isFine = emptyBodies.allows(response, request)
            return ResponseResult(value: isFine ? "" : nil, error: isFine ? error : EmptyBodies.fault(beneath: error))
        }
        guard let charset = charset ?? Self.charset(of: response) else {
            return unreadable(
                nil, "the charset of the response is none of utf-8, us-ascii and iso-8859-1", beneath: error)
        }
        let bytes = dropsXSSIPrefix ? EmptyBodies.droppingXSSIPrefix(body) : body
        let text: String? =
            switch charset {
            case .utf8: String(validating: bytes, as: UTF8.self)
            case .ascii: bytes.allSatisfy { $0 < 0x80 } ? String(decoding: bytes, as: UTF8.self) : nil
            case .latin1: String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
            }
        guard let text else { return unreadable(nil, "the body is not \(charset.rawValue)", beneath: error) }
        return ResponseResult(value: text, error: error)
    }

    /// The object among those of all serializers.
    public func responseObject(_ output: String) -> ResponseObject { .text(output) }

    /// What the Content-Type says, ISO 8859-1 where it says nothing, nil for another charset.
    private static func charset(of response: HTTPResponse) -> Charset? {
        guard let value = response.headerFields[.contentType] else { return .latin1 }
        let bytes = Array(value.utf8)
        guard let end = ContentType.endOfMediaType(in: bytes.span) else { return .latin1 }
        var parameters = HeaderParameters(from: end, grammar: .contentType)
        while let parameter = try? parameters.next(in: bytes.span) {
            guard bytes.span.extracting(parameter.name).isEqualIgnoringCase(to: "charset") else { continue }
            switch bytes.span.extracting(parameter.value).lossyString().lowercased() {
            case "utf-8", "utf8": return .utf8
            case "us-ascii", "ascii": return .ascii
            case "iso-8859-1", "latin1": return .latin1
            default: return nil
            }
        }
        return .latin1
    }
}
