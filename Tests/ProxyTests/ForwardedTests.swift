import EventLoop
import Gateway
import HTTPWire
import Proxy
import Testing

/// F5: what the upstream is told of the client, and whose word is taken for it.
@Suite struct ForwardedTests {
    private func head(_ fields: String) -> String { "GET / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n" }

    @Test("F5 what an untrusted peer says of the client is replaced, in either format")
    func untrusted() throws {
        let lies =
            "X-Forwarded-For: 9.9.9.9\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: evil\r\nX-Forwarded-Port: 1\r\n"
            + "Forwarded: for=9.9.9.9\r\nX-Real-IP: 9.9.9.9\r\n"
        for format in ForwardedFormat.allCases {
            try withRig([
                plain {
                    $0.forwarded = format; $0.realIP = true
                }
            ]) { rig throws in
                let (seen, _, _) = try rig.exchange(head(lies))
                #expect(!seen.fields.contains { $0.value.contains("9.9.9.9") || $0.value.contains("evil") })
                #expect(seen["X-Real-IP"] == "127.0.0.1")
                switch format {
                case .xForwarded:
                    #expect(seen["X-Forwarded-For"] == "127.0.0.1")
                    #expect(seen["X-Forwarded-Proto"] == "http")
                    #expect(seen["X-Forwarded-Host"] == "a")
                    #expect(try #require(seen["X-Forwarded-Port"]) != "1")
                    #expect(seen["Forwarded"] == nil)
                case .forwarded:
                    #expect(seen["Forwarded"] == #"for=127.0.0.1;host="a";proto=http"#)
                    #expect(seen["X-Forwarded-For"] == nil)
                case .off:
                    #expect(seen["X-Forwarded-For"] == nil && seen["Forwarded"] == nil)
                }
            }
        }
    }

    @Test("F5 what a trusted peer says is kept, and the peer is added")
    func trusted() throws {
        let said =
            "X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-For: 10.1.1.1\r\nX-Forwarded-Proto: https\r\n"
            + "X-Forwarded-Host: shop.example\r\nX-Forwarded-Port: 443\r\nForwarded: for=192.0.2.8\r\n"
        func seen(_ format: ForwardedFormat) throws -> RigMessage {
            var seen: RigMessage?
            try withRig(
                [
                    plain {
                        $0.forwarded = format; $0.realIP = true
                    }
                ],
                configure: {
                    $0.forwarding.trusted = (try? TrustedPeers("127.0.0.0/8", "10.0.0.0/8")) ?? TrustedPeers()
                }
            ) { rig throws in
                seen = try rig.exchange(head(said)).request
            }
            return try #require(seen)
        }
        let list = try seen(.xForwarded)
        #expect(list["X-Forwarded-For"] == "192.0.2.7, 10.1.1.1, 127.0.0.1")
        #expect(list["X-Forwarded-Proto"] == "https")
        #expect(list["X-Forwarded-Host"] == "shop.example")
        #expect(list["X-Forwarded-Port"] == "443")
        #expect(list["Forwarded"] == nil)
        #expect(list["X-Real-IP"] == "192.0.2.7")
        let standard = try seen(.forwarded)
        #expect(standard["Forwarded"] == #"for=192.0.2.8, for=127.0.0.1;host="a";proto=http"#)
        #expect(standard["X-Forwarded-For"] == nil)
        #expect(standard["X-Real-IP"] == "192.0.2.8")
        let off = try seen(.off)
        #expect(off["X-Forwarded-For"] == "192.0.2.7|10.1.1.1")
        #expect(off["Forwarded"] == "for=192.0.2.8")
    }

