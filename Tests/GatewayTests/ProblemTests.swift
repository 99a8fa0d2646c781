import Foundation
import HTTPWire
import Octets
import Signatures
import Testing
import Transcoding

@testable import Gateway

/// A refusal as an answer, whatever carries it.
@Suite struct ProblemTests {
    private func lines(_ refusal: Refusal, length: Int) -> [String] {
        var output = OutputBuffer()
        Problem(refusal, requestID: Array("r1".utf8)).appendFields(length: length, to: &output)
        return output.span.lossyString().split(separator: "\r\n").map(String.init)
    }

    private func body(_ refusal: Refusal) throws -> [String: Any] {
        let bytes = Problem(refusal, requestID: Array("r1".utf8)).body().span.copied()
        return try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
    }

    @Test("its fields are those of any answer of ours, and its advice")
    func fields() {
        let usual = [
            "Content-Type: application/problem+json", "Content-Length: 7", "Cache-Control: no-store",
            "X-Request-Id: r1",
        ]
        #expect(lines(.noRoute, length: 7) == usual)
        #expect(lines(.methodNotAllowed(["GET", "PUT"]), length: 7) == usual + ["Allow: GET, PUT"])
        #expect(lines(.contentCoding([]), length: 7) == usual + ["Accept-Encoding: identity"])
        #expect(lines(.upstream(.overloaded), length: 7) == usual + ["Retry-After: 1"])
    }

    @Test("a 401 says how one gets in, and no other status of a signature does")
    func challenges() {
        func hasChallenge(_ fault: SignatureFault, _ status: Int) -> Bool {
            lines(.notVerified(fault, status: status, lacking: nil), length: 7).contains("WWW-Authenticate: Signature")
        }
        #expect(hasChallenge(.mismatch, 401) && hasChallenge(.missing, 401))
        #expect(!hasChallenge(.mismatch, 400) && !hasChallenge(.mismatch, 403))
        // Whatever `on_failure` is, these are 413, 409 and 503.
        #expect(!hasChallenge(.tooLong, 401) && !hasChallenge(.replayed, 401) && !hasChallenge(.unfetched, 401))
    }

