import Gateway
import Testing
import Transcoding

@testable import Proxy

/// Rules of forwarding that a route's settings decide: which requests are refused, and what heads say.
@Suite struct ForwardingRuleTests {
    private func get(_ fields: String = "", _ target: String = "/") -> String {
        "GET \(target) HTTP/1.1\r\nHost: a\r\n\(fields)\r\n"
    }

    /// The answer to one request that must not reach the upstream.
    private func refusal(_ rig: ProxyRig, _ text: String) throws -> RigMessage {
        let client = try rig.connect(sending: text)
        let response = try rig.response(to: client)
        #expect(rig.upstreams.isEmpty)
        return response
    }

    @Test(
        "the Host of an upstream has the port that its scheme doesn't say",
        arguments: [
            ("a.example", 80, false, "a.example"), ("a.example", 443, true, "a.example"),
            ("a.example", 443, false, "a.example:443"), ("a.example", 80, true, "a.example:80"),
            ("::1", 80, false, "[::1]"), ("::1", 8443, true, "[::1]:8443"),
            ("a.example.", 80, false, "a.example"), ("a.example.", 8443, true, "a.example:8443"),
        ])
    func hostOfAnUpstream(host: String, port: Int, isSecure: Bool, text: String) {
        #expect(AddressText.hostField(host: host, port: port, isSecure: isSecure) == text)
        let unix = UpstreamAddress.unix(path: "/run/a")
        let upstream = UpstreamSettings(name: "a", addresses: [unix, .tcp(host: host, port: port)])
        if !isSecure { #expect(upstream.hostField == text) }
        #expect(UpstreamSettings(name: "a", addresses: [unix]).hostField == "localhost")
    }

    @Test("R5 a method that no route takes is 405 with Allow; one that nobody knows 501")
    func methods() throws {
        try withRig([plain(methods: ["GET", "POST"]) { _ in }]) { rig throws in
            let known = try refusal(rig, "PUT / HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(known.status == 405 && known["Allow"] == "GET, POST")
            let unknown = try refusal(rig, "BREW / HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(unknown.status == 501 && unknown.text.contains("method_not_implemented"))
            #expect(try refusal(rig, "get / HTTP/1.1\r\nHost: a\r\n\r\n").status == 501)
        }
        try withRig([plain(methods: ["BREW"]) { _ in }]) { rig throws in
            #expect(try rig.exchange("BREW / HTTP/1.1\r\nHost: a\r\n\r\n").request.startLine == "BREW / HTTP/1.1")
        }
    }

    @Test("R6 later minor versions are read as 1.1, or refused by setting", arguments: [true, false])
    func laterMinor(refuses: Bool) throws {
        try withRig(configure: { $0.forwarding.refusesLaterMinor = refuses }) { rig throws in
            let text = "GET / HTTP/1.2\r\nHost: a\r\n\r\n"
            if refuses {
                #expect(try refusal(rig, text).status == 505)
            } else {
                #expect(try rig.exchange(text).request.startLine == "GET / HTTP/1.1")
            }
        }
    }

    @Test("R8 five bytes of a target pass, or are refused by setting", arguments: [true, false])
    func unwiseBytes(refuses: Bool) throws {
        try withRig(configure: { $0.forwarding.refusesUnwiseBytes = refuses }) { rig throws in
            let text = get("", "/a?x={|}^`")
            if refuses {
                #expect(try refusal(rig, text).status == 400)
            } else {
                #expect(try rig.exchange(text).request.startLine == "GET /a?x={|}^` HTTP/1.1")
            }
        }
    }

    @Test("R9 an https target on a connection that isn't secured is 421, unless a trusted peer sends it")
    func misdirected() throws {
        let text = "GET https://a/x HTTP/1.1\r\nHost: a\r\n\r\n"
        try withRig { rig throws in
            let response = try refusal(rig, text)
            #expect(response.status == 421 && response.text.contains("misdirected_request"))
            #expect(
                try rig.exchange("GET http://a/x HTTP/1.1\r\nHost: a\r\n\r\n").request.startLine == "GET /x HTTP/1.1")
        }
        try withRig(unix: true, configure: { $0.forwarding.trusted.unix = true }) { rig throws in
            #expect(try rig.exchange(text).request.startLine == "GET /x HTTP/1.1")
        }
    }

    @Test(
        "R11 malformed escapes are refused, or pass by setting, and never change the route", arguments: [true, false])
    func escapes(refuses: Bool) throws {
        let routes = [try plain("/a/*") { _ in }, try plain("/*", index: 1) { $0.host = .fixed("other") }]
        try withRig(routes, configure: { $0.forwarding.refusesBadPercent = refuses }) { rig throws in
            for target in ["/%zz", "/a%2", "/%"] {
                if refuses {
                    #expect(try refusal(rig, get("", target)).status == 400)
                } else {
                    let seen = try rig.exchange(get("", target)).request
                    #expect(seen.startLine == "GET \(target) HTTP/1.1")
                    #expect(seen["Host"] == "other")
                }
            }
            for target in ["/a%2fb", "/a%5Cb", "/a%00", "/%0d%0ax"] {
                let seen = try rig.exchange(get("", target)).request
                #expect(seen.startLine == "GET \(target) HTTP/1.1")
                #expect(seen["Host"] == "other")
            }
            #expect(try rig.exchange(get("", "/%61/b")).request["Host"] == "a")
        }
    }

    @Test("R18 other names with _ are dropped, refused or passed by the route")
    func underscores() throws {
        for rule in UnderscoreRule.allCases {
            try withRig([plain { $0.underscores = rule }]) { rig throws in
                let text = get("X_A: 1\r\nX-B: 2\r\n")
                if rule == .reject {
                    let response = try refusal(rig, text)
                    #expect(response.status == 400 && response.text.contains("http_underscore_name"))
                    return
                }
                let seen = try rig.exchange(text).request
                #expect(seen["X_A"] == (rule == .pass ? "1" : nil))
                #expect(seen["X-B"] == "2")
            }
            // A name that imitates framing is refused whatever the setting says.
            try withRig([plain { $0.underscores = rule }]) { rig throws in
                #expect(try refusal(rig, get("Content_Length: 1\r\n")).status == 400)
            }
        }
    }

    @Test("R20 a body beyond the limit is 413 without Retry-After: it won't fit later either")
    func noRetryAfter() throws {
        var limits = Limits()
        limits.body = 3
        try withRig([forward(limits: limits)]) { rig throws in
            let response = try refusal(rig, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody")
            #expect(response.status == 413 && response["Retry-After"] == nil)
        }
    }

    @Test("R24 a route may demand a length: 411")
    func requiredLength() throws {
        try withRig([plain { $0.requiresLength = true }]) { rig throws in
            for text in [
                "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                "POST / HTTP/1.1\r\nHost: a\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            ] {
                let response = try refusal(rig, text)
                #expect(response.status == 411 && response.text.contains("length_required"), "\(text)")
            }
            #expect(try rig.exchange(get()).request.startLine == "GET / HTTP/1.1")
            let sent = try rig.exchange("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n").request
            #expect(sent["Content-Length"] == "0")
        }
    }

    @Test("F2 a request that forbids its conversion is refused, passes or is converted by setting")
    func noTransform() throws {
        let text = post("/", formType, "a=1", fields: "Cache-Control: max-age=0, No-Transform\r\n")
        for rule in NoTransformRule.allCases {
            try withRig([formToJSON { $0.noTransform = rule }]) { rig throws in
                switch rule {
                case .reject:
                    let response = try refusal(rig, text)
                    #expect(response.status == 415 && response.text.contains("request_no_transform"))
                    #expect(response["Accept-Post"] == "application/json")
                case .pass:
                    let seen = try rig.exchange(text).request
                    #expect(seen.text == "a=1" && seen["Content-Type"] == formType)
                case .convert:
                    #expect(try rig.exchange(text).request.text == #"{"a":"1"}"#)
                }
            }
        }
        // Where nothing is converted the word changes nothing.
        try withRig([plain { _ in }]) { rig throws in
            #expect(try rig.exchange(text).request.text == "a=1")
        }
    }

    @Test("F2 a part of a body is refused where it would be converted, and passes elsewhere")
    func partialContent() throws {
        let text = post("/", formType, "a=1", fields: "Content-Range: bytes 0-2/9\r\n")
        try withRig([formToJSON { _ in }]) { rig throws in
            let response = try refusal(rig, text)
            #expect(response.status == 400 && response.text.contains("request_partial_content"))
            #expect(try rig.logLines().first?["flags"] as? String == "BT")
        }
        try withRig([plain { _ in }]) { rig throws in
            let seen = try rig.exchange(text).request
            #expect(seen["Content-Range"] == "bytes 0-2/9" && seen.text == "a=1")
        }
    }

    @Test("F4 Via names us on requests, and on responses by setting")
    func via() throws {
        try withRig { rig throws in
            let (seen, response, _) = try rig.exchange(get("Via: 1.1 edge, 1.0 other (x, y)\r\n"))
            #expect(seen["Via"] == "1.1 edge, 1.0 other (x, y)|1.1 recast")
            #expect(response["Via"] == nil)
            #expect(try rig.exchange("GET / HTTP/1.0\r\nHost: a\r\n\r\n").request["Via"] == "1.0 recast")
        }
        let answer = "HTTP/1.1 200 OK\r\nVia: 1.1 app\r\nContent-Length: 0\r\n\r\n"
        try withRig(configure: {
            $0.forwarding.via = "gate-1"; $0.forwarding.addsViaToResponses = true
        }) { rig throws in
            let (seen, response, _) = try rig.exchange(get(), answer: answer)
            #expect(seen["Via"] == "1.1 gate-1")
            #expect(response["Via"] == "1.1 app|1.1 gate-1")
            let old = try rig.exchange(get(), answer: answer.replacing("HTTP/1.1", with: "HTTP/1.0")).response
            #expect(old["Via"] == "1.1 app|1.0 gate-1")
        }
        try withRig(configure: {
            $0.forwarding.via = nil; $0.forwarding.addsViaToResponses = true
        }) { rig throws in
            let (seen, response, _) = try rig.exchange(get("Via: 1.1 edge\r\n"), answer: answer)
            #expect(seen["Via"] == "1.1 edge" && response["Via"] == "1.1 app")
        }
    }

    @Test("F4 a request that has been here too often is 508", arguments: [-1, 0, 1])
    func loop(over: Int) throws {
        let via = Array(repeating: "1.1 Recast, 1.1 other", count: 3 + over).joined(separator: ",")
        try withRig(configure: { $0.forwarding.loopLimit = 3 }) { rig throws in
            guard over >= 0 else {
                #expect(try rig.exchange(get("Via: \(via)\r\n")).request["Via"]?.hasSuffix("|1.1 recast") == true)
                return
            }
            let response = try refusal(rig, get("Via: \(via)\r\n"))
            #expect(response.status == 508 && response.text.contains("loop_detected"))
            #expect(try rig.logLines().first?["flags"] as? String == "LP")
        }
    }

    @Test("F6 Host is the client's, the upstream's or a fixed one, once")
    func host() throws {
        let table: [(HostRule, (Int) -> String)] = [
            (.preserve, { _ in "a:81" }), (.upstream, { "127.0.0.1:\($0)" }),
            (.fixed("api.example"), { _ in "api.example" }),
        ]
        for (rule, wanted) in table {
            var port = 0
            try withRig(
                [plain { $0.host = rule }],
                configure: { if case .tcp(_, let number) = $0.upstreams[0].addresses[0] { port = number } }
            ) { rig throws in
                let (seen, _, _) = try rig.exchange("GET / HTTP/1.1\r\nHost: A:81\r\n\r\n")
                #expect(seen["Host"] == wanted(port))
                #expect(seen["X-Forwarded-Host"] == "a:81")
            }
        }
        try withRig([plain { $0.host = .upstream }], unix: true) { rig throws in
            #expect(try rig.exchange(get()).request["Host"] == "localhost")
        }
    }

    @Test(
        "F6 a request of HTTP/1.0 without Host gets the upstream's, and says none of the client's",
        arguments: [true, false])
    func noHost(isTrusted: Bool) throws {
        let table: [(HostRule, (Int) -> String)] = [
            (.preserve, { "127.0.0.1:\($0)" }), (.upstream, { "127.0.0.1:\($0)" }),
            (.fixed("api.example"), { _ in "api.example" }),
        ]
        for (rule, wanted) in table {
            var port = 0
            try withRig(
                [plain { $0.host = rule }],
                configure: {
                    if case .tcp(_, let number) = $0.upstreams[0].addresses[0] { port = number }
                    if isTrusted { $0.forwarding.trusted = (try? TrustedPeers("127.0.0.1")) ?? TrustedPeers() }
                }
            ) { rig throws in
                let (seen, _, _) = try rig.exchange("GET / HTTP/1.0\r\n\r\n")
                #expect(seen.startLine == "GET / HTTP/1.1")
                #expect(seen["Host"] == wanted(port))
                #expect(seen["X-Forwarded-Host"] == nil && seen["X-Forwarded-For"] == "127.0.0.1")
            }
        }
    }

    @Test("F24 CONNECT is refused, whatever its target", arguments: ["a:443", "/", "http://a/"])
    func connect(target: String) throws {
        try withRig { rig throws in
            #expect(try refusal(rig, "CONNECT \(target) HTTP/1.1\r\nHost: a:443\r\n\r\n").status == 501)
        }
    }

    @Test("F25 Max-Forwards of OPTIONS is counted down, and at 0 it is answered here")
    func maxForwards() throws {
        func options(_ value: String) -> String { "OPTIONS /x HTTP/1.1\r\nHost: a\r\nMax-Forwards: \(value)\r\n\r\n" }
        try withRig([plain(methods: ["GET", "OPTIONS"]) { _ in }]) { rig throws in
            let response = try refusal(rig, options("0"))
            #expect(response.status == 200 && response["Allow"] == "GET, OPTIONS" && response.body.isEmpty)
            for bad in ["x", "-1", "1234567", ""] { #expect(try refusal(rig, options(bad)).status == 400, "\(bad)") }
            #expect(try rig.exchange(options("1")).request["Max-Forwards"] == "0")
            #expect(try rig.exchange(options("10")).request["Max-Forwards"] == "9")
            // Other methods don't count (RFC 9110 §7.6.2).
            #expect(try rig.exchange(get("Max-Forwards: 0\r\n")).request["Max-Forwards"] == "0")
        }
    }

    @Test("F26 Date is added where there is none, and Server is never touched")
    func date() throws {
        try withRig { rig throws in
            let bare = try rig.exchange(get()).response
            #expect(bare["Date"]?.hasSuffix(" GMT") == true && bare["Server"] == nil)
            let full = try rig.exchange(
                get(), answer: "HTTP/1.1 200 OK\r\nDate: then\r\nServer: app/1\r\nContent-Length: 0\r\n\r\n"
            ).response
            #expect(full["Date"] == "then" && full["Server"] == "app/1")
        }
    }

    @Test("F27 an answer of ours is small, reflects nothing, is not stored, and names the request")
    func ownAnswer() throws {
        try withRig([plain("/only") { _ in }]) { rig throws in
            let response = try refusal(
                rig, "GET /<secret> HTTP/1.1\r\nHost: a\r\n\r\n".replacing("<secret>", with: "s3cret?token=t0ken"))
            #expect(response.status == 404)
            #expect(response["Cache-Control"] == "no-store")
            #expect(response["Content-Type"] == "application/problem+json")
            #expect(response.body.count < 512)
            #expect(!response.text.contains("s3cret") && !response.text.contains("t0ken"))
            let id = try #require(response["X-Request-Id"])
            #expect(response.text.contains(id))
        }
    }
}
