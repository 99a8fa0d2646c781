import ContentCoding
import HTTPWire
import Octets
import Testing

@testable import Gateway

/// What becomes of a head's fields: as HTTP/1 writes them, and as changes of a head that others send.
@Suite struct PassedFieldsTests {
    /// The fields by name in lower case, each with its values in order.
    typealias Fields = [String: [String]]

    private func fields(_ lines: Span<UInt8>) -> Fields {
        var fields: Fields = [:]
        for line in lines.lossyString().split(separator: "\r\n") {
            let parts = line.split(separator: ": ", maxSplits: 1, omittingEmptySubsequences: false)
            fields[parts[0].lowercased(), default: []].append(String(parts[1]))
        }
        return fields
    }

    /// What goes on by HTTP/1 and by changes of the received fields, which must be the same. `addLines` writes the new lines, on
    /// which the rules have their last word.
    private func result(
        _ passed: PassedFields, _ head: borrowing MessageHead, rules: HeaderEditor? = nil,
        dropped: HeaderEditor? = nil,
        addLines: (inout OutputBuffer) -> Void = { _ in }
    ) -> (fields: Fields, ruled: HeaderEditCount) {
        let ruled = rules?.constants ?? []
        var new = OutputBuffer()
        let none = PassedFields.Position(fields: 0, new: 0)
        addLines(&new)
        _ = rules?.apply(to: &new, at: none, adding: ruled.span)
        var changed: Fields = [:]
        for index in 0..<head.fieldCount {
            changed[head.name(index).lossyString().lowercased(), default: []].append(head.value(index).lossyString())
        }
        var isBehindRemovals = false
        passed.forEachChange(of: head, new: new.span, rules: rules, without: dropped) { change, name, value in
            let name = name.lossyString().lowercased()
            if change != .remove { isBehindRemovals = true }
            #expect(change != .remove || !isBehindRemovals)
            #expect(change != .set || changed[name] != [value.lossyString()])
            switch change {
            case .remove: changed[name] = nil
            case .set: changed[name] = [value.lossyString()]
            case .append: changed[name, default: []].append(value.lossyString())
            }
        }
        var output = OutputBuffer()
        // What stands before the fields is none of theirs.
        output.append("GET / HTTP/1.1\r\n")
        let start = output.count
        var position = passed.write(head, into: &output)
        if let dropped {
            let end = output.count
            _ = dropped.apply(to: &output, at: position, adding: Span())
            position = position.with(receivedUpTo: position.new - (end - output.count))
        }
        addLines(&output)
        let count = rules?.apply(to: &output, at: position, adding: ruled.span) ?? HeaderEditCount()
        let written = fields(output.span.extracting(start..<output.count))
        #expect(position.fields == start)
        #expect(changed == written)
        return (written, count)
    }

    private func route(
        forwarding: (inout ForwardingOptions) -> Void = { _ in }, request: HeaderEdits = HeaderEdits(),
        response: HeaderEdits = HeaderEdits(), responses: [ResponseRule] = []
    ) throws -> Route {
        var options = RouteOptions()
        forwarding(&options.forwarding)
        options.headers.request = request
        options.headers.response = response
        return Route(
            index: 0, name: "r0", match: RouteMatch(path: try PathPattern(parsing: "/*")), upstream: 0,
            responses: responses, options: options)
    }

    private func field(_ name: String, _ text: String) -> HeaderEdits.Field {
        HeaderEdits.Field(name: name, value: .literalMix([.literal(text)]), text: text)
    }

