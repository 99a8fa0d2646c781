internal import EventLoop
internal import Gateway
internal import HTTPWire
internal import Octets
internal import Transcoding

// The head of the request that goes upstream: end-to-end fields as they came, everything that speaks of the framing, of
// this hop or of the body's encoding anew; what it tells of the client (docs/rules.md F5), and the last word of a route's rules on
// both heads (docs/forwarding.md).
extension Exchange {
    // MARK: The client

    /// Looks, where the peer is trusted, for the client behind it.
    func findClient(_ snapshot: ConfigurationSnapshot, _ route: Route) throws(Refusal) {
        guard let peer = downstream?.peer, snapshot.forwarding.trusted.contains(peer) else { return }
        trustsPeer = true
        let format = route.forwarding.format
        let size = ClientChain.size(of: request, format == .forwarded ? .forwarded : .xForwardedFor)
        guard size <= ClientChain.limit else { throw .forwardedTooLong }
        guard size > 0 else { return }
        let client = ClientChain.client(of: request, format, peer: peer, trusted: snapshot.forwarding.trusted)
        if client != peer { realClient = client }
    }

    /// The client as far as it is known: by what trusted peers say, else the peer.
    var client: SocketAddress? { realClient ?? downstream?.peer }

    /// The address that X-Real-IP tells the upstream, on routes that write one; a peer on a unix socket has none.
    @inline(__always)
    private func realIP(by rule: ForwardingRule) -> SocketAddress? {
        guard rule.realIP, let client, !client.isUnix else { return nil }
        return client
    }

    /// Where the client's request went, as far as a trusted peer says it.
    var origin: ClientChain.Origin {
        guard trustsPeer, request.hasFields, let route, let snapshot else { return ClientChain.Origin() }
        return ClientChain.origin(of: request, route.forwarding.format, trusted: snapshot.forwarding.trusted)
    }

    /// The authorities that the client may have called: what Host says, and what a trusted peer says of it.
    var calledAuthorities: [[UInt8]] {
        let called = [request.authority.copied()]
        let origin = origin
        return origin.host.isEmpty ? called : called + [origin.authority]
    }

    // MARK: Header rules

    /// Takes what the rules want of the request's head, before anything goes upstream. It is refused where a
    /// value could begin a line of its own.
    func takeHeaderValues(_ editors: HeaderEditors) throws(Refusal) {
        headerLines.removeAll(keepingCapacity: true)
        // Nothing of a head has been written yet: the buffer is free for the address.
        if editors.readsClient, let client, !client.isUnix { client.appendIP(to: &framed) }
        defer { framed.removeAll() }
        do throws(HeaderValueFault) {
            let certificate = certificate(for: editors)
            try editors.request?.appendLines(
                from: request, captures: captures, client: framed.span, certificate, to: &headerLines)
            responseHeaderLines = headerLines.count
            try editors.response?.appendLines(
                from: request, captures: captures, client: framed.span, certificate, to: &headerLines)
            hasHeaderLines = true
        } catch {
            throw .headerValue(error)
        }
    }

    /// Gives the route's rules their last word on the fields of the request that `output` ends with.
    func applyRequestRules(_ editor: HeaderEditor, to output: inout OutputBuffer, at position: PassedFields.Position) {
        let lines = hasHeaderLines ? headerLines : editor.constants
        let end = hasHeaderLines ? responseHeaderLines : lines.count
        record.headers = editor.apply(to: &output, at: position, adding: lines.span.extracting(0..<end))
    }

    /// Gives the route's rules their last word on the fields of the upstream's response, as `applyRequestRules`.
    func applyResponseRules(_ editor: HeaderEditor, to output: inout OutputBuffer, at position: PassedFields.Position) {
        let lines = hasHeaderLines ? headerLines : editor.constants
        let first = hasHeaderLines ? responseHeaderLines : 0
        record.responseHeaders = editor.apply(
            to: &output, at: position, adding: lines.span.extracting(first..<lines.count))
    }

