import Gateway
import Octets
import Proxy
import Testing
import Transcoding

/// Header rules (O1): the route's last word on the fields of both heads.
@Suite struct HeaderRuleTests {
    private func field(_ name: String, _ text: String) -> HeaderEdits.Field {
        HeaderEdits.Field(name: name, value: .literalMix([.literal(text)]), text: text)
    }

    private func field(_ name: String, from source: SourceReference) -> HeaderEdits.Field {
        HeaderEdits.Field(name: name, value: .literalMix([.source(source)]), text: source.description)
    }

    private func options(_ request: HeaderEdits = HeaderEdits(), _ response: HeaderEdits = HeaderEdits())
        -> RouteOptions
    {
        var options = RouteOptions()
        options.headers.request = request
        options.headers.response = response
        return options
    }

    @Test("F28 a request's fields are removed, set and added, in that order, and its log says how many")
    func request() throws {
        let edits = HeaderEdits(
            remove: [.init(name: "cookie"), .init(name: "x-internal-", isPrefix: true)],
            set: [
                field("X-Api-Key", "k1"), field("X-Tenant", from: .header("host")),
                field("X-None", from: .header("x-missing")),
            ],
            add: [field("X-Seen", "by us"), field("X-Seen", "again")])
        try withRig([forward(options: options(edits))]) { rig throws in
            let (seen, _, _) = try rig.exchange(
                "GET / HTTP/1.1\r\nHost: shop\r\nCOOKIE: a=1\r\ncookie: b=2\r\nX-Internal-A: 1\r\nx-INTERNAL-b: 2\r\n"
                    + "X-Internal: kept\r\nx-api-key: stolen\r\nX-API-KEY:   other\r\nX-None: n\r\nX-Seen: first\r\n\r\n"
            )
            #expect(seen["Cookie"] == nil)
            #expect(seen["X-Internal-A"] == nil && seen["X-Internal-B"] == nil)
            #expect(seen["X-Internal"] == "kept")
            #expect(seen["X-Api-Key"] == "k1")
            #expect(seen["X-Tenant"] == "shop")
            #expect(seen["X-None"] == nil, "a field is not set from what isn't there, and the client's goes")
            #expect(seen["X-Seen"] == "first|by us|again")
            #expect(seen["Host"] == "shop" && seen["X-Forwarded-For"] == "127.0.0.1")
            let line = try #require(try rig.logLines().last)
            #expect(line["headers_dropped"] as? Int == 7)
            #expect(line["headers_set"] as? Int == 4)
            #expect(line["response_headers_set"] == nil)
        }
    }

    @Test(
        "Vary names the request's fields that a response's are taken from, each once, and a rule has the last word on it"
    )
    func vary() throws {
        let mix = SourceReference.literalMix([
            .literal("a "), .source(.header("x-b")), .source(.query("q")),
        ])
        let address = HeaderEdits(
            set: [field("X-Tenant", from: .header("x-tenant"))], add: [field("X-Client", from: .clientAddress)])
        let edits = HeaderEdits(
            set: [field("X-Tenant", from: .header("x-tenant")), field("X-Const", "c")],
            add: [.init(name: "X-Mix", value: mix, text: "mix"), field("X-Again", from: .header("x-tenant"))])
        let bare = HeaderEdits(set: [field("X-Tenant", from: .header("x-tenant"))])
        let own = HeaderEdits(remove: [.init(name: "vary")], set: [field("X-Tenant", from: .header("x-tenant"))])
        let get = "GET / HTTP/1.1\r\nHost: a\r\nX-Tenant: t\r\n\r\n"
        for (edits, fields, wanted) in [
            (edits, "", "x-b, x-tenant"), (edits, "Vary: Origin, X-TENANT\r\n", "Origin, X-TENANT, x-b"),
            (edits, "Vary: *\r\n", "*"), (address, "", "*"), (address, "Vary: Origin\r\n", "*"), (bare, "", "x-tenant"),
            (own, "", nil),
            (HeaderEdits(set: [field("X-Const", "c")]), "", nil),
        ] as [(HeaderEdits, String, String?)] {
            try withRig([forward(options: options(HeaderEdits(), edits))]) { rig throws in
                for status in ["200 OK", "404 Not Found"] {
                    let response = try rig.exchange(
                        get, answer: "HTTP/1.1 \(status)\r\n\(fields)Content-Length: 0\r\n\r\n"
                    ).response
                    #expect(response["Vary"] == wanted, "\(fields)")
                }
            }
        }
        // A request's field that only the request gets changes no response, unless the upstream says so: then it is the client's field
        // that decided.
        let renamed = HeaderEdits(
            set: [field("X-Org", from: .header("x-tenant"))], add: [field("X-Org", from: .header("x-b"))])
        try withRig([forward(options: options(renamed))]) { rig throws in
            for (fields, wanted) in [
                ("", nil), ("Vary: X-Other\r\n", "X-Other"), ("Vary: x-org\r\n", "x-org, x-tenant, x-b"),
                ("Vary: *\r\n", "*"),
            ] as [(String, String?)] {
                let answer = "HTTP/1.1 200 OK\r\n\(fields)Content-Length: 0\r\n\r\n"
                #expect(try rig.exchange(get, answer: answer).response["Vary"] == wanted, "\(fields)")
            }
        }
    }