    @Test("its body says what, where, and which setting concerns it")
    func bodies() throws {
        let plain = try body(.noRoute)
        #expect(
            plain["status"] as? Int == 404 && plain["code"] as? String == "no_route"
                && plain["title"] as? String == "Not Found")
        #expect(plain["request_id"] as? String == "r1" && plain["offset"] == nil && plain["setting"] == nil)
        let fault = ConversionError(.malformed, code: "json_x", reason: "it is so", offset: 12, field: "/a/b")
        // A field of a form may have a name that looks like a pointer.
        let named = try body(.conversion(fault, accepted: []))
        #expect(named["field"] as? String == "/a/b" && named["pointer"] == nil)
        let error = fault.at(pointer: "/a/b")
        let conversion = try body(.conversion(error, accepted: ["application/json"]))
        #expect(conversion["status"] as? Int == 400 && conversion["offset"] as? Int == 12)
        #expect(conversion["pointer"] as? String == "/a/b" && conversion["cause"] == nil)
        let response = try body(.upstreamBody(error, of: nil))
        #expect(response["status"] as? Int == 502 && response["code"] as? String == "upstream_body_malformed")
        #expect(response["cause"] as? String == "json_x")
        let spool = try body(.spool(.tooLarge(9), upstream: "api"))
        #expect(spool["status"] as? Int == 413 && spool["setting"] as? String == "upstreams.api.spool.disk")
        let insecure = try body(.upstream(.insecure("expired")))
        #expect(insecure["detail"] as? String == "no TLS connection to the upstream can be made: expired")
    }

    @Test("a limit and a time say which setting they are, and so does whatever names one in its sentence")
    func settings() throws {
        let table: [(Refusal, String)] = [
            (.headTimeout, "timeouts.header"), (.bodyTimeout, "timeouts.body_gap"),
            (.bodyTooSlow(9), "min_rate.request"),
            (.requestTimeout(isRead: true), "timeouts.request"), (.requestTimeout(isRead: false), "timeouts.request"),
            (.tooManyConnections, "connections.per_client"), (.bodyTooLarge(9), "limits.body"),
            (.signedTooLarge(9), "limits.signed"), (.notVerified(.tooLong, status: 401, lacking: nil), "limits.signed"),
            (.spool(.total, upstream: "api"), "spool.total"), (.memoryExhausted, "memory.bodies"),
            (.loopDetected(8), "loop_limit"), (.lengthRequired, "require_length"), (.underscoreName, "underscores"),
            (.dotSegment(1), "paths.dot_segments"), (.emptySegment(1), "paths.empty_segments"),
        ]
        for (refusal, setting) in table { #expect(try body(refusal)["setting"] as? String == setting) }
        let heads = [
            ("GET /\(String(repeating: "a", count: 300)) HTTP/1.1\r\n\r\n", "limits.request_line"),
            ("GET / HTTP/1.1\r\nA: \(String(repeating: "a", count: 300))\r\n\r\n", "limits.field_line"),
            ("GET / HTTP/1.1\r\n\(String(repeating: "A: b\r\n", count: 5))\r\n", "limits.header_fields"),
            (
                "GET / HTTP/1.1\r\n\(String(repeating: "A: \(String(repeating: "b", count: 200))\r\n", count: 3))\r\n",
                "limits.head"
            ),
        ]
        for (text, setting) in heads {
            var limits = WireLimits()
            (limits.requestLine, limits.fieldLine, limits.head, limits.fieldCount) = (256, 256, 512, 4)
            var parser = RequestParser(limits: limits)
            var head = MessageHead()
            let bytes = Array(text.utf8)
            do throws(WireError) {
                _ = try parser.parse(bytes.span, into: &head)
                Issue.record("a head beyond \(setting) is taken")
            } catch {
                #expect(try body(.wire(error))["setting"] as? String == setting)
                // Of a response no setting bounds it.
                #expect(try body(.badResponse(.wire(error)))["setting"] == nil)
            }
        }
    }

    @Test(
        "an error that can't be converted keeps its status and what the status needs, anything else is a 502",
        arguments: [
            (200, 200, 502), (200, 399, 502), (200, 400, 400), (404, 200, 502), (422, 422, 422), (503, 503, 503),
            (599, 599, 599), (425, 425, 425), (426, 426, 502), (200, 426, 502), (426, 427, 427),
        ])
    func errors(received: Int, status: Int, expected: Int) throws {
        let text = """
            HTTP/1.1 \(received) X\r\nWWW-Authenticate: Basic realm="a"\r\nRetry-After: 7\r\nSet-Cookie: a=b\r\n\
            WWW-Authenticate: Bearer\r\nAllow: GET\r\nConnection: close, allow\r\nContent-Length: 1\r\n\r\n
            """
        var head = MessageHead()
        var parser = ResponseParser()
        let bytes = Array(text.utf8)
        let end = try parser.parse(bytes.span, into: &head)
        #expect(end == bytes.count)
        for kind in [ConversionError.Kind.malformed, .limit, .unsupported, .unrepresentable] {
            let error = ConversionError(kind, code: "json_x", reason: "it is so")
            let refusal = Refusal.upstreamBody(error, of: ErrorHead(head, status: status))
            #expect(refusal.status == expected)
            #expect(try body(refusal)["status"] as? Int == expected)
            #expect(try body(refusal)["cause"] as? String == "json_x")
            #expect(refusal.code == Refusal.upstreamBody(error, of: nil).code)
            #expect(refusal.flag == Refusal.upstreamBody(error, of: nil).flag)
            // Connection takes away no field that is for all recipients.
            let passed = [
                "WWW-Authenticate: Basic realm=\"a\"", "Retry-After: 7", "WWW-Authenticate: Bearer", "Allow: GET",
            ]
            #expect(lines(refusal, length: 7).dropFirst(4) == (expected != status ? [] : passed[...]))
        }
    }
}
