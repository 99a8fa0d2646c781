internal import EventLoop
internal import HTTPWire
internal import Octets
internal import Serialization

// The head of the request that goes upstream: end-to-end fields as they came, everything that speaks of the framing, of
// this hop or of the body's encoding anew.
extension Exchange {
    func writeRequestHead(framing: BodyFraming, route: Route) throws(ConversionError) {
        HeadWriter.beginRequestLine(method: request.method, into: &framed)
        try writeTarget(of: route)
        HeadWriter.endRequestLine(into: &framed)
        HeadWriter.field("Host", request.authority, into: &framed)
        copyFields()
        if let conversion = conversion {
            HeadWriter.field("Content-Type", conversion.contentType.span, into: &framed)
        }
        writeForwarded()
        HeadWriter.field("X-Request-Id", requestID.span, into: &framed)
        switch framing {
        case .length(let count): HeadWriter.field("Content-Length", decimal: count, into: &framed)
        case .chunked: HeadWriter.field("Transfer-Encoding", "chunked", into: &framed)
        case .none, .untilClose:
            // A method that usually has a body says so when it has none (RFC 9110 §8.6).
            if request.methodKind.mayHaveBody { HeadWriter.field("Content-Length", "0", into: &framed) }
        }
        HeadWriter.end(into: &framed)
    }

    private func writeTarget(of route: Route) throws(ConversionError) {
        if let rewrite = route.rewrite {
            let client = clientAddress
            try rewrite.appendTarget(of: request, captures: captures, client: client.span, to: &framed)
            return
        }
        framed.append(request.path)
        if let query = request.query {
            framed.append(UInt8(ascii: "?"))
            framed.append(query)
        }
    }

    private func copyFields() {
        for index in 0..<request.fieldCount where !request.isHopByHop(index) {
            switch request.known(index) {
            case .host, .contentLength, .transferEncoding, .expect, .xForwardedFor, .xForwardedProto, .xForwardedHost,
                .xForwardedPort, .forwarded, .xRequestID:
                continue
            case .contentType, .contentEncoding, .contentMD5, .contentDigest, .reprDigest, .digest, .contentRange, .range,
                .ifRange:
                // They speak of the bytes as they were before the conversion (reliability F2).
                if conversion != nil { continue }
            default:
                // Servers of the CGI family read `a_b` as `a-b`: such a name could pass for one that we set.
                if request.hasUnderscore(index) { continue }
            }
            HeadWriter.field(request.name(index), request.value(index), into: &framed)
        }
    }

    /// What the client said of itself is replaced: nobody between it and us is known to be trusted.
    private func writeForwarded() {
        if let downstream = downstream, !downstream.peer.isUnix {
            framed.append("X-Forwarded-For: ")
            downstream.peer.appendHost(to: &framed)
            framed.append("\r\n")
        }
        HeadWriter.field("X-Forwarded-Proto", "http", into: &framed)
        HeadWriter.field("X-Forwarded-Host", request.authority, into: &framed)
    }
}
