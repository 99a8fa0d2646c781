package import ContentCoding
package import HTTPWire
package import Signatures
package import Transcoding

/// What is wrong with an upstream's response.
package enum ResponseFault: Error {
    case wire(WireError)
    /// The same in the line of the field of this name. Indirect, since what may throw it reads each piece of content.
    indirect case field(WireError, String)
    /// A 101 that nobody asked for.
    case unexpectedUpgrade
    /// A 101 to a request that asked for one, which doesn't say to what it switches, or to something else.
    case otherUpgrade
    /// It breaks a rule of HTTP/2 (RFC 9113).
    case malformed
    /// Its connection of HTTP/2, which others share, was ended because of what the upstream sent there: the sentence says why.
    case connection(String)
}

/// Why a response can't be converted before its body is looked at.
package enum UnacceptableResponse {
    case status, type, charset, coding, noTransform
}

/// Why what a data plane asks of external processing can't be done as it is set up.
package enum ProcessingFault: Hashable, Sendable {
    /// It names a route that there isn't.
    case unknownRoute
    /// It names a route that takes variables of its path, and the request's path isn't one of those.
    case otherPath
    /// It hands content over in a way in which the route can't do its work, which a sentence says.
    case mode(String)
    /// Trailers came with no content in front of them, where the route would have to send some there.
    case trailersAlone
    /// What the route would have to send is longer than this many bytes, which wait in memory in this mode.
    case bodyTooLarge(Int)
    /// The same of a response.
    case responseTooLarge(Int)
}

/// Every reason for which the proxy answers in the upstream's place: one place that decides status, code and text.
///
/// Indirect, so that what may throw one returns a pointer: few requests are refused, and all are served by such functions.
package indirect enum Refusal: Error {
    case wire(WireError)
    /// With the media types that would be taken; none where the type isn't what is wrong.
    case conversion(ConversionError, accepted: [String])
    case noRoute
    /// A percent sign without two hexadecimal digits at this offset of the path.
    case malformedPath(Int)
    /// A dot segment at this offset of the path, where `paths` refuses such, or can't tell what it means.
    case dotSegment(Int)
    /// An empty segment at this offset of the path, where `paths` refuses such.
    case emptySegment(Int)
    /// What the route's rewrite takes from the path would make a dot segment.
    case rewrittenDotSegment
    /// A header rule takes a value from the request that no field may have.
    case headerValue(HeaderValueFault)
    case methodNotAllowed([String])
    /// The route has methods, and this one is none that the proxy knows.
    case methodNotImplemented
    /// An https target on a connection that isn't secured.
    case misdirected
    /// The route demands a Content-Length.
    case lengthRequired
    /// A field name with `_` on a route that refuses them.
    case underscoreName
    /// Via says that the request has been here so often.
    case loopDetected(Int)
    /// What a trusted peer says of the client is too long to be passed on.
    case forwardedTooLong
    case badMaxForwards
    /// The route converts the body, and the request forbids it; what the upstream reads.
    case noTransform(BodyEncoding)
    /// The route converts the body, and the request says that it is a part of one.
    case partialContent
    case typeNotAccepted([String])
    /// The route takes a sender's requests alone, and this is none, or can't be known to be one; what the route answers then, and what
    /// the request lacks, where that is one thing.
    case notVerified(SignatureFault, status: Int, lacking: String?)
    /// None: the request asks whether this is its sender's endpoint, and that is the answer.
    case challenge(EndpointChallenge.Answer)
    /// The route takes those alone who may use it, and the request doesn't show that it is one's; the challenges of a 401.
    case unauthorized(isMissing: Bool, challenges: String)
    /// The client, or what else the route counts by, comes more often than it may.
    case rateLimited(RateFields)
    /// The content is too long to be signed for the upstream.
    case signedTooLarge(Int)
    /// The content can't be read in the way that its signature for the upstream needs.
    case notSigned(SignatureFault)
    /// One that is not undone; those that would be.
    case contentCoding([Coding])
    case bodyTooLarge(Int)
    /// The body has to be spooled for the upstream of that name, and can't be.
    case spool(SpoolFault, upstream: String)
    /// The process' budget for bodies is spent.
    case memoryExhausted
    case headTimeout
    case bodyTimeout
    /// The body comes slower than this many bytes in a second.
    case bodyTooSlow(UInt64)
    /// The exchange as a whole took too long; whether the request had been read by then.
    case requestTimeout(isRead: Bool)
    /// There is no capacity for this request, for now.
    case overloaded
    /// The client has as many connections as it may.
    case tooManyConnections
    case upstream(UpstreamFailure)
    case upstreamClosed
    /// The upstream gave the request's stream up before it answered; the name of the code that it said (RFC 9113 §7).
    case upstreamReset(String)
    /// The upstream refused the request, with nothing of it done (RFC 9113 §8.7), and it isn't sent once more.
    case upstreamRefused
    case upstreamTimeout
    case badResponse(ResponseFault)
    /// The route converts responses, and this one is none of those it takes.
    case unacceptable(UnacceptableResponse)
    /// The response's body can't be converted; what else is to be known of one that is an error.
    case upstreamBody(ConversionError, of: ErrorHead?)
    /// The connection ended inside a body that was to be converted.
    case upstreamBodyCut
    /// External processing is set up otherwise than the route needs it.
    case processing(ProcessingFault)
}