    @Test("F5 a trusted peer's scheme goes on as it is, or not at all; a port that is none is told as we see it")
    func nonsense() throws {
        try withRig(configure: { $0.forwarding.trusted = (try? TrustedPeers("127.0.0.1")) ?? TrustedPeers() }) {
            rig throws in
            let (seen, _, _) = try rig.exchange(
                head("X-Forwarded-Proto: gopher\r\nX-Forwarded-Port: 99x\r\nX-Forwarded-Host:\r\n"))
            #expect(seen["X-Forwarded-Proto"] == "gopher")
            #expect(seen["X-Forwarded-Port"] != "99x")
            #expect(seen["X-Forwarded-Host"] == "a")
            #expect(seen["X-Forwarded-For"] == "127.0.0.1")
            for (said, told) in [("wss", "wss"), ("WS", "WS"), ("http/1.1", nil), ("", "http")] as [(String, String?)] {
                let (seen, _, _) = try rig.exchange(head("X-Forwarded-Proto: \(said)\r\n"))
                #expect(seen["X-Forwarded-Proto"] == told, "\(said)")
            }
        }
    }

    @Test(
        "F5 the port is by whoever told scheme and host: our listener's stands beside nobody else's",
        arguments: [
            // Nothing is told: all is our own.
            ("a", "", nil), ("a:81", "", nil), ("a", "X-Forwarded-For: 192.0.2.7\r\n", nil),
            // The scheme is.
            ("a", "X-Forwarded-Proto: https\r\n", "443"), ("a", "X-Forwarded-Proto: HTTP\r\n", "80"),
            ("a", "X-Forwarded-Proto: wss\r\n", "443"), ("a", "X-Forwarded-Proto: Ws\r\n", "80"),
            // Of one that isn't known nobody knows the port, which the host may tell.
            ("a", "X-Forwarded-Proto: gopher\r\n", ""), ("a:81", "X-Forwarded-Proto: gopher\r\n", "81"),
            ("a:8443", "X-Forwarded-Proto: https\r\n", "8443"), ("[::1]:81", "X-Forwarded-Proto: http\r\n", "81"),
            ("[::1]", "X-Forwarded-Proto: https\r\n", "443"),
            ("a", "X-Forwarded-Proto: https\r\nX-Forwarded-Host:\r\n", "443"),
            ("a", "X-Forwarded-Proto: https\r\nX-Forwarded-Port: 99x\r\n", "443"),
            // The host is: without a port it has that of a scheme, which only the upstream can tell.
            ("a", "X-Forwarded-Host: pub\r\n", ""), ("a:81", "X-Forwarded-Host: pub\r\n", ""),
            ("a", "X-Forwarded-Host: pub:8443\r\n", "8443"), ("a", "X-Forwarded-Host: [::1]:8443\r\n", "8443"),
            ("a", "X-Forwarded-Host: pub\r\nX-Forwarded-Proto: gopher\r\n", ""),
            // Both are.
            ("a", "X-Forwarded-Host: pub\r\nX-Forwarded-Proto: https\r\n", "443"),
            ("a:81", "X-Forwarded-Host: pub\r\nX-Forwarded-Proto: http\r\n", "80"),
            ("a", "X-Forwarded-Host: pub:8443\r\nX-Forwarded-Proto: https\r\n", "8443"),
            ("a", "X-Forwarded-Host: [2001:db8::1]:1\r\nX-Forwarded-Proto: https\r\n", "1"),
            ("a", "X-Forwarded-Host: pub:65535\r\nX-Forwarded-Proto: https\r\n", "65535"),
            // What is no port of one host is none.
            ("a", "X-Forwarded-Host: pub:65536\r\nX-Forwarded-Proto: https\r\n", "443"),
            ("a", "X-Forwarded-Host: pub:0\r\nX-Forwarded-Proto: https\r\n", "443"),
            ("a", "X-Forwarded-Host: pub:\r\nX-Forwarded-Proto: https\r\n", "443"),
            ("a", "X-Forwarded-Host: :81\r\nX-Forwarded-Proto: https\r\n", "443"),
            ("a", "X-Forwarded-Host: 81\r\nX-Forwarded-Proto: https\r\n", "443"),
            ("a", "X-Forwarded-Host: [::1]\r\nX-Forwarded-Proto: https\r\n", "443"),
            ("a", "X-Forwarded-Host: 2001:db8::1\r\nX-Forwarded-Proto: https\r\n", "443"),
            // The last member of a list is the peer's own.
            ("a", "X-Forwarded-Host: a:1, pub:81\r\nX-Forwarded-Proto: https\r\n", "81"),
            ("a", "X-Forwarded-Proto: https,https\r\n", "443"), ("a", "X-Forwarded-Proto: http, https\r\n", "443"),
            ("a", "X-Forwarded-Proto: https\r\nX-Forwarded-Proto: http\r\n", "80"),
            ("a", "X-Forwarded-Port: 1, 8443\r\n", "8443"),
            // The port is.
            ("a:81", "X-Forwarded-Port: 8443\r\nX-Forwarded-Host: pub:1\r\nX-Forwarded-Proto: https\r\n", "8443"),
            ("a", "X-Forwarded-Port: 8443\r\n", "8443"),
        ] as [(String, String, String?)])
    func port(host: String, said: String, port: String?) throws {
        for isTrusted in [true, false] {
            try withRig(configure: {
                if isTrusted { $0.forwarding.trusted = (try? TrustedPeers("127.0.0.1")) ?? TrustedPeers() }
            }) { rig throws in
                let (own, _, _) = try rig.exchange(head(""))
                let (seen, _, _) = try rig.exchange("GET / HTTP/1.1\r\nHost: \(host)\r\n\(said)\r\n")
                let listener = try #require(own["X-Forwarded-Port"])
                let expected = isTrusted ? port ?? listener : listener
                #expect(seen["X-Forwarded-Port"] ?? "" == expected)
            }
        }
    }

