import Foundation
import Proxy
import Serialization
import Testing

/// One line an exchange, with what an operator asks first.
@Suite struct AccessLogTests {
    @Test("a converted exchange: its keys and numbers, and no value of body, query or field")
    func converted() throws {
        try withRig([convert(.form, .json, plan: { $0.map.remove = [FieldPath([.key(Array("d".utf8))])] })]) { rig in
            let (request, response, _) = try rig.exchange(
                post("/x?token=SECRET", formType, "a=SECRET&b=2&d=3", fields: "Authorization: SECRET\r\n"))
            let lines = try rig.logLines()
            #expect(lines.count == 1)
            let line = try #require(lines.first)
            // Times that were too short for the loop's clock are left out.
            let keys = Set(line.keys).subtracting(["t_header", "t_body", "t_connect"])
            #expect(
                keys == [
                    "ts", "request_id", "route", "client", "method", "path", "query", "proto", "status", "bytes_in",
                    "bytes_out_upstream", "bytes_back", "t_transcode", "t_upstream_ttfb", "t_total", "framing", "from",
                    "to", "parts", "fields", "files", "dropped", "upstream", "upstream_address", "attempts",
                ])
            #expect(line["query"] as? String == "token=*")
            #expect(line["parts"] as? Int == 3)
            #expect(line["request_id"] as? String == response["X-Request-Id"])
            #expect(line["route"] as? String == "r0")
            #expect((line["client"] as? String)?.hasPrefix("127.0.0.1:") == true)
            #expect(line["method"] as? String == "POST")
            #expect(line["path"] as? String == "/x")
            #expect(line["proto"] as? String == "HTTP/1.1")
            #expect(line["status"] as? Int == 200)
            #expect(line["bytes_in"] as? Int == 16)
            #expect(line["bytes_out_upstream"] as? Int == request.body.count)
            #expect(line["bytes_back"] as? Int == 2)
            #expect(line["framing"] as? String == "length")
            #expect(line["from"] as? String == "form")
            #expect(line["to"] as? String == "json")
            #expect(line["fields"] as? Int == 3)
            #expect(line["files"] as? Int == 0)
            #expect(line["dropped"] as? Int == 1)
            #expect((line["ts"] as? String)?.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil)
            #expect(!lines.description.contains("SECRET"))
        }
    }

    @Test("a plain exchange says nothing of a conversion, and its framing")
    func plain() throws {
        try withRig { rig in
            _ = try rig.exchange("PUT /p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n")
            _ = try rig.exchange("GET /p HTTP/1.0\r\n\r\n")
            let lines = try rig.logLines()
            #expect(lines.map { $0["framing"] as? String } == ["chunked", "none"])
            #expect(lines.map { $0["proto"] as? String } == ["HTTP/1.1", "HTTP/1.0"])
            #expect(lines.map { $0["bytes_in"] as? Int } == [2, 0])
            #expect(lines.map { $0["bytes_out_upstream"] as? Int } == [2, 0])
            for line in lines {
                #expect(line["from"] == nil && line["flags"] == nil && line["fields"] == nil)
            }
        }
    }

    @Test("each reason for an answer of ours has its flag")
    func flags() throws {
        var limits = Limits()
        limits.body = 10
        let routes = [convert(.json, .form, "/c", limits: limits), forward("/f", index: 1)]
        try withRig(routes) { rig in
            let requests: [(String, Int, String)] = [
                (post("/c", jsonType, "{]"), 400, "BD"),
                (post("/c", jsonType, #"{"a":[]}"#), 422, "BC"),
                (post("/c", jsonType, "{          }"), 413, "BL"),
                (post("/c", formType, "a=1"), 415, "BT"),
                ("GET /none HTTP/1.1\r\nHost: a\r\n\r\n", 404, "NR"),
                ("GET /f HTTP/1.1\r\nHost: a\r\nBad Name: 1\r\n\r\n", 400, "BR"),
                ("GET /f HTTP/1.1\r\n\r\n", 400, "BR"),
            ]
            for (request, status, _) in requests {
                let response = try rig.response(to: try rig.connect(sending: request))
                #expect(response.status == status)
            }
            let lines = try rig.logLines()
            #expect(lines.map { $0["status"] as? Int } == requests.map { $0.1 })
            #expect(lines.map { $0["flags"] as? String } == requests.map { $0.2 })
            for line in lines { #expect((line["request_id"] as? String)?.count == 32) }
        }
    }

    @Test("whatever a request line holds, its line is one of JSON")
    func oddTarget() throws {
        try withRig(unix: true) { rig in
            for target in [#"/"a\b"#, "/a\u{7}b", "/\u{e9}"] {
                let client = try rig.connect(sending: "GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n")
                let response = try rig.response(to: client)
                #expect(response.status == 400)
            }
            let client = try rig.connect()
            client.send(Array("GET /".utf8) + [0xFF, 0xC3] + Array(" HTTP/1.1\r\n\r\n".utf8))
            let refused = try rig.response(to: client)
            #expect(refused.status == 400)
            let response = try rig.exchange("GET /%22%0A HTTP/1.1\r\nHost: a\r\nX-Request-Id: \"\u{e9}\\\r\n\r\n")
                .response
            #expect(response.status == 200)
            let lines = try rig.logLines()
            #expect(lines.count == 5)
            #expect(lines.last?["path"] as? String == "/%22%0A")
            #expect(lines.last?["request_id"] as? String == "\"\u{e9}\\")
        }
    }

    @Test("with the log off nothing is written")
    func off() throws {
        try withRig { settings in
            settings.accessLog = .off
        } _: { rig in
            let response = try rig.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n").response
            #expect(response.status == 200)
            #expect(throws: (any Error).self) { try rig.logLines() }
        }
    }
}
