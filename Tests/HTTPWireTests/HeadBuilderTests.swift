import Octets
import Testing

@testable import HTTPWire

/// Heads made from fields are those that the parsers make from bytes, with the same rules and limits.
@Suite("Heads from fields")
struct HeadBuilderTests {
    /// What can be asked of a head.
    struct Facts: Equatable {
        var start: [String]
        var numbers: [Int?]
        var flags: [Bool]
        var framing: BodyFraming
        var version: MessageVersion
        var fields: [String]
        var written: String

        init(_ head: borrowing MessageHead, movesHost: Bool = false) {
            start = [
                head.method.lossyString(), head.path.lossyString(), MessageHeadTests.query(head) ?? "-",
                head.host.lossyString(), head.authority.lossyString(), head.reason.lossyString(),
                "\(head.methodKind)",
            ]
            numbers = [head.port, head.status, head.fieldCount]
            flags = [
                head.hasUnderscores, head.isSecureTarget, head.pathHasEscapes, head.isKeepAlive, head.expectsContinue,
                head.wantsUpgrade, head.acceptsTrailers,
            ]
            framing = head.framing
            version = head.version
            fields = []
            for index in 0..<head.fieldCount where !(movesHost && head.known(index) == .host) {
                fields.append(
                    "\(head.name(index).lossyString()): \(head.value(index).lossyString()) \(head.known(index)) "
                        + "\(head.isHopByHop(index)) \(head.hasUnderscore(index))")
            }
            var output = OutputBuffer()
            if head.status == 0 {
                HeadWriter.requestLine(of: head, into: &output)
            } else {
                HeadWriter.statusLine(of: head, into: &output)
            }
            let without: KnownFieldSet = movesHost ? [.host] : []
            HeadWriter.fields(of: head, lines: 0..<head.fieldCount, without: without, into: &output)
            written = output.span.lossyString()
        }
    }

    /// A head taken apart, as another protocol would bring it.
    struct Parts {
        var method: [UInt8] = []
        var isSecure = false
        var authority: [UInt8]?
        var path: [UInt8] = []
        var version = MessageVersion.http1_1
        var fields: [(name: [UInt8], value: [UInt8])] = []

        init() {}

        init(_ head: borrowing MessageHead) {
            method = head.method.copied()
            isSecure = head.isSecureTarget
            path = head.path.copied()
            if let query = head.query { path += [UInt8(ascii: "?")] + query.copied() }
            version = head.version
            for index in 0..<head.fieldCount { fields.append((head.name(index).copied(), head.value(index).copied())) }
        }

        /// Takes a request's text apart without a look at what it means; nil where it has no parts of HTTP/1.
        init?(splitting text: [UInt8]) {
            guard let end = text.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
            var lines: [[UInt8]] = [[]]
            for byte in text[..<end.lowerBound] {
                if byte == 10, lines[lines.count - 1].last == 13 {
                    lines[lines.count - 1].removeLast()
                    lines.append([])
                } else {
                    lines[lines.count - 1].append(byte)
                }
            }
            let start = lines.removeFirst().split(separator: 32, omittingEmptySubsequences: false).map(Array.init)
            guard start.count == 3, start[2] == Array("HTTP/1.1".utf8) || start[2] == Array("HTTP/1.0".utf8) else {
                return nil
            }
            method = start[0]
            path = start[1]
            if start[2].last == UInt8(ascii: "0") { version = .http1_0 }
            let text = String(decoding: path, as: UTF8.self).lowercased()
            for (scheme, secure) in [("http://", false), ("https://", true)] where text.hasPrefix(scheme) {
                let rest = path[scheme.utf8.count...]
                let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
                isSecure = secure
                authority = Array(rest[..<end])
                path = Array(rest[end...])
                if path.first != UInt8(ascii: "/") { path.insert(UInt8(ascii: "/"), at: 0) }
            }
            for line in lines {
                guard let first = line.first, first != 32, first != 9,
                    let colon = line.firstIndex(of: UInt8(ascii: ":"))
                else { return nil }
                fields.append((Array(line[..<colon]), Array(line[(colon + 1)...])))
            }
        }