    @Test("F31 Vary names what decides who answers, what is asked for, and who may have it")
    func varyByRequest() throws {
        func route(
            _ index: Int, _ path: String, _ headers: [HeaderCondition] = [], rewrite: Rewrite? = nil,
            authorization: RequestAuthorization? = nil
        ) throws -> Route {
            Route(
                index: index, name: "r\(index)",
                match: RouteMatch(path: try PathPattern(parsing: path), headers: headers), upstream: 0,
                rewrite: rewrite, authorization: authorization)
        }
        let key = RequestAuthorization.digest(Array("k".utf8))
        let routes = try [
            route(0, "/a/*", [HeaderCondition(name: "x-v", values: ["2"])]),
            route(1, "/q", rewrite: Rewrite(query: [.init(name: "o", value: .header("x-org"))])),
            route(
                2, "/key",
                authorization: RequestAuthorization([.bearer([key]), .key(field: "X-Api-Key", [key])])),
            route(3, "/*"),
        ]
        try withRig(routes) { rig throws in
            for (path, fields, wanted) in [
                ("/a/b", "X-V: 2\r\n", "x-v"), ("/a/b", "", "x-v"), ("/b", "", nil), ("/q", "", "x-org"),
                ("/key", "X-Api-Key: k\r\n", "authorization, x-api-key"),
            ] as [(String, String, String?)] {
                let response = try rig.exchange("GET \(path) HTTP/1.1\r\nHost: a\r\n\(fields)\r\n").response
                #expect(response.status == 200 && response["Vary"] == wanted, "\(path) \(fields)")
            }
        }
    }

    @Test("a cache that renews what it holds, and one that asks for a head, are told the same")
    func varyWithoutContent() throws {
        let edits = HeaderEdits(set: [field("X-Tenant", from: .header("x-tenant"))])
        try withRig([forward(options: options(HeaderEdits(), edits))]) { rig throws in
            for (method, answer) in [
                ("GET", "HTTP/1.1 304 Not Modified\r\n\r\n"), ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"),
            ] {
                let client = try rig.connect(sending: "\(method) / HTTP/1.1\r\nHost: a\r\n\r\n")
                let index = rig.upstreams.firstIndex { !$0.isOver } ?? 0
                _ = try rig.request(on: index)
                rig.upstreams[index].send(answer)
                #expect(try rig.response(to: client, .none)["Vary"] == "x-tenant")
            }
        }
    }

    @Test("no spelling of a field's name passes that a server reads as one that went")
    func underscores() throws {
        var options = options(HeaderEdits(remove: [.init(name: "x-user")], set: [field("X-Api-Key", "k")]))
        options.forwarding.underscores = .pass
        try withRig([forward(options: options)]) { rig throws in
            let (seen, _, _) = try rig.exchange(
                "GET / HTTP/1.1\r\nHost: a\r\nX_User: root\r\nX_API-Key: evil\r\nX_Other: o\r\n\r\n")
            #expect(seen.fields.allSatisfy { $0.value != "root" && $0.value != "evil" })
            #expect(seen["X_Other"] == "o")
        }
    }

    @Test("a rule has the last word on what we say of the client, and a prefix takes none of it")
    func ours() throws {
        let edits = HeaderEdits(
            remove: [.init(name: "x-", isPrefix: true), .init(name: "x-forwarded-port")],
            set: [field("X-Forwarded-Proto", "https")])
        try withRig([forward(options: options(edits))]) { rig throws in
            let (seen, _, _) = try rig.exchange(
                "GET / HTTP/1.1\r\nHost: a\r\nX-Mine: 1\r\nX-Forwarded-For: 9.9.9.9\r\n\r\n")
            #expect(seen["X-Mine"] == nil)
            #expect(seen["X-Forwarded-Proto"] == "https")
            #expect(seen["X-Forwarded-Port"] == nil)
            #expect(seen["X-Forwarded-For"] == "127.0.0.1")
            #expect(seen["X-Request-Id"] != nil)
        }
    }

