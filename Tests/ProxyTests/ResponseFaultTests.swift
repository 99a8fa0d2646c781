import Foundation
import Gateway
import Proxy
import Testing
import Transcoding

/// Responses that can't be converted: always a 502 with a code of its own, never the beginning of an answer.
@Suite struct ResponseFaultTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var input = BodyEncoding.json
        var output = BodyEncoding.form
        var type = jsonType
        let body: String
        let code: String
        var cause: String?
        var offset: Int?
        var field: String?
        var setting: String?
        let flag: String

        var testDescription: String { "\(input) → \(output): \(cause ?? code)" }
    }

    static let cases: [Case] = [
        Case(
            body: #"{"a":"SECRET",}"#, code: "upstream_body_malformed", cause: "json_unexpected_byte", offset: 14,
            flag: "RD"),
        Case(
            body: #"{"a":"SECRET""#, code: "upstream_body_malformed", cause: "json_unexpected_end", offset: 13,
            flag: "RD"),
        Case(
            output: .json, body: #"{"a":"SECRET"} x"#, code: "upstream_body_malformed", offset: 15, flag: "RD"),
        Case(
            body: #"{"a":"SECRET","b":{"c":[]}}"#, code: "upstream_body_unrepresentable", field: "b[c]",
            setting: "empties", flag: "RC"),
        Case(body: #""SECRET""#, code: "upstream_body_unrepresentable", flag: "RC"),
        Case(
            body: #"{"a":[[[[[["SECRET"]]]]]]}"#, code: "upstream_body_limit", cause: "limit_depth",
            setting: "limits.depth", flag: "RL"),
        Case(
            input: .form, output: .json, type: formType, body: "a=SECRET&b=1&c=1&d=1", code: "upstream_body_limit",
            cause: "limit_fields", setting: "limits.fields", flag: "RL"),
        Case(
            input: .form, output: .json, type: formType, body: "a=SECRET&b=%FF", code: "upstream_body_malformed",
            cause: "form_invalid_utf8", field: "b", setting: "invalid_utf8", flag: "RD"),
        Case(
            input: .multipart, output: .json, type: multipartType,
            body: "--x\r\nContent-Disposition: form-data; name=a\r\n\r\nSECRET\r\n", code: "upstream_body_malformed",
            cause: "multipart_truncated", flag: "RD"),
        Case(
            input: .multipart, output: .json, type: "multipart/form-data", body: "--x--",
            code: "upstream_body_malformed", cause: "multipart_boundary_missing", flag: "RD"),
    ]

    private func limits() -> Limits {
        var limits = Limits()
        limits.depth = 5
        limits.fields = 3
        return limits
    }

    private func problem(
        _ response: RigMessage, _ code: String, status: Int = 502, location: SourceLocation = #_sourceLocation
    ) throws -> [String: Any] {
        #expect(response.status == status, "\(response.text)", sourceLocation: location)
        #expect(response["Content-Type"] == "application/problem+json", sourceLocation: location)
        let problem = try #require(
            JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any], sourceLocation: location)
        #expect(problem["code"] as? String == code, "\(response.text)", sourceLocation: location)
        #expect(!response.text.contains("SECRET"), sourceLocation: location)
        return problem
    }

    @Test(
        "a body that can't be converted is a 502 that says what and where, or the error that it is, and the client's connection goes on",
        arguments: cases)
    func bodies(item: Case) throws {
        try withRig([convertBack(item.input, item.output, limits: limits())]) { rig in
            let client = try rig.connect()
            for text in [
                answer(item.body, item.type), chunkedAnswer(item.body, item.type),
                "HTTP/1.1 404 Gone\r\nContent-Type: \(item.type)\r\n\r\n\(item.body)",
            ] {
                client.send(getRequest)
                let index = try self.index(of: rig)
                _ = rig.upstreams[index].take()
                rig.upstreams[index].send(text)
                if text.contains("404") { rig.upstreams[index].close() }
                let response = try rig.response(to: client)
                let problem = try problem(response, item.code, status: text.contains("404") ? 404 : 502)
                if let cause = item.cause { #expect(problem["cause"] as? String == cause) }
                if let offset = item.offset { #expect(problem["offset"] as? Int == offset) }
                if let field = item.field { #expect((problem["field"] ?? problem["pointer"]) as? String == field) }
                if let setting = item.setting { #expect(problem["setting"] as? String == setting) }
                #expect(response["Connection"] == nil)
            }
            let lines = try rig.logLines()
            #expect(lines.map { $0["flags"] as? String } == [item.flag, item.flag, item.flag])
            #expect(lines.map { $0["status"] as? Int } == [502, 502, 404])
        }
    }

    /// The upstream's connection that has a request to answer.
    private func index(of rig: ProxyRig) throws -> Int {
        var found: Int?
        try rig.until("a request at the upstream") {
            found = rig.upstreams.firstIndex { !$0.isOver && $0.has() }
            return found != nil
        }
        return try #require(found)
    }

    @Test("after a fault at a response's end its connection serves on; after one inside it is closed")
    func connections() throws {
        try withRig([convertBack()]) { rig in
            let client = try rig.connect(sending: getRequest)
            _ = try rig.request()
            try rig.upstream().send(answer(#"{"a":"#))
            _ = try problem(try rig.response(to: client), "upstream_body_malformed")
            client.send(getRequest)
            _ = try rig.request()
            try rig.upstream().send(String(answer(#"{"a":]"# + String(repeating: " ", count: 100)).dropLast(50)))
            _ = try problem(try rig.response(to: client), "upstream_body_malformed")
            try rig.until("the end") { rig.upstreams[0].isOver }
            client.send(getRequest)
            _ = try rig.request(on: 1)
            try rig.upstream(1).send(answer(#"{"a":1}"#))
            #expect(try rig.response(to: client).text == "a=1")
        }
    }

    @Test(
        "a body that is cut is a 502, whatever framed it",
        arguments: [
            String(answer(#"{"a":"SECRET"}"#).dropLast()), chunkedAnswer(#"{"a":"SECRET"}"#, end: ""),
            chunkedAnswer(#"{"a":"SECRET"}"#, end: "0\r\n"),
            answer(#"{"a":"SECRET"}"#, fields: "X: 1\r\n").replacing(
                "\r\n\r\n", with: "\r\n\r\n "
            ).replacing("}", with: ""),
        ])
    func cut(text: String) throws {
        for resets in [false, true] {
            try withRig([convertBack()]) { rig in
                let client = try rig.connect(sending: getRequest)
                _ = try rig.request()
                let upstream = try rig.upstream()
                upstream.send(text)
                rig.settle()
                if resets { upstream.reset() } else { upstream.close() }
                let response = try rig.response(to: client)
                #expect(response.status == 502 && !response.text.contains("SECRET"))
                let code =
                    try #require(
                        try JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any])["code"]
                    as? String
                #expect(code == "upstream_body_incomplete" || code == "upstream_body_malformed")
                client.send(getRequest)
                _ = try rig.request(on: 1)
                try rig.upstream(1).send(answer(#"{"a":1}"#))
                #expect(try rig.response(to: client).text == "a=1")
            }
        }
    }

    @Test("a chunk that can't be read is a 502, however much has been converted")
    func badChunk() throws {
        try withRig([convertBack()]) { rig in
            let client = try rig.connect(sending: getRequest)
            _ = try rig.request()
            try rig.upstream().send(chunkedAnswer(#"{"a":1}"#, end: "nonsense\r\n"))
            _ = try problem(try rig.response(to: client), "upstream_bad_response")
            #expect(try rig.logLines().first?["flags"] as? String == "UB")
        }
    }

    @Test("a response that stops is a 504")
    func stops() throws {
        try withRig([convertBack(timeouts: { $0.gap = .milliseconds(60) })]) { rig in
            let client = try rig.connect(sending: getRequest)
            _ = try rig.request()
            try rig.upstream().send(String(answer(#"{"a":1}"#).dropLast()))
            _ = try problem(try rig.response(to: client), "upstream_timeout", status: 504)
            try rig.until("the end") { rig.upstreams[0].isOver }
        }
    }

    @Test("a client that leaves while its response is held ends the upstream's request")
    func clientGone() throws {
        try withRig([convertBack()]) { rig in
            let client = try rig.connect(sending: getRequest)
            _ = try rig.request()
            try rig.upstream().send(String(answer(#"{"a":1}"#).dropLast()))
            rig.settle()
            client.reset()
            try rig.until("the end") { rig.upstreams[0].isOver }
            #expect(try rig.logLines().first?["flags"] as? String == "CD")
        }
    }

    @Test("a bad upload that is found while the response is held is answered for what it is")
    func badUpload() throws {
        // A form would be held until its length is known.
        var plan = ConversionPlan(inputs: [.json], output: .json)
        plan.limits.field = 1_000_000
        let route = convertBack(request: .convert(plan, otherTypes: .reject, sources: []))
        try withRig([route]) { rig in
            let large = String(repeating: "x", count: 300_000)
            let client = try rig.connect(sending: String(post("/", jsonType, #"{"a":"\#(large)",}"#).dropLast(2)))
            let upstream = try rig.upstream()
            try rig.until("much of the request") { upstream.received.count > 100_000 }
            upstream.send(String(answer(#"{"a":1}"#).dropLast()))
            rig.settle()
            #expect(client.received.isEmpty)
            client.send(",}")
            #expect(try rig.response(to: client).status == 400)
            try rig.until("the end") { upstream.isOver }
        }
    }

    // MARK: Limits

    @Test("limits.response bounds the converted body, limits.body the upstream's", arguments: [true, false])
    func limit(chunked: Bool) throws {
        let bound = 100_000
        func text(_ body: String) -> String { chunked ? chunkedAnswer(body, chunk: 40_000) : answer(body) }
        func body(converted count: Int) -> String { #"{"a":"\#(String(repeating: "v", count: count - 2))"}"# }
        var limits = Limits()
        limits.field = 1_000_000
        try withRig([convertBack(limits: limits, limit: bound)]) { rig in
            for count in [bound - 1, bound] {
                let response = try rig.exchange(getRequest, answer: text(body(converted: count))).response
                #expect(response.status == 200 && response.body.count == count)
            }
            for count in [bound + 1, bound + 70_000] {
                let response = try rig.exchange(getRequest, answer: text(body(converted: count))).response
                let problem = try problem(response, "limit_response")
                #expect(problem["setting"] as? String == "limits.response" && problem["cause"] == nil)
            }
        }
        limits.body = bound
        try withRig([convertBack(limits: limits)]) { rig in
            for count in [bound - 1, bound] {
                let body = body(converted: count - 6)
                #expect(body.utf8.count == count)
                #expect(try rig.exchange(getRequest, answer: text(body)).response.status == 200)
            }
            let response = try rig.exchange(getRequest, answer: text(body(converted: bound - 5))).response
            let problem = try problem(response, "upstream_body_limit")
            #expect(problem["setting"] as? String == "limits.body" && problem["cause"] as? String == "limit_body")
        }
    }

    @Test("a tree's output beyond limits.response is refused too, though it is written at the end")
    func treeLimit() throws {
        for (limit, status) in [(11, 200), (10, 502), (1, 502)] {
            try withRig([convertBack(.form, .json, limit: limit)]) { rig in
                let response = try rig.exchange(getRequest, answer: answer("a=bcd", formType)).response
                #expect(response.status == status, "\(limit)")
                #expect(status == 200 ? response.text == #"{"a":"bcd"}"# : response.text.contains("limit_response"))
            }
        }
    }
}