    /// Adds to an answer of ours, whose fields stand in `output` from `start` on, what the route's rules set and add.
    func appendRuledFields(to output: inout OutputBuffer, from start: Int) {
        guard let editors = route?.headers, let editor = editors.response else { return }
        if editor.hasSources, !hasHeaderLines { takeAnswerValues(editors, editor) }
        let lines = hasHeaderLines ? headerLines : editor.constants
        let first = hasHeaderLines ? responseHeaderLines : 0
        record.responseHeaders.written = HeaderEditor.appendOthers(
            lines.span.extracting(first..<lines.count), to: &output, from: start)
        appendRateFields(to: &output, from: start)
    }

    /// Takes what the rules for responses want of a request that is answered before its rules were looked at, or that they refuse: a
    /// browser that may not read a 401 or 429 can't say what is wrong. What no field can have is left out.
    private func takeAnswerValues(_ editors: HeaderEditors, _ editor: HeaderEditor) {
        headerLines.removeAll(keepingCapacity: true)
        responseHeaderLines = 0
        var address = OutputBuffer()
        if editors.readsClient {
            if realClient == nil, let snapshot, let route, snapshot.forwarding.hasTrusted {
                // Where the chain is too long, the peer is all that is known.
                do throws(Refusal) { try findClient(snapshot, route) } catch {}
            }
            if let client, !client.isUnix { client.appendIP(to: &address) }
        }
        editor.appendFittingLines(
            from: request, captures: captures, client: address.span, certificate(for: editors), to: &headerLines)
        hasHeaderLines = true
    }

    /// The certificate that the client's end of the connection has shown, where a rule wants a part of it. By external processing that
    /// end is the data plane's.
    private func certificate(for editors: HeaderEditors) -> (any ClientCertificate)? {
        editors.readsCertificate && forwarder == nil ? downstream?.tlsFacts?.client : nil
    }

    // MARK: The head

    func writeRequestHead(
        framing: BodyFraming, route: Route, _ snapshot: ConfigurationSnapshot
    ) throws(ConversionError) {
        // Written into a buffer of this function's own: every access to a property of a class costs a check.
        var output = OutputBuffer()
        swap(&output, &framed)
        defer { swap(&output, &framed) }
        if route.rewrite != nil || requestTranscoder.readsQuery || requestTranscoder.writesQuery {
            request.appendMethod(to: &output)
            try appendTarget(of: route, to: &output)
            output.append(" HTTP/1.1\r\n")
        } else {
            HeadWriter.requestLine(of: request, into: &output)
        }
        let rule = route.forwarding
        // HTTP/1.0 may name no host, and 1.1 and 2 have servers that refuse such a request, or end the connection that it came by.
        let namesNoHost = request.authority.isEmpty
        if rule.replacesHost || namesNoHost {
            let line = snapshot.forwarding.hosts[route.index]
            output.append(line.span)
        } else {
            HeadWriter.clean("Host", request.authority, into: &output)
        }
        if worker.isTracing { beginTrace() }
        let isTraced = watchers.contains(.trace)
        var replaced: KnownFieldSet = isTraced ? trace.replacedFields : []
        if beginsAnew(route) { replaced.formUnion([.range, .ifRange]) }
        if realIP(by: rule) != nil { replaced.formUnion([.xRealIP]) }
        let passed = PassedFields(
            request: request, by: rule, isConverted: requestTranscoder.isBegun,
            convertsResponses: route.convertsResponses,
            isTrusted: trustsPeer, without: replaced)
        var position = passed.write(request, into: &output)
        if sender != nil { position = dropUnchecked(from: &output, at: position) }
        writeConversion(of: route, into: &output)
        writeClient(rule, into: &output)
        if let via = snapshot.forwarding.via {
            let line = via.line(request.version)
            output.append(line.span)
        }
        HeadWriter.clean("X-Request-Id", requestID.span, into: &output)
        if isTraced { trace.appendParent(to: &output) }
        if watchers.contains(.replay) { appendReplayMark(to: &output) }
        if let rules = route.headers?.request { applyRequestRules(rules, to: &output, at: position) }
        if let rule = sender { appendVerification(rule, to: &output) }
        if let signature { appendSignature(signature, to: &output, at: position) }
        // From here on it is of this hop and of the framing, which no rule reaches.
        if machine.expectation == .asked {
            HeadWriter.field("Expect", "100-continue", into: &output)
        }
        if passesTrailers {
            request.appendTrailerFields(trailerNames(of: route), framing: framing, to: &output)
        }
        for (index, name) in offeredUpgrades.enumerated() {
            if index == 0 { output.append("Connection: Upgrade\r\n") }
            HeadWriter.clean("Upgrade", name.span, into: &output)
        }
        switch framing {
        case .length, .chunked: HeadWriter.framing(framing, into: &output)
        case .none, .untilClose:
            // A method that usually has a body says so when it has none (RFC 9110 §8.6). Any other does where the client said it:
            // a signature may cover the field, and there are servers that want one of each method but GET.
            if request.methodKind.mayHaveBody || request.framing == .length(0) {
                HeadWriter.field("Content-Length", decimal: 0, into: &output)
            }
        }
        HeadWriter.end(into: &output)
    }

