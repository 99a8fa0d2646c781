public import HTTPTypes
internal import Octets
internal import Transcoding

/// Gives a body as text. The counterpart of Alamofire's `StringResponseSerializer`.
///
/// The charset is that of the serializer, else that of the Content-Type, else ISO 8859-1, which every body is. A Content-Type may
/// name any charset that `Transcoding.Charset` knows. A byte order mark in front of a text of UTF-8 or UTF-16 is none of the text, and
/// says in which order the bytes of UTF-16 are, whatever the Content-Type says.
public struct StringResponseSerializer: ResponseSerializer, Hashable, Codable {
    /// A charset that all bodies are read in, whatever they say.
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
        let label = charset?.rawValue ?? Self.charset(of: response)
        let bytes = dropsXSSIPrefix ? EmptyBodies.droppingXSSIPrefix(body) : body
        let text: String?
        switch Charset(rawValue: label) {
        case .utf8: text = Transcoding.Charset.utf8.text(of: bytes.span)
        case .ascii: text = bytes.allSatisfy { $0 < 0x80 } ? String(decoding: bytes, as: UTF8.self) : nil
        case .latin1: text = String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
        case nil:
            guard let other = Transcoding.Charset(label: label), other.isInstalled else {
                return unreadable(nil, "the charset that the response names is not known here", beneath: error)
            }
            text = other.text(of: bytes.span)
        }
        guard let text else { return unreadable(nil, "the body is not \(label)", beneath: error) }
        return ResponseResult(value: text, error: error)
    }

    /// The object among those of all serializers.
    public func responseObject(_ output: String) -> ResponseObject { .text(output) }

    /// The label that the Content-Type has, in lower case and by the name it has above where it is one of those; that of ISO 8859-1
    /// where there is none.
    private static func charset(of response: HTTPResponse) -> String {
        let latin1 = Charset.latin1.rawValue
        guard let value = response.headerFields[.contentType] else { return latin1 }
        let bytes = Array(value.utf8)
        guard let end = ContentType.endOfMediaType(in: bytes.span) else { return latin1 }
        var parameters = HeaderParameters(from: end, grammar: .contentType)
        while let parameter = try? parameters.next(in: bytes.span) {
            guard bytes.span.extracting(parameter.name).isEqualIgnoringCase(to: "charset") else { continue }
            switch bytes.span.extracting(parameter.value).lossyString().lowercased() {
            case "utf8": return Charset.utf8.rawValue
            case "ascii": return Charset.ascii.rawValue
            case "latin1": return latin1
            case let label: return label
            }
        }
        return latin1
    }
}
