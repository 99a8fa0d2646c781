import Foundation
import Gateway
import Proxy
import Testing
import Transcoding

/// Which rule decides, and which responses are good for it.
@Suite struct ResponseRuleTests {
    private func statuses(_ texts: String...) throws -> [StatusRange] { try texts.map { try StatusRange(parsing: $0) } }
    private func types(_ texts: String...) throws -> [ResponseTypePattern] {
        try texts.map { try ResponseTypePattern(parsing: $0) }
    }
    private func accept(_ texts: String...) throws -> [MediaRange] { try texts.map { try MediaRange(parsing: $0) } }

    private func outcome(_ response: RigMessage) -> String { "\(response.status) \(response.text)" }

    @Test("the first rule whose status and type hold decides; without one the response passes, streamed")
    func first() throws {
        let rules = [
            ResponseRule(ResponseCondition(statuses: try statuses("404", "410-412")), .forward),
            ResponseRule(
                ResponseCondition(statuses: try statuses("2xx", "4xx"), types: try types("application/json", "+json")),
                .convert(conversion(.json, .form))),
            ResponseRule(
                ResponseCondition(types: try types("application/*")), .convert(conversion(.form, .json))),
        ]
        let json = #"{"a":1}"#
        try withRig([respond(rules)]) { rig in
            for (status, type, body, wanted) in [
                (200, jsonType, json, "a=1"), (299, "Application/JSON; charset=utf-8", json, "a=1"),
                (200, "application/problem+json", json, "a=1"), (400, jsonType, json, "a=1"),
                (404, jsonType, json, json), (410, jsonType, json, json), (412, jsonType, json, json),
                (413, jsonType, json, "a=1"), (302, formType, "a=1", #"{"a":"1"}"#),
                (500, formType, "a=1", #"{"a":"1"}"#), (500, jsonType, json, json),
                (200, "text/plain", "a=1", "a=1"), (200, "text/json", json, json), (200, "json", json, json),
                (200, "application/+json", "a=1", "a=1"),
            ] {
                let response = try rig.exchange(
                    getRequest, answer: answer(body, type, status: "\(status) X")
                ).response
                #expect(outcome(response) == "\(status) \(wanted)", "\(status) \(type)")
            }
            let untyped = try rig.exchange(getRequest, answer: answer(json, nil)).response
            #expect(untyped.text == json && untyped["Content-Type"] == nil)
        }
    }

    @Test("a response that passes is streamed, not held")
    func streamed() throws {
        try withRig([convertBack(when: ResponseCondition(statuses: try statuses("2xx")))]) { rig in
            let client = try rig.connect(sending: getRequest)
            _ = try rig.request()
            try rig.upstream().send("HTTP/1.1 500 X\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n{\"a")
            try rig.until("the beginning") { client.text.hasSuffix("{\"a") }
            try rig.upstream().send("\":1}")
            #expect(try rig.response(to: client).text == #"{"a":1}"#)
        }
    }

    @Test(
        "the client's Accept allows a type by its most precise range, and a weight of 0 is a no",
        arguments: [
            (nil, true), ("", true), ("application/json", true), ("APPLICATION/JSON", true), ("*/*", true), ("*", true),
            ("application/*", true), ("text/*", false), ("text/html", false), ("application/xml", false),
            ("application/json;q=0", false), ("application/json; q=0.000", false), ("application/json;q=0.001", true),
            ("application/json;q=0, */*", false), ("*/*;q=0, application/json", true),
            ("*/*, application/*;q=0", false), ("application/*;q=0, application/json;q=0.1, */*", true),
            ("text/html, application/json;charset=utf-8;q=0.5", true), ("application/json;version=1;Q=0", false),
            ("application/json;version=1;q=0, application/json", true), ("text/html, *; q=.2, */*; q=.2", true),
            (#"text/html;a="x,application/json", text/plain"#, false), (#"text/html;a=";q=0", application/json"#, true),
            (#"application/json;a=";q=0""#, true), ("nonsense", true), ("nonsense, text/html", false),
            ("application/json;q=x, text/html", false), ("text/html,,application/json,", true),
            ("application/jsonp", false), ("application/vnd.a+json", false), (" , ", true),
        ])
    func acceptField(value: String?, isTaken: Bool) throws {
        let rule = ResponseCondition(accept: try accept("application/json"))
        try withRig([convertBack(.form, .json, when: rule)]) { rig in
            let line = value.map { "Accept: \($0)\r\n" } ?? ""
            let response = try rig.exchange(
                "GET / HTTP/1.1\r\nHost: a\r\n\(line)\r\n", answer: answer("a=1", formType)
            ).response
            #expect(response.text == (isTaken ? #"{"a":"1"}"# : "a=1"))
            #expect(response["Vary"] == "Accept")
        }
    }

    @Test("two lines of Accept are one list, and one of a rule's types suffices")
    func acceptLines() throws {
        let rule = ResponseCondition(accept: try accept("text/csv", "application/json"))
        try withRig([convertBack(.form, .json, when: rule)]) { rig in
            for (lines, isTaken) in [
                ("Accept: text/html\r\nAccept: application/json\r\n", true),
                ("Accept: application/json;q=0\r\nAccept: */*\r\n", true),
                ("Accept: application/json;q=0, text/csv;q=0\r\nAccept: */*\r\n", false),
            ] {
                let response = try rig.exchange(
                    "GET / HTTP/1.1\r\nHost: a\r\n\(lines)\r\n", answer: answer("a=1", formType)
                ).response
                #expect(response.text == (isTaken ? #"{"a":"1"}"# : "a=1"), "\(lines)")
            }
        }
    }

    @Test("Vary names Accept where it had a say, once, and only there")
    func vary() throws {
        let rules = [
            ResponseRule(ResponseCondition(statuses: try statuses("404")), .forward),
            ResponseRule(
                ResponseCondition(statuses: try statuses("2xx"), accept: try accept(formType)),
                .convert(conversion(.json, .form))),
            ResponseRule(ResponseCondition(), .forward),
        ]
        try withRig([respond(rules)]) { rig in
            for (status, fields, wanted) in [
                ("200 OK", "", "Accept"), ("404 X", "", nil), ("500 X", "", nil),
                ("200 OK", "Vary: Origin\r\n", "Origin, Accept"),
                ("200 OK", "Vary: Origin, ACCEPT\r\n", "Origin, ACCEPT"), ("200 OK", "Vary: *\r\n", "*"),
                ("200 OK", "Vary: Accept-Language\r\n", "Accept-Language, Accept"),
            ] {
                for accepts in [formType, "text/html"] {
                    let response = try rig.exchange(
                        "GET / HTTP/1.1\r\nHost: a\r\nAccept: \(accepts)\r\n\r\n",
                        answer: answer(#"{"a":1}"#, status: status, fields: fields)
                    ).response
                    #expect(response["Vary"] == wanted, "\(status) \(fields)")
                }
            }
            let client = try rig.connect(sending: getRequest)
            let index = rig.upstreams.firstIndex { !$0.isOver } ?? 0
            _ = try rig.request(on: index)
            rig.upstreams[index].send("HTTP/1.1 304 Not Modified\r\n\r\n")
            #expect(try rig.response(to: client, .none)["Vary"] == "Accept")
        }
    }

    // MARK: Good for a rule

    @Test("a body that can't be read for its type, coding or no-transform passes, or is a 502 where the rule says so")
    func otherTypes() throws {
        let cases = [
            (answer("<a/>", "text/html"), "upstream_unacceptable_type"),
            (answer("{}", nil), "upstream_unacceptable_type"), (answer("{}", "nonsense"), "upstream_unacceptable_type"),
            (answer("{}", "application/json; charset=utf-16"), "upstream_unacceptable_type"),
            (answer("{\"a\":\"\u{e9}\"}", "application/json; charset=iso-8859-1"), "upstream_unacceptable_type"),
            (answer("zip", fields: "Content-Encoding: exi\r\n"), "upstream_unacceptable_coding"),
            (answer("{}", fields: "Cache-Control: max-age=1, No-Transform\r\n"), "upstream_no_transform"),
            (
                answer("{}", fields: "Cache-Control: private\r\nCache-Control: no-transform\r\n"),
                "upstream_no_transform"
            ),
        ]
        for other in OtherTypes.allCases {
            try withRig([convertBack { $0.otherTypes = other }]) { rig in
                for (text, code) in cases {
                    let text = text.replacing("\r\n\r\n", with: "\r\nETag: \"v\"\r\n\r\n")
                    let response = try rig.exchange(getRequest, answer: text).response
                    if other == .pass {
                        #expect(response.status == 200 && response["ETag"] == "\"v\"")
                        #expect(text.hasSuffix("\r\n\r\n\(response.text)"))
                    } else {
                        #expect(response.status == 502 && response.text.contains(#""code":"\#(code)""#), "\(text)")
                        let isOfCharset = text.contains("charset=")
                        #expect(response.text.contains("Content-Type whose charset") == isOfCharset, "\(text)")
                    }
                }
                let flags = try rig.logLines().map { $0["flags"] as? String }
                #expect(flags == cases.map { _ in other == .pass ? nil : "RT" })
            }
        }
    }

    @Test("other types can be accepted as the rule's encoding, and then no others are")
    func acceptedTypes() throws {
        let types = try types("text/plain", "+json")
        try withRig([convertBack { $0.acceptedTypes = types }]) { rig in
            for (type, isTaken) in [
                ("text/plain", true), ("TEXT/plain; charset=UTF-8", true), ("application/a+json", true),
                (jsonType, false), ("text/html", false), ("text/plain; charset=iso-8859-1", false),
            ] {
                let response = try rig.exchange(getRequest, answer: answer(#"{"a":1}"#, type)).response
                #expect(response.text == (isTaken ? "a=1" : #"{"a":1}"#), "\(type)")
            }
            let head = "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n"
            for (type, hasLength) in [("text/plain", false), (jsonType, true)] {
                let response = try rig.exchange(
                    head, answer: "HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nContent-Length: 7\r\n\r\n", .none
                ).response
                #expect(response["Content-Length"] == (hasLength ? "7" : nil))
            }
        }
    }

    @Test("a status that a rule doesn't accept is a 502, except 304, which answers the client's own condition")
    func acceptedStatuses() throws {
        let statuses = try statuses("2xx")
        try withRig([convertBack { $0.acceptedStatuses = statuses }]) { rig in
            for (status, code) in [
                ("200 OK", nil), ("404 X", "upstream_unacceptable_status"), ("302 X", "upstream_unacceptable_status"),
            ] {
                let response = try rig.exchange(getRequest, answer: answer(#"{"a":1}"#, status: status)).response
                #expect(response.status == (code == nil ? 200 : 502), "\(status)")
                if let code { #expect(response.text.contains(code)) }
            }
            let response = try rig.exchange(getRequest, answer: "HTTP/1.1 304 X\r\n\r\n", .none).response
            #expect(response.status == 304)
        }
    }

    @Test("a response's map takes values of the request, and one that can't be written is found before it goes up")
    func sources() throws {
        let route = convertBack(.json, .json) { conversion in
            conversion.sources = [.header("x-tenant")]
            conversion.plan.map.set = [.init(path: FieldPath([.key(Array("t".utf8))]), value: .source(0))]
        }
        try withRig([route]) { rig in
            for tenant in ["one", "two"] {
                let response = try rig.exchange(
                    "GET / HTTP/1.1\r\nHost: a\r\nX-Tenant: \(tenant)\r\n\r\n", answer: answer(#"{"a":1.50}"#)
                ).response
                #expect(response.text == #"{"a":1.50,"t":"\#(tenant)"}"#)
            }
            let client = try rig.connect()
            client.send(Array("GET / HTTP/1.1\r\nHost: a\r\nX-Tenant: ".utf8) + [0xFF] + Array("\r\n\r\n".utf8))
            let response = try rig.response(to: client)
            #expect(response.status == 400 && response.text.contains("source_invalid_utf8"))
            rig.settle()
            #expect(rig.upstreams.allSatisfy { !$0.has() })
        }
    }

    @Test("a conversion with several inputs is chosen by each response's type")
    func severalInputs() throws {
        var plan = ConversionPlan(inputs: [.form, .json, .multipart], output: .json)
        plan.fieldEncoding.files = .base64
        let rule = ResponseRule(ResponseCondition(), .convert(ResponseConversion(plan)))
        try withRig([respond([rule])]) { rig in
            let part = "--x\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--x--\r\n"
            for (body, type) in [
                (#"{"a":"1"}"#, jsonType), ("a=1", formType), (part, multipartType), ("a=1", formType),
            ] {
                let response = try rig.exchange(getRequest, answer: answer(body, type)).response
                #expect(response.text == #"{"a":"1"}"#)
            }
        }
    }

    @Test("the log says what a response was and became, and what became of its fields")
    func log() throws {
        try withRig([convertBack { $0.plan.map.remove = [FieldPath([.key(Array("b".utf8))])] }, forward(index: 1)]) {
            rig in
            _ = try rig.exchange(getRequest, answer: answer(#"{"a":"SECRET","b":2}"#))
            _ = try rig.exchange(getRequest, answer: answer("{]"))
            _ = try rig.exchange(getRequest, answer: answer("text", "text/plain"))
            let lines = try rig.logLines()
            #expect(!lines.description.contains("SECRET"))
            #expect(lines.map { $0["response_from"] as? String } == ["json", "json", nil])
            #expect(lines.map { $0["response_to"] as? String } == ["form", "form", nil])
            #expect(lines.map { $0["bytes_in_upstream"] as? Int } == [20, 2, nil])
            #expect(lines.map { $0["response_fields"] as? Int } == [2, nil, nil])
            #expect(lines.map { $0["response_files"] as? Int } == [0, nil, nil])
            #expect(lines.map { $0["response_dropped"] as? Int } == [1, nil, nil])
            #expect(lines[0]["bytes_back"] as? Int == 8)
            #expect(lines.map { $0["flags"] as? String } == [nil, "RD", nil])
            #expect(lines.allSatisfy { $0["from"] == nil })
        }
    }
}