    @Test("F5 in Forwarded each element tells of one hop, and ours has no port: nothing is mixed there")
    func hops() throws {
        try withRig(
            [plain { $0.forwarded = .forwarded }],
            configure: { $0.forwarding.trusted = (try? TrustedPeers("127.0.0.1")) ?? TrustedPeers() }
        ) { rig throws in
            let said = "Forwarded: for=192.0.2.7;host=pub;proto=https\r\nX-Forwarded-Proto: https\r\n"
            let (seen, _, _) = try rig.exchange(head(said))
            #expect(
                seen["Forwarded"]
                    == #"for=192.0.2.7;host=pub;proto=https, for=127.0.0.1;host="a";proto=http"#)
            #expect(seen["X-Forwarded-Port"] == nil && seen["X-Forwarded-Proto"] == nil)
        }
    }

    @Test("F5 a trusted unix socket adds no address")
    func trustedUnix() throws {
        try withRig(unix: true, configure: { $0.forwarding.trusted.unix = true }) { rig throws in
            let (seen, _, _) = try rig.exchange(head("X-Forwarded-For: 192.0.2.7\r\n"))
            #expect(seen["X-Forwarded-For"] == "192.0.2.7")
            #expect(seen["X-Forwarded-Port"] == nil)
            let (told, _, _) = try rig.exchange(head("X-Forwarded-Proto: https\r\n"))
            #expect(told["X-Forwarded-Port"] == "443")
        }
        try withRig([plain { $0.forwarded = .forwarded }], unix: true) { rig throws in
            #expect(try rig.exchange(head("")).request["Forwarded"] == #"for=unknown;host="a";proto=http"#)
        }
    }

    @Test(
        "F5 the client is found from the right, over trusted proxies only",
        arguments: [
            ("192.0.2.7", "192.0.2.7"),
            ("9.9.9.9, 192.0.2.7", "192.0.2.7"),
            ("192.0.2.7, 10.0.0.1, 10.0.0.2", "192.0.2.7"),
            ("10.0.0.9, 10.0.0.1", "10.0.0.9"),
            ("192.0.2.7:8080", "192.0.2.7"),
            ("[2001:db8::1]:80", "2001:db8::1"),
            ("2001:db8::1", "2001:db8::1"),
            ("::ffff:192.0.2.7", "192.0.2.7"),
            ("9.9.9.9, unknown, 10.0.0.1", "10.0.0.1"),
            ("9.9.9.9, 1.2.3.4:x", "127.0.0.1"),
            // Empty members count for nothing.
            ("9.9.9.9,", "9.9.9.9"), ("1.2.3.4,,10.0.0.1,", "1.2.3.4"), ("1.2.3.4, \t , 10.0.0.1 ,,", "1.2.3.4"),
            (",", "127.0.0.1"), ("", "127.0.0.1"),
        ])
    func client(list: String, client: String) throws {
        try withRig(
            [plain { $0.realIP = true }],
            configure: { $0.forwarding.trusted = (try? TrustedPeers("127.0.0.1", "10.0.0.0/8")) ?? TrustedPeers() }
        ) { rig throws in
            let (seen, _, _) = try rig.exchange(head("X-Forwarded-For: \(list)\r\n"))
            #expect(seen["X-Real-IP"] == client)
            let line = try #require(try rig.logLines().first)
            let logged = try #require(line["client"] as? String)
            if client == "127.0.0.1" {
                #expect(logged.hasPrefix("127.0.0.1:") && line["peer"] == nil)
            } else {
                #expect(logged == client)
                #expect((line["peer"] as? String)?.hasPrefix("127.0.0.1:") == true)
            }
        }
    }