    @Test("framing and body stay right whatever goes, with a length and chunked")
    func framing() throws {
        let all = "abcdefghijklmnopqrstuvwxyz".map { HeaderEdits.Removal(name: String($0), isPrefix: true) }
        try withRig([forward(options: options(HeaderEdits(remove: all), HeaderEdits(remove: all)))]) { rig throws in
            let (seen, answer, client) = try rig.exchange(
                "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\nabc")
            #expect(seen.text == "abc" && seen["Content-Length"] == "3" && seen["Host"] == "a")
            #expect(seen["Content-Type"] == nil)
            #expect(answer.text == "ok" && answer["Content-Length"] == "2")
            client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
            let second = try rig.request()
            #expect(second.text == "abc" && second.isChunked)
        }
    }

    @Test("a response's fields are edited, of a plain and of a converted one, and to HEAD")
    func response() throws {
        let edits = HeaderEdits(
            remove: [.init(name: "server"), .init(name: "x-internal-", isPrefix: true)],
            set: [
                field("Strict-Transport-Security", "max-age=63072000"), field("Content-Type", "application/vnd.a+json"),
            ],
            add: [field("Set-Cookie", "ours=1")])
        let answer =
            "HTTP/1.1 200 OK\r\nServer: x/1\r\nX-Internal-Host: h\r\nSet-Cookie: theirs=1\r\nContent-Type: application/json\r\n"
            + "Content-Length: 7\r\n\r\n{\"a\":1}"
        let converts = respond([ResponseRule(ResponseCondition(), .convert(conversion(.json, .form)))])
        for route in [
            forward(options: options(HeaderEdits(), edits)),
            Route(
                index: 0, name: "r0", match: converts.match, upstream: 0, responses: converts.responses,
                options: options(HeaderEdits(), edits)),
        ] {
            try withRig([route]) { rig throws in
                let (_, seen, client) = try rig.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n", answer: answer)
                #expect(seen["Server"] == nil && seen["X-Internal-Host"] == nil)
                #expect(seen["Strict-Transport-Security"] == "max-age=63072000")
                #expect(seen["Set-Cookie"] == "theirs=1|ours=1")
                #expect(seen["Content-Type"] == "application/vnd.a+json")
                #expect(seen.text == (route.responses.isEmpty ? "{\"a\":1}" : "a=1"))
                client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n")
                _ = try rig.request()
                rig.upstreams[0].send(String(answer.dropLast(7)))
                let head = try rig.response(to: client, .none)
                #expect(head["Server"] == nil && head["Strict-Transport-Security"] != nil)
                let lines = try rig.logLines()
                #expect(lines.allSatisfy { $0["response_headers_set"] as? Int == 3 })
                // To HEAD the type of what would be converted isn't there to be replaced.
                let dropped = lines.map { $0["response_headers_dropped"] as? Int }
                #expect(dropped == (route.responses.isEmpty ? [3, 3] : [3, 2]))
            }
        }
    }