        func build(
            limits: WireLimits = WireLimits(), rules: RequestRules = RequestRules()
        ) throws(WireError) -> MessageHead {
            var head = MessageHead()
            var builder = HeadBuilder(limits: limits, rules: rules)
            if let authority {
                try builder.beginRequest(
                    method: method.span, isSecure: isSecure, authority: authority.span, path: path.span,
                    version: version,
                    into: &head)
            } else {
                try builder.beginRequest(
                    method: method.span, isSecure: isSecure, path: path.span, version: version, into: &head)
            }
            for (name, value) in fields { try builder.add(name.span, value.span, to: &head) }
            try builder.finish(&head)
            return head
        }

        func verdict(limits: WireLimits = WireLimits()) -> String {
            do throws(WireError) {
                _ = try build(limits: limits)
                return "ok"
            } catch {
                return "\(error.status) \(error.code)"
            }
        }
    }

    /// Faults of HTTP/1's syntax, which fields can't have.
    private static let syntax: Set<String> = [
        "http_bare_lf", "http_bare_cr", "http_too_many_empty_lines", "http_bad_request_line", "http_bad_version",
        "http_unsupported_version", "http_missing_colon", "http_space_before_colon", "http_obs_fold",
    ]

    private static func parse(_ bytes: [UInt8], into head: inout MessageHead, limits: WireLimits = WireLimits())
        -> String
    {
        var parser = RequestParser(limits: limits)
        do throws(WireError) {
            return try parser.parse(bytes.span, into: &head) == nil ? "waits" : "ok"
        } catch {
            return "\(error.status) \(error.code)"
        }
    }

    @Test("a head that a parser takes is the same when it is made from its fields")
    func accepted() throws {
        var count = 0
        for vector in BadRequestVector.all {
            var head = MessageHead()
            guard Self.parse(vector.bytes, into: &head) == "ok" else { continue }
            count += 1
            var parts = Parts(head)
            // Without an authority the fields say the host. An absolute target says it by itself, and decides.
            if head.targetForm != .absolute {
                #expect(Facts(try parts.build()) == Facts(head), "\(vector.id)")
            }
            let authority = head.authority.copied()
            if authority.isEmpty { continue }
            parts.authority = authority
            #expect(Facts(try parts.build(), movesHost: true) == Facts(head, movesHost: true), "\(vector.id)")
            parts.fields.removeAll { String(decoding: $0.name, as: UTF8.self).lowercased() == "host" }
            var made = Facts(try parts.build(), movesHost: true)
            // An absolute target of HTTP/1.0 needs no Host beside it; fields always get one.
            made.numbers[2] = head.fieldCount
            #expect(made == Facts(head, movesHost: true), "\(vector.id)")
        }
        #expect(count > 90)
    }