    @Test(
        "F5 the client is found in Forwarded, too",
        arguments: [
            (#"for=192.0.2.7;proto=https"#, "192.0.2.7"),
            (#"For="[2001:db8::1]:4711";by=_x"#, "2001:db8::1"),
            (#"for=192.0.2.7, proto=http;for="10.0.0.1:80""#, "192.0.2.7"),
            (#"for=9.9.9.9, host="a,b;for=8.8.8.8";for=192.0.2.7"#, "192.0.2.7"),
            (#"for=192.0.2.7,, for=10.0.0.1 ,"#, "192.0.2.7"),
            (#"for=192.0.2.7, for=_hidden"#, "127.0.0.1"),
            (#"for=192.0.2.7, proto=http"#, "127.0.0.1"),
        ])
    func clientInForwarded(list: String, client: String) throws {
        try withRig(
            [
                plain {
                    $0.realIP = true; $0.forwarded = .forwarded
                }
            ],
            configure: { $0.forwarding.trusted = (try? TrustedPeers("127.0.0.1", "10.0.0.0/8")) ?? TrustedPeers() }
        ) { rig throws in
            #expect(try rig.exchange(head("Forwarded: \(list)\r\n")).request["X-Real-IP"] == client)
        }
    }

    @Test("F5 a list beyond 8 KiB is refused, so that no hop behind us must", arguments: [-1, 0, 1])
    func bounded(over: Int) throws {
        let list = String(repeating: "1", count: 8 * 1024 + over)
        try withRig(configure: {
            $0.forwarding.trusted.networks = [TrustedPeers.Network(parsing: "127.0.0.1")].compactMap(\.self)
        }) { rig throws in
            let client = try rig.connect()
            rig.answers = [ok]
            client.send(head("X-Forwarded-For: \(list)\r\n"))
            #expect(try rig.response(to: client).status == (over > 0 ? 431 : 200))
        }
    }

    @Test("F5 networks hold the addresses of their prefix, and are read as they are written")
    func networks() throws {
        let table: [(String, String, Bool)] = [
            ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.0", false), ("0.0.0.0/0", "8.8.8.8", true),
            ("0.0.0.0/0", "::1", false), ("192.0.2.7", "192.0.2.7", true), ("192.0.2.7/32", "192.0.2.6", false),
            ("192.0.2.128/25", "192.0.2.127", false), ("fd00::/8", "fdff::1", true), ("fd00::/8", "fe80::1", false),
            ("2001:db8::/64", "2001:db8::ffff", true), ("2001:db8::/64", "2001:db8:0:1::", false),
            ("2001:db8::1/128", "2001:db8::1", true), ("2001:db8::8/125", "2001:db8::f", true),
            ("2001:db8::8/125", "2001:db8::10", false), ("::/0", "2001::", true),
            ("10.0.0.0/8", "::ffff:10.1.1.1", true), ("::/0", "10.0.0.1", false),
        ]
        for (text, address, isInside) in table {
            let peers = try TrustedPeers(text)
            let peer = try #require(SocketAddress.parseHost(address, port: 1))
            #expect(peers.contains(peer) == isInside, "\(address) in \(text)")
        }
        for text in [
            "", "a", "10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/08", "10.0.0/8", "fd00::1/8", "::/129",
        ] {
            #expect(TrustedPeers.Network(parsing: text) == nil, "\(text)")
        }
    }
}