    @Test("our own answers of a route have what it sets and adds, but for what they say themselves")
    func problems() throws {
        let edits = HeaderEdits(
            set: [
                field("Strict-Transport-Security", "max-age=1"), field("Cache-Control", "public"),
                field("Content-Type", "text/html"),
            ],
            add: [field("X-Who", from: .clientAddress)])
        var options = options(HeaderEdits(), edits)
        options.forwarding.requiresLength = true
        try withRig([forward("/a", options: options)]) { rig throws in
            let client = try rig.connect(sending: "POST /a HTTP/1.1\r\nHost: a\r\n\r\n")
            let answer = try rig.response(to: client)
            expectProblem(answer, 411, "length_required")
            #expect(answer["Strict-Transport-Security"] == "max-age=1" && answer["X-Who"] == "127.0.0.1")
            #expect(answer["Cache-Control"] == "no-store" && answer["Content-Type"] == "application/problem+json")
            let other = try rig.connect(sending: "GET /none HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try rig.response(to: other)["Strict-Transport-Security"] == nil)
        }
    }

    @Test(
        "a value that could begin a line of its own refuses the request, for either head, and nothing goes upstream",
        arguments: ["%0d%0aX-Evil:%201", "a%0ab", "a%0db", "a%00b", "a%01", "a%7f", "%0A"], [false, true])
    func injection(value: String, inResponse: Bool) throws {
        for source in [SourceReference.query("v"), .path(0, "id")] {
            let edits = HeaderEdits(set: [field("X-V", from: .literalMix([.literal("v="), .source(source)]))])
            let options = inResponse ? options(HeaderEdits(), edits) : options(edits)
            try withRig([forward("/{v}", options: options)]) { rig throws in
                let client = try rig.connect(sending: "GET /\(value)?v=\(value) HTTP/1.1\r\nHost: a\r\n\r\n")
                let answer = try rig.response(to: client)
                expectProblem(answer, 400, "header_value_control")
                #expect(answer["X-Evil"] == nil && rig.upstreams.isEmpty)
                client.send("GET /fine?v=x%09y HTTP/1.1\r\nHost: a\r\n\r\n")
                #expect(try rig.request().startLine.hasPrefix("GET /fine"))
            }
        }
    }

    @Test("a value is at most 8 KiB long", arguments: [-1, 0, 1])
    func length(difference: Int) throws {
        let edits = HeaderEdits(set: [field("X-V", from: .literalMix([.literal("ab"), .source(.header("x-a"))]))])
        let value = String(repeating: "v", count: HeaderEdits.valueLimit - 2 + difference)
        try withRig([forward(options: options(edits))]) { rig throws in
            let client = try rig.connect(sending: "GET / HTTP/1.1\r\nHost: a\r\nX-A: \(value)\r\n\r\n")
            if difference > 0 {
                expectProblem(try rig.response(to: client), 431, "header_value_too_long")
            } else {
                #expect(try rig.request()["X-V"] == "ab\(value)")
            }
        }
    }

    @Test("bytes beyond ASCII pass, and white space at a value's end doesn't")
    func octets() throws {
        let edits = HeaderEdits(set: [
            field("X-V", from: .query("v")),
            field("X-W", from: .literalMix([.literal("Bearer "), .source(.query("none"))])),
        ])
        try withRig([forward(options: options(edits))]) { rig throws in
            let (seen, _, _) = try rig.exchange("GET /?v=%C3%A9+%09+ HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(seen["X-V"] == "\u{E9}")
            #expect(seen["X-W"] == "Bearer")
        }
    }

    @Test("a conversion's own Content-Type gives way to a rule")
    func converted() throws {
        var options = options(HeaderEdits(set: [field("Content-Type", "application/vnd.api+json"), field("X-A", "1")]))
        options.forwarding.underscores = .pass
        let route = Route(
            index: 0, name: "r0", match: try RouteMatch(path: PathPattern(parsing: "/*")), upstream: 0,
            request: .convert(ConversionPlan(inputs: [.form], output: .json), otherTypes: .reject, sources: []),
            options: options)
        try withRig([route]) { rig throws in
            let (seen, _, _) = try rig.exchange(
                "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 3\r\n\r\na=1"
            )
            #expect(seen.text == #"{"a":"1"}"#)
            #expect(seen["Content-Type"] == "application/vnd.api+json")
            #expect(seen["X-A"] == "1")
        }
    }

    @Test("an upgrade's request and its 101 are edited, and stay an upgrade")
    func upgrade() throws {
        let edits = HeaderEdits(remove: [.init(name: "cookie")], set: [field("X-Key", "k")])
        try withRig([
            forward(options: options(edits, HeaderEdits(remove: [.init(name: "server")], add: [field("X-Hop", "1")])))
        ]) {
            rig throws in
            let client = try rig.connect(
                sending: "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nCookie: c\r\n\r\n")
            let seen = try rig.request()
            #expect(seen["Cookie"] == nil && seen["X-Key"] == "k")
            #expect(seen["Upgrade"] == "websocket" && seen["Connection"] == "Upgrade")
            rig.upstreams[0].send(
                "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\nServer: s\r\n\r\n")
            let answer = try rig.response(to: client, .none)
            #expect(answer.status == 101 && answer["Server"] == nil && answer["X-Hop"] == "1")
            #expect(answer["Upgrade"] == "websocket" && answer["Connection"] == "Upgrade")
            client.close()
        }
    }

    @Test("values of one request never show in the next one of the connection")
    func reuse() throws {
        let edits = HeaderEdits(set: [field("X-V", from: .header("x-a"))])
        try withRig([forward("/rules", options: options(edits, edits)), forward("/*", index: 1)]) { rig throws in
            let (first, answer, client) = try rig.exchange("GET /rules HTTP/1.1\r\nHost: a\r\nX-A: one\r\n\r\n")
            #expect(first["X-V"] == "one" && answer["X-V"] == "one")
            client.send("GET /other HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try rig.request()["X-V"] == nil)
            rig.upstreams[0].send(ok)
            #expect(try rig.response(to: client)["X-V"] == nil)
        }
    }
}
