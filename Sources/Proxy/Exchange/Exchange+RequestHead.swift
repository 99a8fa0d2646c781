internal import EventLoop
internal import HTTPWire
internal import Octets
internal import Serialization

// The head of the request that goes upstream: end-to-end fields as they came, everything that speaks of the framing, of
// this hop or of the body's encoding anew.
extension Exchange {
    func writeRequestHead(framing: BodyFraming, route: Route) throws(ConversionError) {
        // Written into a buffer of this function's own: every access to a property of a class costs a check.
        var output = OutputBuffer()
        swap(&output, &framed)
        defer { swap(&output, &framed) }
        if route.rewrite != nil || readsQuery || writesQuery {
            request.appendMethod(to: &output)
            try appendTarget(of: route, to: &output)
            output.append(" HTTP/1.1\r\n")
        } else {
            HeadWriter.requestLine(of: request, into: &output)
        }
        request.appendForwardedFields(
            isConverted: conversion != nil, convertsResponses: route.convertsResponses, to: &output)
        // Nothing here undoes a content coding, and without the field the upstream might choose any (RFC 9110 §12.5.3).
        if route.convertsResponses { HeadWriter.field("Accept-Encoding", "identity", into: &output) }
        if let conversion, !writesQuery {
            // Known by now: the head is written when there is output, or the conversion has ended.
            record.output = conversion.outputEncoding
            let contentType = conversion.contentType
            HeadWriter.clean("Content-Type", contentType.span, into: &output)
        }
        // What the client said of itself is replaced: nobody between it and us is known to be trusted.
        if let downstream, !downstream.peer.isUnix {
            output.append("X-Forwarded-For: ")
            downstream.peer.appendIP(to: &output)
            output.append("\r\n")
        }
        let isSecured = downstream?.stream.isSecured == true
        output.append(isSecured ? "X-Forwarded-Proto: https\r\n" : "X-Forwarded-Proto: http\r\n")
        let requestID = requestID
        HeadWriter.clean("X-Request-Id", requestID.span, into: &output)
        switch framing {
        case .length, .chunked: HeadWriter.framing(framing, into: &output)
        case .none, .untilClose:
            // A method that usually has a body says so when it has none (RFC 9110 §8.6).
            if request.methodKind.mayHaveBody { HeadWriter.field("Content-Length", decimal: 0, into: &output) }
        }
        HeadWriter.end(into: &output)
    }
}

extension Method {
    /// Whether a request of this method usually has a body, so that one without says so.
    var mayHaveBody: Bool { self == .post || self == .put || self == .patch }
}

extension MessageHead {
    fileprivate func appendMethod(to output: inout OutputBuffer) {
        output.append(method)
        output.append(ASCII.space)
    }

    /// Host, the client's fields that go on, and what the Host field was for those behind the upstream.
    fileprivate func appendForwardedFields(
        isConverted: Bool, convertsResponses: Bool, to output: inout OutputBuffer
    ) {
        HeadWriter.clean("Host", authority, into: &output)
        for index in 0..<fieldCount where !isHopByHop(index) {
            switch known(index) {
            case .host, .contentLength, .transferEncoding, .expect, .xForwardedFor, .xForwardedProto, .xForwardedHost,
                .xForwardedPort, .xRealIP, .forwarded, .xRequestID:
                continue
            case .contentType, .contentEncoding, .contentMD5, .contentDigest, .reprDigest, .digest, .contentRange:
                // They speak of the bytes as they were before the conversion (docs/rules.md F2).
                if isConverted { continue }
            case .range, .ifRange:
                if isConverted || convertsResponses { continue }
            case .acceptEncoding, .wantContentDigest, .wantReprDigest, .wantDigest:
                // They ask for bytes that the client wouldn't get.
                if convertsResponses { continue }
            default:
                // Servers of the CGI family read `a_b` as `a-b`: such a name could pass for one that we set.
                if hasUnderscore(index) { continue }
            }
            HeadWriter.field(index, of: self, into: &output)
        }
        HeadWriter.clean("X-Forwarded-Host", authority, into: &output)
    }

    /// Replaces `text` by the value of a field. Returns false, and changes nothing, when there is none, or when it is
    /// empty or longer than `limit`.
    func copyValue(of field: KnownField, limit: Int, to text: inout [UInt8]) -> Bool {
        guard let index = first(field) else { return false }
        let value = value(index)
        guard !value.isEmpty, value.count <= limit else { return false }
        text.removeAll(keepingCapacity: true)
        text.append(contentsOf: value)
        return true
    }

    /// Whether a content coding other than `identity` was applied to the body.
    var hasContentCoding: Bool {
        guard let index = first(.contentEncoding) else { return false }
        return !value(index).isEqualIgnoringCase(to: "identity")
    }
}