    /// Whether the request asks for a range that could go behind content in a coding of ours: without Range and If-Range the answer is
    /// whole, and the client begins anew.
    @inline(__always)
    private func beginsAnew(_ route: Route) -> Bool {
        request.contains(.ifRange) && route.compression?.mayHaveCodedBeginning(of: request) == true
    }

    /// Writes what the conversions of the request and of its response say in the head.
    @inline(__always)
    private func writeConversion(of route: Route, isEarly: Bool = false, into output: inout OutputBuffer) {
        if route.convertsResponses {
            AcceptEncodingField.write(route.askedCodings, takenBy: request, into: &output)
        }
        if !isEarly, let conversion = requestTranscoder.conversion, !requestTranscoder.writesQuery {
            // Known by now: the head is written when there is output, or the conversion has ended.
            record.output = conversion.outputEncoding
            let contentType = conversion.contentType
            HeadWriter.clean("Content-Type", contentType.span, into: &output)
        }
    }

    /// Tells what becomes of the request's head where what brought the request forwards it: the changes of its fields, and its target
    /// as `:path` and its host as `:authority` where those are other ones. What is of the client and of the hop stays the forwarder's.
    ///
    /// - Parameters:
    ///   - bringsResponse: whether the response's content comes here, where it may get a coding.
    ///   - isEarly: whether nothing is known of the request's content yet: what is told then is told again later, but for what is added.
    func forEachRequestChange(
        bringsResponse: Bool, isEarly: Bool = false,
        _ change: (PassedFields.Change, _ name: Span<UInt8>, _ value: Span<UInt8>) -> Void
    ) throws(Refusal) {
        guard let route else { return }
        var lines = OutputBuffer()
        let movesQuery = requestTranscoder.readsQuery || requestTranscoder.writesQuery
        if movesQuery && !isEarly || route.rewrite != nil {
            do throws(ConversionError) {
                try appendTarget(of: route, isEarly: isEarly, to: &lines)
            } catch {
                throw .conversion(error, accepted: [])
            }
            // What was said early, with the query that came, is taken back even where the target came so.
            let isSaid = movesQuery && !isEarly && route.rewrite != nil
            let isSame = lines.span.isEqual(to: request.target)
            if isSaid || !isSame { change(.set, Self.pathName.span, lines.span) }
            lines.removeAll()
        }
        if case .fixed(let host) = route.forwarding.host {
            let host = Array(host.utf8)
            if !host.span.isEqual(to: request.authority) { change(.set, Self.authorityName.span, host.span) }
        }
        writeConversion(of: route, isEarly: isEarly, into: &lines)
        let requestID = requestID
        HeadWriter.clean("X-Request-Id", requestID.span, into: &lines)
        if let rules = route.headers?.request { applyRequestRules(rules, to: &lines, at: .start) }
        if let rule = sender { appendVerification(rule, to: &lines) }
        if let signature { appendSignature(signature, to: &lines, at: .start) }
        let passed = PassedFields(
            processedRequest: request, by: route.forwarding, isConverted: !isEarly && requestTranscoder.isBegun,
            convertsResponses: route.convertsResponses,
            without: bringsResponse && beginsAnew(route) ? [.range, .ifRange] : [])
        passed.forEachChange(
            of: request, new: lines.span, rules: route.headers?.request, without: uncheckedFields, change)
    }

