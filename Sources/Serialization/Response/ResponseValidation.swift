public import HTTPTypes
internal import Octets
internal import Transcoding

/// Which responses are acceptable, by status and media type.
public struct ResponseValidation: Hashable, Sendable, Codable {
    /// Whether a response is acceptable, and what is wrong with one that isn't.
    public struct Outcome: Sendable {
        /// Whether status and media type are acceptable.
        public let isValid: Bool
        /// Nil also for a wrong media type of an empty body, which is not valid and yet nothing to complain of.
        public let error: SerializationError?
    }

    /// The statuses that are no error; nil: all.
    public var acceptableStatusCodes: Set<Int>? = Set(200..<300)
    /// The media types that are read, as `application/json`, in any case and without parameters; nil: all.
    public var acceptableContentTypes: Set<String>?
    /// Media types that are not read although one of the acceptable ones stands for them, as `text/html` beside `*/*`: of both the one
    /// counts that says more of the type. Nil: none.
    public var unacceptableContentTypes: Set<String>?
    /// Whether a type `text/*`, `*/json` or `*/*` among the acceptable ones stands for all that it fits, as in Alamofire.
    public var matchesWildcards = false
    /// Whether `application/json` stands for each type that ends in `+json` too, and so with XML (RFC 6839).
    public var matchesSuffixes = false

    /// 200 to 299 and the given types; nil: all types.
    public init(acceptableContentTypes: Set<String>? = nil) {
        self.acceptableContentTypes = acceptableContentTypes
    }

    /// The types that a request's Accept field asks for (RFC 9110 §12.5.1), with wildcards: what Alamofire takes when nothing
    /// is said. All types where the request has no Accept.
    public init(accept request: HTTPRequest) {
        matchesWildcards = true
        let ranges = (request.headerFields[.accept] ?? "*/*").split(separator: ",")
        let acceptable = Set(ranges.filter { !Self.isExcluded($0) }.compactMap { Self.mediaType(of: String($0)) })
        let excluded = ranges.filter { Self.isExcluded($0) && !Self.isVariant($0) }
        let unacceptable = Set(excluded.compactMap { Self.mediaType(of: String($0)) }).subtracting(acceptable)
        acceptableContentTypes = acceptable
        unacceptableContentTypes = unacceptable.isEmpty ? nil : unacceptable
    }

    /// Whether the range has a weight of 0: it is not acceptable (RFC 9110 §12.4.2).
    private static func isExcluded(_ range: Substring) -> Bool {
        parameters(of: range).contains { $0.name == "q" && Double($0.value) == 0 }
    }

    /// Whether the range is about a variant of the type alone, as `text/html;level=1`: types are compared without parameters.
    private static func isVariant(_ range: Substring) -> Bool { parameters(of: range).contains { $0.name != "q" } }

    private static func parameters(of range: Substring) -> [(name: String, value: String)] {
        range.split(separator: ";").dropFirst().compactMap { parameter in
            let parts = parameter.split(separator: "=", maxSplits: 1).map { $0.filter { $0 != " " && $0 != "\t" } }
            return parts.count == 2 ? (parts[0].lowercased(), String(parts[1])) : nil
        }
    }

    /// Whether that media type is acceptable.
    public func accepts(contentType: String) -> Bool {
        if acceptableContentTypes == nil, unacceptableContentTypes == nil { return true }
        guard let type = Self.mediaType(of: contentType) else { return false }
        let accepted =
            acceptableContentTypes.map { $0.lazy.map { match(type, $0.lowercased()) }.max() ?? 0 } ?? 1
        let refused = unacceptableContentTypes?.lazy.map { match(type, $0.lowercased()) }.max() ?? 0
        return accepted > refused
    }

    /// The type first, then the status: with both wrong, the status's error has the type's beneath it.
    public func validate(
        _ response: HTTPResponse, body: [UInt8]?, for request: HTTPRequest? = nil
    ) -> Outcome {
        var isValid = true
        var error: SerializationError?
        let isEmpty = body?.isEmpty ?? true
        let type = response.headerFields[.contentType].flatMap(Self.mediaType(of:))
        let isAcceptable = type.map { accepts(contentType: $0) } ?? (acceptableContentTypes == nil || isEmpty)
        if !isAcceptable {
            isValid = false
            if !isEmpty {
                let what =
                    type.map { "unacceptable content-type: \($0)" }
                    ?? (response.headerFields.contains(.contentType) ? "unreadable content-type" : "no content-type")
                error = SerializationError(.unacceptableContentType, reason: "Request failed: \(what)")
            }
        }
        if let codes = acceptableStatusCodes, !codes.contains(response.status.code) {
            isValid = false
            // What lies beneath has no need of the same details twice.
            error = SerializationError(
                .unacceptableStatusCode,
                reason: "Request failed: \(Self.reason(of: response.status)) (\(response.status.code))",
                underlying: error)
        }
        error?.response = response
        error?.data = body
        if let request { error?.url = SerializedRequest(head: request).url }
        return Outcome(isValid: isValid, error: error)
    }

    /// How much `range` says of the type: 0 where it isn't about it, more the fewer other types it is about (RFC 9110 §12.5.1).
    private func match(_ type: String, _ range: String) -> Int {
        if type == range { return 5 }
        if matchesSuffixes, let slash = range.firstIndex(of: "/") {
            let subtype = range[range.index(after: slash)...]
            if subtype == "json" || subtype == "xml", type.hasSuffix("+" + subtype) { return 4 }
        }
        guard matchesWildcards else { return 0 }
        let (type, range) = (type.split(separator: "/"), range.split(separator: "/"))
        guard type.count == 2, range.count == 2, zip(type, range).allSatisfy({ $1 == "*" || $0 == $1 }) else {
            return 0
        }
        return range[0] != "*" ? 3 : range[1] != "*" ? 2 : 1
    }

    /// `type/subtype` in lower case, without parameters; nil where the text isn't one.
    private static func mediaType(of value: String) -> String? {
        let type = value.prefix { $0 != ";" && $0 != "," }
        let bytes = Array(type.utf8)
        let trimmed = bytes.span.withoutBlanks
        guard !trimmed.isEmpty, let end = ContentType.endOfMediaType(in: trimmed), end == trimmed.count else {
            return nil
        }
        return trimmed.lossyString().lowercased()
    }

    /// What Foundation calls a status, where the response brought no reason of its own.
    private static func reason(of status: HTTPResponse.Status) -> String {
        guard status.reasonPhrase.isEmpty else { return status.reasonPhrase.lowercased() }
        return switch status.kind {
        case .informational: "informational"
        case .successful: "no error"
        case .redirection: "redirected"
        case .clientError: "client error"
        case .serverError: "server error"
        case .invalid: "invalid status"
        }
    }
}