extension Refusal {
    package var status: Int {
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
        case .malformedPath, .dotSegment, .emptySegment, .rewrittenDotSegment, .headerValue(.control): 400
        case .methodNotAllowed: 405
        case .methodNotImplemented: 501
        case .misdirected: 421
        case .lengthRequired: 411
        case .underscoreName, .badMaxForwards, .partialContent: 400
        case .loopDetected: 508
        case .forwardedTooLong, .headerValue(.tooLong): 431
        case .notVerified(.tooLong, _, _): 413
        case .notVerified(.replayed, _, _): 409
        case .notVerified(.unfetched, _, _): 503
        case .challenge: 200
        case .notVerified(_, let status, _): status
        case .unauthorized: 401
        case .signedTooLarge: 413
        case .notSigned: 422
        case .typeNotAccepted, .contentCoding, .noTransform: 415
        case .bodyTooLarge, .spool(.tooLarge, _): 413
        case .spool(.full, _), .spool(.failed, _): 507
        case .spool(.total, _), .memoryExhausted, .overloaded: 503
        case .headTimeout, .bodyTimeout, .bodyTooSlow: 408
        case .requestTimeout(let isRead): isRead ? 504 : 408
        case .tooManyConnections, .rateLimited: 429
        case .upstream(.unreachable), .upstream(.insecure), .upstream(.otherProtocol), .upstreamClosed, .upstreamReset,
            .badResponse, .unacceptable, .upstreamBodyCut:
            502
        case .upstreamBody(_, let error): error?.status ?? 502
        case .upstream(.timedOut), .upstreamTimeout: 504
        case .upstream, .upstreamRefused: 503
        case .processing(.bodyTooLarge): 413
        case .processing(.responseTooLarge): 502
        case .processing(.trailersAlone): 400
        case .processing: 500
        }
    }

    /// Stable: programs may rely on it.
    package var code: String {
        switch self {
        case .wire(let error): error.code
        case .conversion(let error, _): error.code
        case .noRoute: "no_route"
        case .malformedPath: "http_bad_percent"
        case .dotSegment: "http_dot_segment"
        case .emptySegment: "http_empty_segment"
        case .rewrittenDotSegment: "rewrite_dot_segment"
        case .headerValue(.control): "header_value_control"
        case .headerValue(.tooLong): "header_value_too_long"
        case .methodNotAllowed: "method_not_allowed"
        case .methodNotImplemented: "method_not_implemented"
        case .misdirected: "misdirected_request"
        case .lengthRequired: "length_required"
        case .underscoreName: "http_underscore_name"
        case .loopDetected: "loop_detected"
        case .forwardedTooLong: "http_forwarded_too_long"
        case .badMaxForwards: "http_bad_max_forwards"
        case .noTransform: "request_no_transform"
        case .partialContent: "request_partial_content"
        case .typeNotAccepted: "unsupported_media_type"
        case .contentCoding: "unsupported_content_coding"
        case .notVerified(.tooLong, _, _): "limit_signed"
        case .notVerified(let fault, _, _): "signature_\(fault.rawValue)"
        case .challenge: "challenge"
        case .unauthorized(let isMissing, _): isMissing ? "authorization_missing" : "authorization_refused"
        case .rateLimited: "rate_limited"
        case .signedTooLarge: "limit_signed"
        case .notSigned: "sign_body"
        case .bodyTooLarge: "limit_body"
        case .spool(.tooLarge, _): "limit_spool"
        case .spool(.total, _): "spool_exhausted"
        case .spool(.full, _): "spool_full"
        case .spool(.failed, _): "spool_failed"
        case .memoryExhausted: "memory_exhausted"
        case .headTimeout: "head_timeout"
        case .bodyTimeout: "body_timeout"
        case .bodyTooSlow: "body_too_slow"
        case .requestTimeout: "request_timeout"
        case .overloaded: "overloaded"
        case .tooManyConnections: "too_many_connections"
        case .upstream(.unreachable): "upstream_unreachable"
        case .upstream(.timedOut): "upstream_connect_timeout"
        case .upstream(.insecure): "upstream_tls"
        case .upstream(.otherProtocol): "upstream_protocol"
        case .upstream(.unresolved): "upstream_unresolved"
        case .upstream(.unavailable): "upstream_unavailable"
        case .upstream(.overloaded): "upstream_overloaded"
        case .upstream(.noResources): "upstream_no_resources"
        case .upstream(.noLocalPort): "upstream_no_local_port"
        case .upstreamClosed: "upstream_closed"
        case .upstreamReset: "upstream_reset"
        case .upstreamRefused: "upstream_refused"
        case .upstreamTimeout: "upstream_timeout"
        case .badResponse: "upstream_bad_response"
        case .unacceptable(.status): "upstream_unacceptable_status"
        case .unacceptable(.type), .unacceptable(.charset): "upstream_unacceptable_type"
        case .unacceptable(.coding): "upstream_unacceptable_coding"
        case .unacceptable(.noTransform): "upstream_no_transform"
        case .upstreamBody(let error, _):
            switch error.kind {
            case .malformed, .unsupported: "upstream_body_malformed"
            case .limit: error.code == Self.heldLimitCode ? error.code : "upstream_body_limit"
            case .unrepresentable: "upstream_body_unrepresentable"
            }
        case .upstreamBodyCut: "upstream_body_incomplete"
        case .processing(.unknownRoute): "ext_proc_unknown_route"
        case .processing(.otherPath): "ext_proc_other_path"
        case .processing(.mode): "ext_proc_mode"
        case .processing(.trailersAlone): "ext_proc_trailers"
        case .processing(.bodyTooLarge), .processing(.responseTooLarge): "limit_ext_proc"
        }
    }

    /// One sentence for a person; never a value of the request.
    package var detail: String {
        switch self {
        case .wire(let error): error.reason
        case .conversion(let error, _): error.reason
        case .noRoute: "no route matches this request"
        case .malformedPath(let offset): "the path has a percent sign without two hexadecimal digits at byte \(offset)"
        case .dotSegment(let offset):
            "the path has a dot segment, or what some servers read as one, at byte \(offset) (paths.dot_segments)"
        case .emptySegment(let offset): "the path has an empty segment at byte \(offset) (paths.empty_segments)"
        case .rewrittenDotSegment:
            "what the route takes from the path would be a dot segment in the path it rewrites to"
        case .headerValue(.control):
            "a header rule of the route takes a value from the request that holds a control character"
        case .headerValue(.tooLong):
            "a header rule of the route takes a value from the request that is longer than \(HeaderEdits.valueLimit) bytes"
        case .methodNotAllowed: "the route doesn't take this method"
        case .methodNotImplemented: "nothing here knows this method"
        case .misdirected: "the target is an https resource, and the connection is not secured"
        case .lengthRequired: "the route takes requests with a Content-Length only (require_length)"
        case .underscoreName: "a field name holds _, which the route doesn't take (underscores)"
        case .loopDetected(let count): "the request has passed here \(count) times already: it goes round in a loop"
        case .forwardedTooLong: "what is said of the client in X-Forwarded-For or Forwarded is longer than 8 KiB"
        case .badMaxForwards: "Max-Forwards is not a number"
        case .noTransform: "the route converts bodies, and Cache-Control forbids it for this one"
        case .partialContent: "the route converts bodies, and Content-Range says that this one is a part of another"
        case .typeNotAccepted: "the route doesn't take this Content-Type"
        case .contentCoding: "the route converts bodies, and this Content-Encoding can't be undone"
        case .notVerified(let fault, _, let field): fault.detail(lacking: field)
        case .challenge: "the request is its sender's challenge"
        case .unauthorized(true, _): "the request has no credentials"
        case .unauthorized(false, _): "the request's credentials are not good"
        case .rateLimited: "more requests come than the route takes (rate_limit); try again later"
        case .signedTooLarge(let limit): "the body passes the limit of \(limit) bytes that are signed (limits.signed)"
        case .notSigned: "the body can't be read in the way that it is signed for the upstream"
        case .bodyTooLarge(let limit): "the body passes the limit of \(limit) bytes (limits.body)"
        case .spool(.tooLarge(let limit), let upstream):
            "the body passes the \(limit) bytes that may be held until its length is known "
                + "(\(Self.spoolSetting(upstream)).memory and .disk)"
        case .spool(.total, _): "the bodies that wait on disk have used up their room (spool.total); try again later"
        case .spool(.full, _): "the body must be held until its length is known, and the disk is full"
        case .spool(.failed, _): "the body must be held until its length is known, and the disk failed"
        case .memoryExhausted: "the memory for bodies is used up (memory.bodies); try again later"
        case .headTimeout: "the request's head did not arrive in time"
        case .bodyTimeout: "the request's body stopped arriving"
        case .bodyTooSlow(let rate): "the request's body comes slower than \(rate) bytes in a second (min_rate)"
        case .requestTimeout: "the request was not served within its time (timeouts.request)"
        case .overloaded: "the proxy has no capacity for this request now"
        case .tooManyConnections: "this client has as many connections as it may (connections.per_client)"
        case .upstream(.unreachable(let reason)): "the upstream can't be reached: \(reason)"
        case .upstream(.timedOut): "the upstream didn't accept a connection in time"
        case .upstream(.insecure(let reason)): "no TLS connection to the upstream can be made: \(reason)"
        case .upstream(.otherProtocol(let reason)): "the upstream doesn't speak HTTP/2: \(reason)"
        case .upstream(.unresolved(let reason)): "the upstream's name can't be resolved: \(reason)"
        case .upstream(.unavailable): "no address of the upstream is fit for use"
        case .upstream(.overloaded): "the upstream has as many requests as it may have"
        case .upstream(.noResources(let reason)): "the proxy can open no connection to the upstream: \(reason)"
        case .upstream(.noLocalPort): "there is no free local port for the upstream (EADDRNOTAVAIL)"
        case .upstreamClosed: "the upstream closed the connection before it answered"
        case .upstreamReset(let code): "the upstream reset the request's stream before it answered, with \(code)"
        case .upstreamRefused: "the upstream refused the request, and has done nothing with it; try again later"
        case .upstreamTimeout: "the upstream didn't answer in time"
        case .badResponse(.wire(let error)): "the upstream's response can't be read: \(error.responseReason)"
        case .badResponse(.field(let error, let name)):
            "the upstream's response can't be read: \(error.responseReason): \(name)"
        case .badResponse(.unexpectedUpgrade): "the upstream switched protocols, which nobody had asked for"
        case .badResponse(.otherUpgrade):
            "the upstream's 101 has no Connection: Upgrade, or its Upgrade names no protocol that it was offered"
        case .badResponse(.malformed): "the upstream's response breaks a rule of HTTP/2"
        case .badResponse(.connection(let reason)): "the upstream's connection of HTTP/2 was ended: \(reason)"
        case .unacceptable(.status): "the upstream answered with a status that the route doesn't accept"
        case .unacceptable(.type): "the upstream answered with a Content-Type that the route doesn't convert"
        case .unacceptable(.charset):
            "the upstream answered with a Content-Type whose charset the route doesn't convert from"
        case .unacceptable(.coding): "the route converts responses, and this Content-Encoding can't be undone"
        case .unacceptable(.noTransform): "the route converts responses, and Cache-Control forbids it for this one"
        case .upstreamBody(let error, _): "the body of the upstream's response can't be converted: \(error.reason)"
        case .upstreamBodyCut: "the upstream closed the connection inside the body of its response"
        case .processing(.unknownRoute): "the metadata recast-route names no route"
        case .processing(.otherPath):
            "the route that the metadata recast-route names takes variables of its path, which this path doesn't match"
        case .processing(.mode(let reason)): reason
        case .processing(.trailersAlone):
            "trailers came behind an empty body, in front of which nothing can be written: send it without trailers"
        case .processing(.bodyTooLarge(let limit)):
            "what the body becomes passes the \(limit) bytes that the data plane takes in one message (BUFFERED)"
        case .processing(.responseTooLarge(let limit)):
            "what the response becomes passes the \(limit) bytes that the data plane takes in one message (BUFFERED)"
        }
    }

    /// The reason as the access log shows it, two letters as HAProxy's and Envoy's logs have them.
    package var flag: EndReason {
        switch self {
        case .wire, .malformedPath, .dotSegment, .emptySegment, .rewrittenDotSegment, .headerValue,
            .lengthRequired, .underscoreName, .forwardedTooLong, .badMaxForwards:
            .badRequest
        case .loopDetected: .loop
        case .notVerified, .challenge: .signature
        case .unauthorized: .authorization
        case .rateLimited: .tooManyRequests
        case .conversion(let error, _):
            switch error.kind {
            case .malformed: .badBody
            case .limit: .bodyLimit
            case .unsupported: .bodyType
            case .unrepresentable: .bodyCarry
            }
        case .noRoute, .methodNotAllowed, .methodNotImplemented, .misdirected: .noRoute
        case .typeNotAccepted, .contentCoding, .noTransform, .partialContent: .bodyType
        case .bodyTooLarge, .signedTooLarge, .spool(.tooLarge, _): .bodyLimit
        case .notSigned: .bodyCarry
        case .spool(.total, _), .spool(.full, _), .spool(.failed, _): .spool
        case .memoryExhausted: .memory
        case .headTimeout, .bodyTimeout, .bodyTooSlow: .clientTime
        case .requestTimeout(let isRead): isRead ? .upstreamTime : .clientTime
        case .overloaded, .tooManyConnections: .overload
        case .upstream(.unreachable), .upstream(.insecure), .upstream(.otherProtocol): .upstreamUnreachable
        case .upstream(.unresolved): .upstreamName
        case .upstream(.unavailable): .upstreamDown
        case .upstream(.overloaded), .upstreamRefused: .upstreamFull
        case .upstream(.noResources), .upstream(.noLocalPort): .resources
        case .upstream(.timedOut), .upstreamTimeout: .upstreamTime
        case .upstreamClosed, .upstreamReset: .upstreamGone
        case .badResponse: .upstreamBad
        case .unacceptable: .responseType
        case .upstreamBody(let error, _):
            switch error.kind {
            case .malformed, .unsupported: .responseBad
            case .limit: .responseLimit
            case .unrepresentable: .responseCarry
            }
        case .upstreamBodyCut: .upstreamGone
        case .processing(.bodyTooLarge): .bodyLimit
        case .processing(.responseTooLarge): .responseLimit
        case .processing(.trailersAlone): .badBody
        case .processing: .processing
        }
    }

    /// What the answer's fields say besides the usual ones: which methods or types would be taken.
    package var advice: (name: StaticString, value: String)? {
        switch self {
        case .methodNotAllowed(let methods): ("Allow", methods.joined(separator: ", "))
        case .contentCoding(let undone):
            ("Accept-Encoding", undone.isEmpty ? "identity" : undone.map(\.rawValue).joined(separator: ", "))
        case .typeNotAccepted(let types): ("Accept-Post", types.joined(separator: ", "))
        case .noTransform(let output): ("Accept-Post", output.mediaType)
        // A 401 says how one gets in (RFC 9110 §15.5.2).
        case .notVerified(.unfetched, _, _): ("Retry-After", "10")
        case .notVerified where status == 401: ("WWW-Authenticate", "Signature")
        case .unauthorized(_, let challenges): ("WWW-Authenticate", challenges)
        case .rateLimited(let fields): ("Retry-After", String(fields.reset))
        case .conversion(let error, let accepted) where error.kind == .unsupported && !accepted.isEmpty:
            ("Accept-Post", accepted.joined(separator: ", "))
        // Each of them may be over in a moment: bodies end, addresses are tried every second, the queue moves on.
        case .memoryExhausted, .spool(.total, _), .overloaded, .tooManyConnections, .upstream(.unavailable),
            .upstream(.overloaded), .upstream(.unresolved), .upstream(.noResources), .upstream(.noLocalPort),
            .upstreamRefused:
            ("Retry-After", "1")
        default: nil
        }
    }

    private static func spoolSetting(_ upstream: String) -> String { "upstreams.\(upstream).spool" }

    /// The code of a converted response's limit, which is its own code in an answer too.
    private static let heldLimitCode = "limit_response"

    /// The codec's own code, where the answer's is for a kind of fault.
    package var cause: String? {
        if case .upstreamBody(let error, _) = self, error.code != code { error.code } else { nil }
    }

    /// Where the fault is, in the body or, of a signature's field, in the head, and which setting concerns it.
    package var conversionError: ConversionError? {
        switch self {
        case .conversion(let error, _), .upstreamBody(let error, _): error
        case .notVerified(.tooLong, _, _), .signedTooLarge:
            ConversionError(.limit, code: code, reason: detail, setting: "limits.signed")
        case .notVerified(_, _, let lacking?):
            // A member of JSON is told by its pointer; a field of a head has no slash in its name.
            lacking.hasPrefix("/")
                ? ConversionError(.malformed, code: code, reason: detail).at(pointer: lacking)
                : ConversionError(.malformed, code: code, reason: detail, field: lacking)
        case .bodyTooLarge: ConversionError(.limit, code: code, reason: detail, setting: "limits.body")
        case .spool(.tooLarge, let upstream):
            ConversionError(.limit, code: code, reason: detail, setting: "\(Self.spoolSetting(upstream)).disk")
        case .spool(.total, _): ConversionError(.limit, code: code, reason: detail, setting: "spool.total")
        case .memoryExhausted: ConversionError(.limit, code: code, reason: detail, setting: "memory.bodies")
        default: nil
        }
    }

    /// The setting that decides, as the settings write it; nil where none does, or one of several.
    package var setting: String? {
        switch self {
        case .wire(let error): error.setting
        case .dotSegment: "paths.dot_segments"
        case .emptySegment: "paths.empty_segments"
        case .lengthRequired: "require_length"
        case .underscoreName: "underscores"
        case .loopDetected: "loop_limit"
        case .rateLimited: "rate_limit"
        case .headTimeout: "timeouts.header"
        case .bodyTimeout: "timeouts.body_gap"
        case .bodyTooSlow: "min_rate.request"
        case .requestTimeout: "timeouts.request"
        case .tooManyConnections: "connections.per_client"
        default: conversionError?.setting
        }
    }
}
