internal import HTTPWire
internal import Octets
internal import Serialization

// Conversions between the query of the target and the body: `query -> json` and `json -> query`, for upstreams that take
// their parameters at the other place than their clients send them.
extension Exchange {
    /// Bytes that a query may become before its conversion is whole. A request line is bounded (16 KiB) and its fields are
    /// (`limits.fields`), so this is never reached; it only says that a query is converted in one go.
    private static let queryOutput = 4 * 1024 * 1024

    private static let formType = Array(BodyEncoding.form.mediaType.utf8)

    var readsQuery: Bool { conversion != nil && route?.conversion?.plan.readsQuery == true }
    var writesQuery: Bool { conversion != nil && route?.conversion?.plan.writesQuery == true }

    /// Starts the conversion of the query. Returns false when the request was refused: it has a body of its own, which
    /// would be lost.
    func chooseQueryConversion(_ rule: ConversionRule, route: Route, hasBody: Bool) -> Bool {
        guard let generation else { return false }
        do throws(ConversionError) {
            guard !hasBody else {
                throw ConversionError(
                    .unrepresentable, code: "query_with_body",
                    reason: "the route makes the body from the query, and the request has a body already")
            }
            let sources = try values(of: rule.sources)
            let conversion = try generation.takeConversion(
                rule, route: route, contentType: Self.formType.span, sources: sources)
            waiting.highWatermark = Self.queryOutput
            use(conversion, of: rule)
            return true
        } catch {
            refuse(.conversion(error, accepted: []))
            return false
        }
    }

    /// Feeds the query to its conversion, as if it were a body that has come whole. Returns false when it was refused.
    func convertQuery() -> Bool {
        guard let conversion else { return true }
        let query = request.copiedQuery
        do throws(ConversionError) {
            let fed = try conversion.feed(query.span)
            precondition(fed == query.count, "a query filled more than its bounds allow")
            return true
        } catch {
            refuse(.conversion(error, accepted: []))
            return false
        }
    }

    /// Takes the converted body for the query that the upstream gets. Returns false when it is too long for a target.
    func takeQuery(from conversion: Conversion) -> Bool {
        conversion.withOutput { output in
            writtenQuery.removeAll(keepingCapacity: true)
            writtenQuery.append(contentsOf: output.span)
            output.removeAll()
        }
        guard writtenQuery.count + request.target.count <= worker.wireLimits.requestLine else {
            refuseLongQuery()
            return false
        }
        return true
    }

    /// A target has a bound, ours as everybody's (RFC 9112 §3).
    func refuseLongQuery() {
        let error = ConversionError(
            .unrepresentable, code: "query_too_long",
            reason: "the body makes a query beyond \(worker.wireLimits.requestLine) bytes, which no target can carry")
        refuse(.conversion(error, accepted: []))
    }

    /// Writes a target that doesn't pass as it came: what the route rewrites, without a query that became the body, and with
    /// the query that the body became last.
    func appendTarget(of route: Route, to output: inout OutputBuffer) throws(ConversionError) {
        let start = output.count
        if let rewrite = route.rewrite {
            let client = clientAddress
            try rewrite.appendTarget(
                of: request, captures: captures, client: client.span, keepsQuery: !readsQuery, to: &output)
        } else {
            request.appendPath(withQuery: !readsQuery, to: &output)
        }
        guard writesQuery, !writtenQuery.isEmpty else { return }
        let hasQuery = Scan.firstIndex(of: UInt8(ascii: "?"), in: output.span, from: start) != nil
        output.append(UInt8(ascii: hasQuery ? "&" : "?"))
        output.append(writtenQuery)
    }
}

extension MessageHead {
    /// The query as it was written, empty where there is none.
    fileprivate var copiedQuery: [UInt8] {
        guard let query else { return [] }
        return query.copied()
    }

    fileprivate func appendPath(withQuery: Bool, to output: inout OutputBuffer) {
        output.append(path)
        guard withQuery, let query else { return }
        output.append(UInt8(ascii: "?"))
        output.append(query)
    }
}