    @Test("a fault that isn't one of HTTP/1's syntax is found in fields too")
    func refused() throws {
        var codes: Set<String> = []
        for vector in BadRequestVector.all {
            var head = MessageHead()
            let verdict = Self.parse(vector.bytes, into: &head)
            guard verdict != "ok", verdict != "waits", let code = verdict.split(separator: " ").last,
                !Self.syntax.contains(String(code)), let parts = Parts(splitting: vector.bytes)
            else { continue }
            codes.insert(String(code))
            let made = parts.verdict()
            // Fields name one host, whichever of them says it.
            #expect(
                made == verdict || code == "http_bad_authority" && made == "400 http_bad_host", "\(vector.id): \(made)")
        }
        #expect(
            codes.isSuperset(of: [
                "http_bad_field_name", "http_bad_field_value", "http_missing_host", "http_repeated_host",
                "http_bad_host",
                "http_bad_content_length", "http_repeated_content_length",
                "http_bad_transfer_encoding", "http_length_and_transfer_encoding", "http_protected_connection_option",
                "http_method_not_supported", "http_underscore_alias",
            ]), "\(codes.sorted())")
    }

    @Test("limits are those of the parser, to the byte", arguments: [-1, 0, 1])
    func limits(difference: Int) {
        var limits = WireLimits()
        limits.requestLine = 100
        limits.fieldLine = 200
        limits.fieldCount = 5
        limits.head = 400
        func text(_ count: Int) -> String { String(repeating: "a", count: count + difference) }
        var cases = [
            "GET /\(text(100 - 14)) HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nX: \(text(200 - 3))\r\n\r\n",
            "\(text(WireLimits.method)) / HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\n\(String(repeating: "X: 1\r\n", count: 4 + difference))\r\n",
        ]
        let start = "GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "a", count: 180))\r\nY: "
        cases.append(start + text(400 - 4 - start.utf8.count) + "\r\n\r\n")
        for text in cases {
            var head = MessageHead()
            let bytes = Array(text.utf8)
            let verdict = Self.parse(bytes, into: &head, limits: limits)
            #expect((verdict == "ok") == (difference <= 0), "\(text)")
            #expect(Parts(splitting: bytes)?.verdict(limits: limits) == verdict, "\(text)")
        }
        let name = "GET / HTTP/1.1\r\nHost: a\r\n\(text(WireLimits.fieldName)): 1\r\n\r\n"
        var head = MessageHead()
        let bytes = Array(name.utf8)
        #expect(Parts(splitting: bytes)?.verdict() == Self.parse(bytes, into: &head))
    }

    @Test("what fields can say and lines can't is refused")
    func fields() {
        func parts(_ change: (inout Parts) -> Void) -> String {
            var parts = Parts()
            parts.method = Array("GET".utf8)
            parts.path = Array("/".utf8)
            parts.authority = Array("a.test".utf8)
            change(&parts)
            return parts.verdict()
        }
        func field(_ name: String, _ value: String) -> ([UInt8], [UInt8]) { (Array(name.utf8), Array(value.utf8)) }
        #expect(parts { _ in } == "ok")
        #expect(parts { $0.fields = [field("x", "a\r\nEvil: 1")] } == "400 http_bad_field_value")
        #expect(parts { $0.fields = [field("x", "a\0")] } == "400 http_bad_field_value")
        #expect(parts { $0.fields = [field("x\r\nEvil", "1")] } == "400 http_bad_field_name")
        #expect(parts { $0.fields = [field("x:y", "1")] } == "400 http_bad_field_name")
        #expect(parts { $0.fields = [field("", "1")] } == "400 http_bad_field_name")
        #expect(parts { $0.fields = [field(":path", "/b")] } == "400 http_bad_field_name")
        #expect(parts { $0.path = Array("/ HTTP/1.1\r\nEvil: 1".utf8) } == "400 http_bad_target_byte")
        #expect(parts { $0.path = [] } == "400 http_bad_target")
        #expect(parts { $0.path = Array("http://b/".utf8) } == "400 http_bad_target")
        #expect(parts { $0.path = Array("*".utf8) } == "400 http_bad_target")
        #expect(parts { $0.method = Array("GET /x".utf8) } == "400 http_bad_method")
        #expect(parts { $0.method = [] } == "400 http_bad_method")
        #expect(parts { $0.authority = Array("user@a".utf8) } == "400 http_bad_host")
        #expect(parts { $0.authority = [] } == "400 http_bad_host")
        #expect(parts { $0.authority = Array("a\r\nEvil: 1".utf8) } == "400 http_bad_field_value")
        #expect(parts { $0.fields = [field("host", "A.Test")] } == "ok")
        #expect(parts { $0.fields = [field("host", "a.test:80")] } == "ok")
        #expect(
            parts {
                $0.isSecure = true; $0.fields = [field("host", "a.test:80")]
            } == "400 http_host_mismatch")
        #expect(parts { $0.fields = [field("host", "b.test")] } == "400 http_host_mismatch")
        #expect(parts { $0.fields = [field("host", "a.test"), field("Host", "a.test")] } == "400 http_repeated_host")
        #expect(parts { $0.authority = nil } == "400 http_missing_host")
    }

    @Test("what carries the head may say whether a body follows")
    func content() throws {
        func framing(
            _ hasContent: Bool?, _ length: String?, method: String = "POST"
        ) throws(WireError) -> BodyFraming {
            var head = MessageHead()
            var builder = HeadBuilder()
            try builder.beginRequest(
                method: Array(method.utf8).span, isSecure: true, authority: Array("a".utf8).span,
                path: Array("/".utf8).span, into: &head)
            if let length { try builder.add(Array("content-length".utf8).span, Array(length.utf8).span, to: &head) }
            try builder.finish(&head, hasContent: hasContent)
            let isSecure = head.isSecureTarget
            #expect(isSecure)
            let promisesNone = head.promisesNoContent
            #expect(promisesNone == (hasContent == true && length == "0"))
            return head.framing
        }
        #expect(try framing(nil, nil) == .none)
        #expect(try framing(true, nil) == .chunked)
        #expect(try framing(true, "5") == .length(5))
        // The end is still to show whether that is true.
        #expect(try framing(true, "0") == .chunked)
        #expect(try framing(nil, "0") == .length(0))
        // Where content would be expected it is said that there is none.
        #expect(try framing(false, nil) == .length(0))
        #expect(try framing(false, nil, method: "PATCH") == .length(0))
        #expect(try framing(false, nil, method: "GET") == .none)
        #expect(try framing(false, nil, method: "DELETE") == .none)
        #expect(try framing(false, "0") == .length(0))
        #expect(throws: WireError.self) { try framing(false, "5") }
    }

    @Test(
        "a response made from its fields is the one that the parser reads",
        arguments: [
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: \"a\"\r\n\r\n", "HTTP/1.1 204 No Content\r\n\r\n",
            "HTTP/1.1 599 \u{E9}\r\nTransfer-Encoding: chunked\r\nX-A:  b \r\n\r\n", "HTTP/1.0 200 OK\r\n\r\n",
            "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n",
            "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
            "HTTP/1.1 200 OK\r\nConnection: close, x-a\r\nX-A: 1\r\nX_B: 2\r\nContent-Length: 1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA(: b\r\n\r\n", "HTTP/1.1 200 OK\r\nA: \u{1}\r\n\r\n",
            "HTTP/1.1 099 OK\r\n\r\n", "HTTP/1.1 600 X\r\n\r\n", "HTTP/1.1 999 No\r\nContent-Length: 2\r\n\r\n",
        ])
    func responses(_ text: String) throws {
        let bytes = text.unicodeScalars.map { UInt8($0.value) }
        var parsed = MessageHead()
        var parser = ResponseParser()
        var verdict = "ok"
        do throws(WireError) {
            #expect(try parser.parse(bytes.span, into: &parsed) == bytes.count)
        } catch {
            verdict = "\(error.status) \(error.code)"
        }
        let lines = text.dropLast(2).split(separator: "\r\n", omittingEmptySubsequences: false).map { line in
            line.unicodeScalars.map { UInt8($0.value) }
        }
        let start = lines[0]
        let status = try #require(Int(String(decoding: start[9..<12], as: UTF8.self)))
        let version = start[7] == UInt8(ascii: "1") ? MessageVersion.http1_1 : .http1_0
        var head = MessageHead()
        var builder = HeadBuilder()
        var made = "ok"
        do throws(WireError) {
            try builder.beginResponse(
                status: status, reason: Array(start[13...]).span, version: version, into: &head)
            for line in lines[1...] where !line.isEmpty {
                let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? 0
                try builder.add(Array(line[..<colon]).span, Array(line[(colon + 1)...]).span, to: &head)
            }
            try builder.finish(&head)
        } catch {
            made = "\(error.status) \(error.code)"
        }
        #expect(made == verdict)
        if verdict == "ok" { #expect(Facts(head) == Facts(parsed)) }
    }

    @Test("a response without a reason has the registered one, and a bad one is refused")
    func reasons() throws {
        var head = MessageHead()
        var builder = HeadBuilder()
        try builder.beginResponse(status: 404, into: &head)
        try builder.finish(&head)
        let reason = head.reason.lossyString()
        let code = head.status
        #expect(reason == "Not Found" && code == 404)
        for status in [99, 1000] {
            #expect(throws: WireError.self) { try builder.beginResponse(status: status, into: &head) }
        }
        #expect(throws: WireError.self) {
            try builder.beginResponse(status: 200, reason: Array("O\r\nK".utf8).span, into: &head)
        }
    }

    @Test("a version says what its speaker can take")
    func capabilities() {
        #expect(MessageVersion.http1_0.capabilities.isEmpty)
        #expect(
            MessageVersion.http1_1.capabilities == [.unsizedBodies, .trailers, .interimResponses, .persistence])
        #expect(MessageVersion.http2.capabilities == MessageVersion.http1_1.capabilities.union(.framedEnds))
        #expect(MessageVersion.allCases.map(\.text.description) == ["HTTP/1.0", "HTTP/1.1", "HTTP/2.0"])
    }
}