    /// Writes what the upstream is told of a client at `address`; empty: it came by a unix socket.
    private func client(
        _ format: ForwardedFormat, _ head: borrowing MessageHead, at address: String = "10.0.0.1", isIPv6: Bool = false,
        isSecure: Bool = false, isTrusted: Bool = false
    ) -> [UInt8] {
        var output = OutputBuffer()
        let peer = ClientPeer(
            isUnix: address.isEmpty, isIPv6: isIPv6, isSecure: isSecure, port: 8080,
            schemeLines: Array("X-Forwarded-Proto: http\r\nX-Forwarded-Port: 8080\r\n".utf8))
        format.appendClient(of: head, peer, isTrusted: isTrusted, to: &output) { $0.append(text: address) }
        return output.span.copied()
    }

    private func edits(
        _ head: borrowing MessageHead, _ rule: ForwardingRule, isConverted: Bool = false,
        convertsResponses: Bool = false, isTrusted: Bool = false, without replaced: KnownFieldSet = []
    ) -> PassedFields {
        PassedFields(
            request: head, by: rule, isConverted: isConverted, convertsResponses: convertsResponses,
            isTrusted: isTrusted, without: replaced)
    }

    @Test("of a request goes on what is end to end, and nothing that we say ourselves")
    func request() throws {
        let head = try requestHead(
            "POST", "/a",
            fields: [
                ("Connection", "close, X-Hop"), ("X-Hop", "1"), ("TE", "trailers"), ("Content-Length", "3"),
                ("X-A", "1"), ("x-a", "2"), ("a_b", "3"), ("X-Request-Id", "mine"), ("X-Forwarded-For", "6.6.6.6"),
                ("Forwarded", "for=6.6.6.6"), ("traceparent", "bad"), ("tracestate", "x=y"),
            ])
        let told = client(.xForwarded, head)
        let plain = edits(head, try route().forwarding)
        #expect(
            result(plain, head) { $0.append(told) }.fields == [
                "x-a": ["1", "2"], "x-forwarded-host": ["shop.example"], "x-forwarded-for": ["10.0.0.1"],
                "x-forwarded-proto": ["http"], "x-forwarded-port": ["8080"],
            ])
        let passing = try route {
            $0.underscores = .pass
            $0.forwarded = .off
        }
        #expect(client(.off, head, isTrusted: true).isEmpty)
        #expect(
            result(edits(head, passing.forwarding, isTrusted: true), head).fields == [
                "x-a": ["1", "2"], "a_b": ["3"], "x-forwarded-for": ["6.6.6.6"], "forwarded": ["for=6.6.6.6"],
            ])
    }

    @Test("received fields that are dropped go, and rules write such fields all the same")
    func dropped() throws {
        let head = try requestHead(
            "POST", "/", fields: [("svix-id", "evil"), ("X-A", "1"), ("SVIX_ID", "2"), ("Svix-Id", "3"), ("X-B", "1")])
        let dropped = HeaderEditor(HeaderEdits(remove: [.init(name: "svix-id")]))
        let route = try route { $0.underscores = .pass }
        let plain = edits(head, route.forwarding)
        #expect(result(plain, head, dropped: dropped).fields == ["x-a": ["1"], "x-b": ["1"]])
        var rules = HeaderEdits(remove: [.init(name: "x-", isPrefix: true)])
        rules.set = [field("svix-id", "ours")]
        #expect(
            result(plain, head, rules: HeaderEditor(rules), dropped: dropped) { $0.append("X-C: 1\r\n") }.fields
                == ["svix-id": ["ours"], "x-c": ["1"]])
        rules = HeaderEdits()
        rules.add = [field("svix-id", "ours")]
        #expect(
            result(plain, head, rules: HeaderEditor(rules), dropped: dropped).fields
                == ["svix-id": ["ours"], "x-a": ["1"], "x-b": ["1"]])
    }

    @Test(
        "white space around what a rule takes from the request is none of the value, and counts for no limit",
        arguments: [
            ("a", "a"), ("%20a", "a"), ("a%09", "a"), ("%09%20a%20b%20", "a b"), ("", nil), ("%20", nil),
            ("%09%20%09", nil),
        ] as [(String, String?)])
    func blanks(sent: String, value: String?) throws {
        let head = try requestHead("GET", "/?v=\(sent)")
        var edits = HeaderEdits()
        edits.set = [HeaderEdits.Field(name: "X-V", value: .query("v"), text: "${query.v}")]
        edits.add = [
            HeaderEdits.Field(
                name: "X-Mix", value: .literalMix([.source(.query("v")), .literal(" "), .source(.query("v"))]),
                text: "${query.v} ${query.v}")
        ]
        var lines: [UInt8] = []
        try HeaderEditor(edits).appendLines(
            from: head, captures: PathCaptures(), client: [UInt8]().span, to: &lines)
        let written = fields(lines.span)
        #expect(written["x-v"] == value.map { [$0] })
        #expect(written["x-mix"]?.allSatisfy { $0.first == "a" && !$0.hasSuffix(" ") } ?? (value == nil))
        let long = try requestHead("GET", "/?v=%20%20" + String(repeating: "l", count: HeaderEdits.valueLimit) + "%20")
        edits.add = []
        lines = []
        try HeaderEditor(edits).appendLines(from: long, captures: PathCaptures(), client: [UInt8]().span, to: &lines)
        #expect(lines.count == HeaderEdits.valueLimit + "X-V: \r\n".utf8.count)
    }

    @Test("a trusted peer's word is kept, and its address added to it")
    func trusted() throws {
        let head = try requestHead(
            "GET", "/",
            fields: [
                ("X-Forwarded-For", "1.1.1.1"), ("X-Forwarded-For", "2.2.2.2"), ("X-Forwarded-Proto", "https"),
                ("X-Forwarded-Port", "70x"), ("Forwarded", "for=1.1.1.1"),
            ])
        let plain = edits(head, try route().forwarding, isTrusted: true)
        let list = client(.xForwarded, head, isTrusted: true)
        #expect(
            result(plain, head) { $0.append(list) }.fields == [
                "x-forwarded-host": ["shop.example"], "x-forwarded-for": ["1.1.1.1, 2.2.2.2, 10.0.0.1"],
                "x-forwarded-proto": ["https"], "x-forwarded-port": ["443"],
            ])
        let kept = client(.forwarded, head, at: "::1", isIPv6: true, isSecure: true, isTrusted: true)
        #expect(
            result(plain, head) { $0.append(kept) }.fields == [
                "forwarded": [#"for=1.1.1.1, for="[::1]";host="shop.example";proto=https"#]
            ])
        let replaced = client(.forwarded, head, at: "")
        #expect(
            result(edits(head, try route().forwarding), head) { $0.append(replaced) }.fields == [
                "forwarded": [#"for=unknown;host="shop.example";proto=http"#]
            ])
    }

    @Test(
        "F5 of a trusted peer's lists of scheme, host and port the last member goes on",
        arguments: [
            (["https,https"], "https"), (["http, https"], "https"), (["https", "http"], "http"),
            (["http", "https ,"], "https"), (["https, gopher"], "gopher"), ([","], "http"), (["HTTPS"], "HTTPS"),
            (["wss"], "wss"), (["WS"], "WS"), (["https, a b"], nil), (["1"], nil), (["\"https\""], nil),
        ] as [([String], String?)])
    func lastMember(schemes: [String], scheme: String?) throws {
        let said = schemes.map { ("X-Forwarded-Proto", $0) }
        let head = try requestHead(
            "GET", "/",
            fields: said + [("X-Forwarded-Host", "evil.example, pub.example"), ("X-Forwarded-Port", "1,, 8443 ,")])
        let told = fields(client(.xForwarded, head, isTrusted: true).span)
        #expect(told["x-forwarded-proto"] == scheme.map { [$0] })
        #expect(told["x-forwarded-host"] == ["pub.example"])
        #expect(told["x-forwarded-port"] == ["8443"])
    }

    @Test("F5 X-Real-IP of a trusted peer stays behind where another one is written", arguments: [true, false])
    func realIP(writes: Bool) throws {
        let head = try requestHead("GET", "/", fields: [("X-Real-IP", "6.6.6.6"), ("X-Forwarded-For", "1.1.1.1")])
        let rule = try route {
            $0.forwarded = .off
            $0.realIP = true
        }.forwarding
        let written: KnownFieldSet = writes ? [.xRealIP] : []
        let passed = result(edits(head, rule, isTrusted: true, without: written), head).fields
        #expect(passed["x-real-ip"] == (writes ? nil : ["6.6.6.6"]))
        #expect(passed["x-forwarded-for"] == ["1.1.1.1"])
        #expect(result(edits(head, rule, without: written), head).fields.isEmpty)
    }

    @Test(
        "a range that names what it continues by a date isn't asked for where that may have got a coding",
        arguments: [
            ("Sat, 01 Jan 2022 00:00:00 GMT", "gzip", "", "1.1", true), ("\"x\"", "gzip", "", "1.1", false),
            ("W/\"x\"", "gzip", "", "1.1", false), ("", "gzip", "", "1.1", false),
            ("Sat, 01 Jan 2022 00:00:00 GMT", "identity", "", "1.1", false),
            ("Sat, 01 Jan 2022 00:00:00 GMT", "gzip", "no-transform", "1.1", false),
            ("Sat, 01 Jan 2022 00:00:00 GMT", "gzip", "no-cache", "1.1", true),
            ("Sat, 01 Jan 2022 00:00:00 GMT", "gzip", "", "1.0", false),
        ])
    func codedBeginning(
        ifRange: String, accepted: String, control: String, version: String, expected: Bool
    ) throws {
        let text =
            "GET / HTTP/\(version)\r\nHost: a\r\nRange: bytes=1-\r\nIf-Range: \(ifRange)\r\n"
            + "Accept-Encoding: \(accepted)\r\nCache-Control: \(control)\r\n\r\n"
        let bytes = Array(text.utf8)
        var head = MessageHead()
        var parser = RequestParser()
        #expect(try parser.parse(bytes.span, into: &head) == bytes.count)
        for plain in [false, true] {
            var options = CompressOptions()
            options.plain = plain
            #expect(Compression(options).mayHaveCodedBeginning(of: head) == (plain && expected))
        }
    }

    @Test("a conversion takes what speaks of the old bytes, and Max-Forwards of OPTIONS counts down")
    func converted() throws {
        let rule = try route().forwarding
        let head = try requestHead(
            "POST", "/",
            fields: [
                ("Content-Type", "a/b"), ("Content-Encoding", "gzip"), ("Range", "bytes=0-"), ("X-A", "1"),
                ("Accept-Encoding", "br"),
            ])
        #expect(
            result(edits(head, rule, isConverted: true), head).fields == ["x-a": ["1"], "accept-encoding": ["br"]])
        #expect(
            result(edits(head, rule, convertsResponses: true), head).fields
                == ["x-a": ["1"], "content-type": ["a/b"], "content-encoding": ["gzip"]])
        let options = try requestHead("OPTIONS", "/", fields: [("Max-Forwards", "7"), ("X-A", "1")])
        #expect(result(edits(options, rule), options).fields == ["max-forwards": ["6"], "x-a": ["1"]])
        let get = try requestHead("GET", "/", fields: [("Max-Forwards", "7")])
        #expect(result(edits(get, rule), get).fields == ["max-forwards": ["7"]])
    }

    @Test("rules have the last word on received and on new fields, and a prefix takes none of ours")
    func rules() throws {
        let rules = HeaderEdits(
            remove: [.init(name: "cookie"), .init(name: "x-", isPrefix: true), .init(name: "max-forwards")],
            set: [field("X-Set", "s"), field("X-Forwarded-Host", "h")],
            add: [field("Link", "a"), field("Accept", "b"), field("Link", "c")])
        let route = try route(request: rules)
        let head = try requestHead(
            "OPTIONS", "/",
            fields: [
                ("Cookie", "1"), ("X-A", "1"), ("Accept", "a"), ("Cookie", "2"), ("X-Set", "0"), ("Max-Forwards", "3"),
            ])
        let told = client(.xForwarded, head)
        let editor = try #require(route.headers?.request)
        let (fields, ruled) = result(edits(head, route.forwarding), head, rules: editor) { $0.append(told) }
        #expect(
            fields == [
                "accept": ["a", "b"], "link": ["a", "c"], "x-set": ["s"], "x-forwarded-host": ["h"],
                "x-forwarded-for": ["10.0.0.1"], "x-forwarded-proto": ["http"], "x-forwarded-port": ["8080"],
            ])
        // Of received lines two of Cookie, X-A, X-Set and Max-Forwards; of ours X-Forwarded-Host.
        #expect(ruled.dropped == 6 && ruled.written == 5)
    }

    @Test("a response's fields change with its body")
    func response() throws {
        let text =
            "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nETag: \"a\"\r\nETag: odd\r\nDigest: x\r\nVary: Origin\r\n"
            + "Content-Length: 5\r\nX-A: 1\r\nServer: s\r\n\r\n"
        var head = MessageHead()
        var parser = ResponseParser()
        let bytes = Array(text.utf8)
        #expect(try parser.parse(bytes.span, into: &head) == bytes.count)
        #expect(
            result(PassedFields(response: head), head).fields == [
                "content-type": ["text/xml"], "etag": ["\"a\"", "odd"], "digest": ["x"], "vary": ["Origin"],
                "x-a": ["1"], "server": ["s"],
            ])
        let changes: HeadChanges = [.otherBytes, .weakTag, .variesByAccept, .variesByCoding]
        let rules = HeaderEditor(HeaderEdits(remove: [.init(name: "server")], add: [field("Vary", "X")]))
        let type = Array("application/json".utf8)
        var added = OutputBuffer()
        let sources = ["accept", "accept-encoding", "origin", "x-tenant"]
        let addsVary = changes.addsVary(to: head, sources)
        #expect(addsVary)
        changes.appendLines(to: &added, of: head, contentType: type.span, coding: .gzip, vary: sources)
        let lines = added.span.copied()
        let fields = PassedFields(response: head, changes, replacesType: true, replacing: [.vary])
        let converted = result(fields, head, rules: rules) { $0.append(lines) }
        #expect(
            converted.fields == [
                "content-type": ["application/json"], "etag": ["W/\"a\""],
                "vary": ["Origin, Accept, Accept-Encoding, x-tenant", "X"], "x-a": ["1"],
                "content-encoding": ["gzip"],
            ])
        let dropsTag = HeaderEditor(HeaderEdits(remove: [.init(name: "etag")]))
        #expect(result(PassedFields(response: head, .weakTag), head, rules: dropsTag).fields["etag"] == nil)
    }

    @Test(
        "Vary is one line with all names, each once, and stays as it came where it says enough",
        arguments: [
            ([], [], [], nil), ([], .variesByAccept, [], "Accept"),
            ([], [.variesByAccept, .variesByCoding], ["accept", "x-a"], "Accept, Accept-Encoding, x-a"),
            (
                ["Origin", "", "Cookie, X-A"], .variesByCoding, ["x-a", "x-b"],
                "Origin, Cookie, X-A, Accept-Encoding, x-b"
            ),
            (["ACCEPT", "accept-encoding"], [.variesByAccept, .variesByCoding], [], nil),
            (["Origin", "*"], [.variesByAccept, .variesByCoding], ["x-a"], nil), (["Origin"], [], ["origin"], nil),
            ([""], [], ["x-a"], "x-a"), (["Origin"], .variesByAccept, ["*", "x-a"], "*"),
        ] as [([String], HeadChanges, [String], String?)])
    func vary(lines: [String], changes: HeadChanges, sources: [String], wanted: String?) throws {
        var head = MessageHead()
        var parser = ResponseParser()
        let bytes = Array(
            ("HTTP/1.1 200 OK\r\n" + lines.map { "Vary: \($0)\r\n" }.joined() + "\r\n").utf8)
        #expect(try parser.parse(bytes.span, into: &head) == bytes.count)
        let addsVary = changes.addsVary(to: head, sources)
        #expect(addsVary == (wanted != nil))
        guard let wanted else { return }
        var added = OutputBuffer()
        changes.appendLines(to: &added, of: head, contentType: nil, coding: nil, vary: sources)
        let text = added.span.copied()
        #expect(
            result(PassedFields(response: head, changes, replacing: [.vary]), head) { $0.append(text) }.fields == [
                "vary": [wanted]
            ])
    }

    @Test(
        "a tag becomes weak, and what is none goes (RFC 9110 section 8.8.3)",
        arguments: [
            ("\"a\"", "W/\"a\""), ("\"\"", "W/\"\""), ("W/\"a\"", "W/\"a\""), ("\"\u{E9}/~!\"", "W/\"\u{E9}/~!\""),
            ("a", nil),
            ("\"a", nil), ("a\"", nil), ("\"", nil), ("W/", nil), ("W/\"", nil), ("W/a", nil), ("w/\"a\"", nil),
            ("\"a\", \"b\"", nil), ("\"a b\"", nil), ("\"a\"b\"", nil),
        ] as [(String, String?)])
    func weakTags(tag: String, weak: String?) throws {
        var head = MessageHead()
        var parser = ResponseParser()
        let bytes = Array("HTTP/1.1 200 OK\r\nETag: \(tag)\r\n\r\n".utf8)
        #expect(try parser.parse(bytes.span, into: &head) == bytes.count)
        #expect(result(PassedFields(response: head, .weakTag), head).fields["etag"] == weak.map { [$0] })
    }

    @Test(
        "edits are the same as lines and as changes of a head, whatever the head and the rules are",
        arguments: 0..<200)
    func random(seed: Int) throws {
        var generator = Generator(state: UInt64(seed) &+ 1)
        let names = [
            "X-A", "x-b", "Cookie", "Accept", "Max-Forwards", "X-Forwarded-For", "a_b", "Connection", "Via", "Link",
            "Traceparent", "X-Hop",
        ]
        var fields: [(String, String)] = []
        for _ in 0..<generator.next(9) {
            let name = names[generator.next(names.count)]
            let value =
                name == "Connection"
                ? ["close", "x-hop", "keep-alive, link"][generator.next(3)] : "\(generator.next(4))"
            fields.append((name, value))
        }
        let head = try requestHead(generator.next(2) == 0 ? "OPTIONS" : "GET", "/", fields: fields)
        let removals = (0..<generator.next(3)).map { _ in
            HeaderEdits.Removal(
                name: ["x-", "x-a", "cookie", "max-", "via", "a-b"][generator.next(6)], isPrefix: generator.next(2) == 0
            )
        }
        let set = generator.next(2) == 0 ? [field(names[generator.next(4)], "set")] : []
        let added = (0..<generator.next(3)).map { field(names[generator.next(4)], "added \($0)") }
        let rules = HeaderEdits(remove: removals, set: set, add: added)
        let passes = generator.next(2) == 0
        let route = try route(forwarding: { $0.underscores = passes ? .pass : .drop }, request: rules)
        let isTrusted = generator.next(2) == 0
        let told = client(.xForwarded, head, isTrusted: isTrusted)
        _ = result(
            edits(head, route.forwarding, isTrusted: isTrusted), head, rules: route.headers?.request
        ) { $0.append(told) }
    }

    /// Numbers that are the same in each run.
    private struct Generator {
        var state: UInt64

        mutating func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
    }
}