    private static let pathName = Array(":path".utf8)
    private static let authorityName = Array(":authority".utf8)

    /// Tells the upstream of the client, in the fields of the route's format.
    func writeClient(_ rule: ForwardingRule, into output: inout OutputBuffer) {
        guard let downstream else { return }
        let peer = downstream.peer
        let isSecure = downstream.isSecure
        let listener = downstream.listener
        // Nearly every address is none to be looked at in another form, of which it would be a copy.
        let address = peer.isIPv4 ? peer : peer.unmapped
        rule.format.appendClient(
            of: request,
            ClientPeer(
                isUnix: address.isUnix, isIPv6: address.isIPv6, isSecure: isSecure, port: listener.port,
                schemeLines: isSecure ? listener.securedSchemeLines : listener.schemeLines),
            isTrusted: trustsPeer, to: &output
        ) { address.appendIP(to: &$0) }
        if let client = realIP(by: rule) {
            output.append("X-Real-IP: ")
            client.unmapped.appendIP(to: &output)
            output.append("\r\n")
        }
    }

    /// Writes a target that doesn't pass as it came: what the route rewrites, without a query that became the body, and with
    /// the query that the body became last. `isEarly`: with the query that came, for nothing has become of it or of a body yet.
    func appendTarget(of route: Route, isEarly: Bool = false, to output: inout OutputBuffer) throws(ConversionError) {
        let start = output.count
        let keepsQuery = isEarly || !requestTranscoder.readsQuery
        if let rewrite = route.rewrite {
            let client = clientAddress
            try rewrite.appendTarget(
                of: request, captures: captures, client: client.span, keepsQuery: keepsQuery,
                to: &output)
        } else {
            request.appendPath(withQuery: keepsQuery, to: &output)
        }
        guard !isEarly, requestTranscoder.writesQuery, !requestTranscoder.query.isEmpty else { return }
        let hasQuery = Scan.firstIndex(of: UInt8(ascii: "?"), in: output.span, from: start) != nil
        output.append(UInt8(ascii: hasQuery ? "&" : "?"))
        output.append(requestTranscoder.query)
    }
}

extension MessageHead {
    fileprivate func appendMethod(to output: inout OutputBuffer) {
        output.append(method)
        output.append(ASCII.space)
    }

    /// Trailer and TE on a route that passes the trailer fields `names`: which of them follow, and whether the client takes any.
    fileprivate func appendTrailerFields(_ names: [[UInt8]]?, framing: BodyFraming, to output: inout OutputBuffer) {
        if framing == .chunked { appendTrailerField(names, to: &output) }
        if acceptsTrailers { output.append("TE: trailers\r\nConnection: TE\r\n") }
    }

    /// Trailer with those of `names` that it announced; nil: with nothing, as who lets all pass doesn't ask.
    func appendTrailerField(_ names: [[UInt8]]?, to output: inout OutputBuffer) {
        guard contains(.trailer), let names else { return }
        for name in names where lists(member: name.span, in: .trailer) {
            HeadWriter.clean("Trailer", name.span, into: &output)
        }
    }

    fileprivate func appendPath(withQuery: Bool, to output: inout OutputBuffer) {
        output.append(path)
        guard withQuery, let query else { return }
        output.append(UInt8(ascii: "?"))
        output.append(query)
    }
}
