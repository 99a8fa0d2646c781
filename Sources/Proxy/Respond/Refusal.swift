internal import HTTPWire
internal import Serialization

/// What is wrong with an upstream's response.
enum ResponseFault: Error {
    case wire(WireError)
    case unexpectedUpgrade
    case tooManyInterim
}

/// Why a response can't be converted before its body is looked at.
enum UnacceptableResponse {
    case status, type, coding, noTransform
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
    /// The route converts responses, and this one is none of those it takes.
    case unacceptable(UnacceptableResponse)
    /// The response's body can't be converted.
    case upstreamBody(ConversionError)
    /// The connection ended inside a body that was to be converted.
    case upstreamBodyCut
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
        case .upstream(.unreachable), .upstreamClosed, .badResponse, .unacceptable, .upstreamBody, .upstreamBodyCut: 502
        case .upstream(.timedOut), .upstreamTimeout: 504
        case .upstream: 503
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
        case .upstream(.unresolved): "upstream_unresolved"
        case .upstream(.unavailable): "upstream_unavailable"
        case .upstream(.overloaded): "upstream_overloaded"
        case .upstream(.noResources): "upstream_no_resources"
        case .upstream(.noLocalPort): "upstream_no_local_port"
        case .upstreamClosed: "upstream_closed"
        case .upstreamTimeout: "upstream_timeout"
        case .badResponse: "upstream_bad_response"
        case .unacceptable(.status): "upstream_unacceptable_status"
        case .unacceptable(.type): "upstream_unacceptable_type"
        case .unacceptable(.coding): "upstream_unacceptable_coding"
        case .unacceptable(.noTransform): "upstream_no_transform"
        case .upstreamBody(let error):
            switch error.kind {
            case .malformed, .unsupported: "upstream_body_malformed"
            case .limit: error.code == Self.heldLimitCode ? error.code : "upstream_body_limit"
            case .unrepresentable: "upstream_body_unrepresentable"
            }
        case .upstreamBodyCut: "upstream_body_incomplete"
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
        case .upstream(.unresolved(let reason)): "the upstream's name can't be resolved: \(reason)"
        case .upstream(.unavailable): "no address of the upstream is fit for use"
        case .upstream(.overloaded): "the upstream has as many requests as it may have"
        case .upstream(.noResources(let reason)): "the proxy can open no connection to the upstream: \(reason)"
        case .upstream(.noLocalPort): "there is no free local port for the upstream (EADDRNOTAVAIL)"
        case .upstreamClosed: "the upstream closed the connection before it answered"
        case .upstreamTimeout: "the upstream didn't answer in time"
        case .badResponse(.wire(let error)): "the upstream's response can't be read: \(error.reason)"
        case .badResponse(.unexpectedUpgrade): "the upstream switched protocols, which nobody had asked for"
        case .badResponse(.tooManyInterim): "the upstream sent too many interim responses"
        case .unacceptable(.status): "the upstream answered with a status that the route doesn't accept"
        case .unacceptable(.type): "the upstream answered with a Content-Type that the route doesn't convert"
        case .unacceptable(.coding): "the route converts responses, and this Content-Encoding is not decoded"
        case .unacceptable(.noTransform): "the route converts responses, and Cache-Control forbids it for this one"
        case .upstreamBody(let error): "the body of the upstream's response can't be converted: \(error.reason)"
        case .upstreamBodyCut: "the upstream closed the connection inside the body of its response"
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
        case .upstream(.unresolved): "DF"
        case .upstream(.unavailable): "UH"
        case .upstream(.overloaded): "UO"
        case .upstream(.noResources), .upstream(.noLocalPort): "RE"
        case .upstream(.timedOut), .upstreamTimeout: "UT"
        case .upstreamClosed: "UR"
        case .badResponse: "UB"
        case .unacceptable: "RT"
        case .upstreamBody(let error):
            switch error.kind {
            case .malformed, .unsupported: "RD"
            case .limit: "RL"
            case .unrepresentable: "RC"
            }
        case .upstreamBodyCut: "UR"
        }
    }

    /// What the answer's fields say besides the usual ones: which methods or types would be taken.
    var advice: (name: StaticString, value: String)? {
        switch self {
        case .methodNotAllowed(let methods): ("Allow", methods.joined(separator: ", "))
        case .typeNotAccepted(let types): ("Accept-Post", types.joined(separator: ", "))
        case .conversion(let error, let accepted) where error.kind == .unsupported && !accepted.isEmpty:
            ("Accept-Post", accepted.map(\.mediaType).joined(separator: ", "))
        // Each of them may be over in a moment: the addresses are tried every second, the queue moves on.
        case .upstream(.unavailable), .upstream(.overloaded), .upstream(.unresolved), .upstream(.noResources),
            .upstream(.noLocalPort):
            ("Retry-After", "1")
        default: nil
        }
    }

    /// The code of a converted response's limit, which is its own code in an answer too.
    private static let heldLimitCode = "limit_response"

    /// The codec's own code, where the answer's is for a kind of fault.
    var cause: String? {
        if case .upstreamBody(let error) = self, error.code != code { error.code } else { nil }
    }

    /// Where in the body the fault is, and which setting concerns it.
    var conversionError: ConversionError? {
        switch self {
        case .conversion(let error, _), .upstreamBody(let error): error
        case .bodyTooLarge: ConversionError(.limit, code: code, reason: detail, setting: "limits.body")
        default: nil
        }
    }
}
