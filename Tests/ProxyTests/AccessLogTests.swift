import Foundation
import Gateway
import Proxy
import Testing
import Transcoding

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
                    "ts", "request_id", "route", "client", "method", "path", "query", "proto", "host", "status",
                    "bytes_in",
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

    @Test("each reason for an answer of ours has its flag and its code")
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
            var codes: [String] = []
            for (request, status, _) in requests {
                let response = try rig.response(to: try rig.connect(sending: request))
                #expect(response.status == status)
                let problem = try JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any]
                codes.append(try #require(problem?["code"] as? String))
            }
            // A connection of its own for each, and the same exchange for all of them: none has the code of the last one.
            _ = try rig.exchange("GET /f HTTP/1.1\r\nHost: a\r\n\r\n")
            let lines = try rig.logLines()
            #expect(lines.map { $0["status"] as? Int } == requests.map { $0.1 } + [200])
            #expect(lines.map { $0["flags"] as? String } == requests.map { $0.2 } + [nil])
            #expect(lines.map { $0["code"] as? String } == codes + [nil])
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

    @Test("host, user agent, referer and the fields that are chosen, none of them longer than it may be")
    func chosen() throws {
        try withRig { settings in
            settings.accessLogForm.requestFields = ["x-tenant", "accept", "x-none"]
            settings.accessLogForm.responseFields = ["x-cache", "content-type", "x-none"]
        } _: { rig in
            let fields = [
                "User-Agent: \(String(repeating: "u", count: 1025))", "Referer: http://r/?t=SECRET",
                "X-Tenant: \(String(repeating: "t", count: 257))", "Accept: a", "Accept: b",
            ]
            _ = try rig.exchange(
                "GET /a;sid=SECRET HTTP/1.1\r\nHost: Shop.Example:81\r\n\(fields.joined(separator: "\r\n"))\r\n\r\n",
                answer: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-CACHE: HIT\r\nx-cache: \u{85}2\r\n\r\n")
            // The next exchange has none of it.
            _ = try rig.exchange("GET / HTTP/1.0\r\n\r\n")
            let lines = try rig.logLines()
            let line = try #require(lines.first)
            #expect(line["host"] as? String == "shop.example:81")
            #expect(line["path"] as? String == "/a;sid=*")
            #expect(line["user_agent"] as? String == String(repeating: "u", count: 1024) + "…")
            #expect(line["referer"] as? String == "http://r/?t=*")
            #expect(line["request.x-tenant"] as? String == String(repeating: "t", count: 256) + "…")
            #expect(line["request.accept"] as? String == "a, b")
            #expect(line["response.x-cache"] as? String == "HIT, \u{85}2")
            #expect(line["request.x-none"] == nil && line["response.x-none"] == nil)
            #expect(line["response.content-type"] == nil)
            let plain = try #require(lines.last)
            #expect(lines.count == 2 && plain["response.x-cache"] == nil)
            #expect(plain["user_agent"] == nil && plain["host"] == nil)
        }
    }

    @Test(
        "every byte that a client can send in what is logged leaves one line, of JSON where that is asked for",
        arguments: AccessLogFormat.allCases)
    func anyByte(format: AccessLogFormat) throws {
        try withRig([forward("/none")]) { settings in
            settings.accessLogForm.format = format
            settings.accessLogForm.query = .keep
            settings.accessLogForm.requestFields = ["x-tenant"]
        } _: { rig in
            var count = 0
            for byte in UInt8.min...UInt8.max where byte != 10 && byte != 13 {
                let text: [UInt8] = [0x61, byte, 0x62, 0xC2, byte, 0x63]
                let fields = ["X-Request-Id", "User-Agent", "Referer", "X-Tenant"]
                let target = Array("GET /".utf8) + text + [0x3F] + text + Array(" HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
                let head =
                    Array("GET / HTTP/1.1\r\nHost: a\r\n".utf8)
                    + fields.flatMap { Array("\($0): ".utf8) + text + [13, 10] }
                    + [13, 10]
                for request in [target, head] {
                    let client = try rig.connect()
                    client.send(request)
                    #expect([400, 404].contains(try rig.response(to: client).status))
                    client.close()
                    count += 1
                }
            }
            let lines = try rig.logText().split(separator: 10)
            #expect(lines.count == count)
            for line in lines {
                let text = try #require(String(validating: line, as: UTF8.self))
                #expect(!text.unicodeScalars.contains { $0.properties.generalCategory == .control })
                if format == .json { #expect(try JSONSerialization.jsonObject(with: line) is [String: Any]) }
            }
        }
    }

    @Test(
        "a head that breaks off, or breaks a rule, behind fields that are logged is told without them",
        arguments: AccessLogFormat.allCases, ["Bad Name: 1\r\n\r\n", "X: \u{0}\r\n\r\n", "\n", "X: y", ""])
    func brokenHead(format: AccessLogFormat, end: String) throws {
        try withRig { settings in
            settings.accessLogForm.format = format
            settings.accessLogForm.requestFields = ["x-tenant"]
            settings.client.header = .milliseconds(100)
        } _: { rig in
            let client = try rig.connect(
                sending:
                    "GET /cut?a=b HTTP/1.1\r\nHost: a\r\nUser-Agent: b\r\nReferer: c\r\nX-Tenant: d\r\nX-Request-Id: e"
                    + "\r\ntraceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n\(end)")
            #expect([400, 408].contains(try rig.response(to: client).status))
            client.close()
            let lines = try rig.logText().split(separator: 10)
            #expect(lines.count == 1)
            let line = String(decoding: try #require(lines.first), as: UTF8.self)
            #expect(line.contains(format == .json ? #""method":"GET""# : "\"GET "), "\(line)")
            #expect(line.hasSuffix(" \"-\" \"-\"") == (format == .combined))
            #expect(!line.contains("4bf92f3577b34da6a3ce929d0e0e4736") && !line.contains("user_agent"))
        }
    }
}
