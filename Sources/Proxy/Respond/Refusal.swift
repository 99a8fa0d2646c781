internal import HTTPWire
internal import Serialization

/// What is wrong with an upstream's response.
enum ResponseFault: Error {
    case wire(WireError)
    case unexpectedUpgrade
    case tooManyInterim
}

/// Every reason for which the proxy answers in the upstream's place: one place that decides status, code and text.
enum Refusal {
    case wire(WireError)
    case conversion(ConversionError, accepted: [BodyEncoding])
    case noRoute
    /// A percent sign without two hexadecimal digits at this offset of the path.
    case malformedPath(Int)
    case methodNotAllowed([String])
    case typeNotAccepted([String])
    case contentCoding
    case bodyTooLarge(Int)
    case headTimeout
    case bodyTimeout
    case upstream(UpstreamFailure)
    case upstreamClosed
    case upstreamTimeout
    case badResponse(ResponseFault)
}

extension Refusal {
    var status: Int {
        switch self {
        case .wire(let error): error.status
        case .conversion(let error, _):
            switch error.kind {
            case .malformed: 400
            case .limit: 413
            case .unsupported: 415
            case .unrepresentable: 422
            }
        case .noRoute: 404
        case .malformedPath: 400
        case .methodNotAllowed: 405
        case .typeNotAccepted, .contentCoding: 415
        case .bodyTooLarge: 413
        case .headTimeout, .bodyTimeout: 408
        case .upstream(.unreachable), .upstreamClosed, .badResponse: 502
        case .upstream(.timedOut), .upstreamTimeout: 504
        }
    }

    /// Stable: programs may rely on it.
    var code: String {
        switch self {
        case .wire(let error): error.code
        case .conversion(let error, _): error.code
        case .noRoute: "no_route"
        case .malformedPath: "http_bad_target"
        case .methodNotAllowed: "method_not_allowed"
        case .typeNotAccepted: "unsupported_media_type"
        case .contentCoding: "unsupported_content_coding"
        case .bodyTooLarge: "limit_body"
        case .headTimeout: "head_timeout"
        case .bodyTimeout: "body_timeout"
        case .upstream(.unreachable): "upstream_unreachable"
        case .upstream(.timedOut): "upstream_connect_timeout"
        case .upstreamClosed: "upstream_closed"
        case .upstreamTimeout: "upstream_timeout"
        case .badResponse: "upstream_bad_response"
        }
    }

    /// One sentence for a person; never a value of the request.
    var detail: String {
        switch self {
        case .wire(let error): error.reason
        case .conversion(let error, _): error.reason
        case .noRoute: "no route matches this request"
        case .malformedPath(let offset): "the path has a percent sign without two hexadecimal digits at byte \(offset)"
        case .methodNotAllowed: "the route doesn't take this method"
        case .typeNotAccepted: "the route doesn't take this Content-Type"
        case .contentCoding: "the route converts bodies, and this Content-Encoding is not decoded"
        case .bodyTooLarge(let limit): "the body passes the limit of \(limit) bytes (limits.body)"
        case .headTimeout: "the request's head did not arrive in time"
        case .bodyTimeout: "the request's body stopped arriving"
        case .upstream(.unreachable(let reason)): "the upstream can't be reached: \(reason)"
        case .upstream(.timedOut): "the upstream didn't accept a connection in time"
        case .upstreamClosed: "the upstream closed the connection before it answered"
        case .upstreamTimeout: "the upstream didn't answer in time"
        case .badResponse(.wire(let error)): "the upstream's response can't be read: \(error.reason)"
        case .badResponse(.unexpectedUpgrade): "the upstream switched protocols, which nobody had asked for"
        case .badResponse(.tooManyInterim): "the upstream sent too many interim responses"
        }
    }

    /// The reason as the access log shows it, two letters as HAProxy's and Envoy's logs have them.
    var flag: StaticString {
        switch self {
        case .wire, .malformedPath: "BR"
        case .conversion(let error, _):
            switch error.kind {
            case .malformed: "BD"
            case .limit: "BL"
            case .unsupported: "BT"
            case .unrepresentable: "BC"
            }
        case .noRoute, .methodNotAllowed: "NR"
        case .typeNotAccepted, .contentCoding: "BT"
        case .bodyTooLarge: "BL"
        case .headTimeout, .bodyTimeout: "CT"
        case .upstream(.unreachable): "UF"
        case .upstream(.timedOut), .upstreamTimeout: "UT"
        case .upstreamClosed: "UR"
        case .badResponse: "UB"
        }
    }

    /// What the answer's fields say besides the usual ones: which methods or types would be taken.
    var advice: (name: StaticString, value: String)? {
        switch self {
        case .methodNotAllowed(let methods): ("Allow", methods.joined(separator: ", "))
        case .typeNotAccepted(let types): ("Accept-Post", types.joined(separator: ", "))
        case .conversion(let error, let accepted) where error.kind == .unsupported && !accepted.isEmpty:
            ("Accept-Post", accepted.map(\.mediaType).joined(separator: ", "))
        default: nil
        }
    }

    /// Where in the body the fault is, and which setting concerns it.
    var conversionError: ConversionError? {
        switch self {
        case .conversion(let error, _): error
        case .bodyTooLarge: ConversionError(.limit, code: code, reason: detail, setting: "limits.body")
        default: nil
        }
    }
}
