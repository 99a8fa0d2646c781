import Gateway
import Proxy
import Testing
import Transcoding

/// The client's connection from one request to the next.
@Suite struct ConnectionReuseTests {
    private let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

    @Test("after a refusal the rest of a short body is read and dropped, and the connection goes on")
    func keepAliveAfterRefusal() throws {
        try withRig([convert(.json, .form, "/c"), forward(index: 1)]) { rig in
            rig.answers = [ok]
            let body = "{]" + String(repeating: "x", count: 5000)
            let request = post("/c", jsonType, body)
            let client = try rig.connect(sending: String(request.dropLast(4000)))
            let response = try rig.response(to: client)
            #expect(response.status == 400)
            #expect(response["Connection"] == nil)
            rig.settle()
            #expect(!client.isOver)
            client.send(String(request.suffix(4000)) + get)
            #expect(try rig.response(to: client).text == "ok")
            #expect(rig.upstreams.count == 1)
        }
    }

    @Test("F16 after a refusal with a long or unknown rest the connection ends, and the answer still arrives")
    func closeAfterRefusal() throws {
        try withRig([convert(.json, .form, "/c"), forward(index: 1)]) { rig in
            let requests = [
                "POST /c HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{]",
                "POST /c HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                    + "Transfer-Encoding: chunked\r\n\r\n2\r\n{]\r\n",
                post("/c", jsonType, "{]", fields: "Connection: close\r\n"),
                "POST /c HTTP/1.0\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{]",
            ]
            for request in requests {
                let client = try rig.connect(sending: request)
                let response = try rig.response(to: client)
                #expect(response.status == 400)
                #expect(response["Connection"] == "close")
                // More of the body doesn't turn the answer into a reset.
                client.send(String(repeating: "x", count: 10_000))
                try rig.until("the end") { client.isOver }
                #expect(client.failure == nil)
            }
            #expect(rig.upstreams.isEmpty)
        }
    }

    @Test("a refused body whose rest never comes is waited for only so long")
    func refusedBodyStalls() throws {
        let route = convert(.json, .form) { $0.bodyGap = .milliseconds(40) }
        try withRig([route]) { rig in
            let client = try rig.connect(
                sending: "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{]"
            )
            #expect(try rig.response(to: client).status == 400)
            try rig.until("the end") { client.isOver }
            #expect(client.rest.isEmpty)
            let line = try #require(try rig.logLines().first)
            #expect(line["status"] as? Int == 400)
            #expect(line["flags"] as? String == "BD")
        }
    }

    @Test("a body to no route whose rest never comes is waited for only so long")
    func unroutedBodyStalls() throws {
        try withRig([forward("/a")]) { settings in
            settings.client.bodyGap = .milliseconds(40)
        } _: { rig in
            let client = try rig.connect(sending: "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\n\r\nx")
            #expect(try rig.response(to: client).status == 404)
            try rig.until("the end") { client.isOver }
        }
    }

    @Test("F22 R38 pipelined requests are answered in order, one at a time")
    func pipelined() throws {
        try withRig([convert(.form, .json, "/c"), forward("/p/*", index: 1)]) { rig in
            let requests =
                "GET /p/1 HTTP/1.1\r\nHost: a\r\n\r\n" + post("/c", formType, "n=2")
                + post("/c", formType, "n=%FF") + "GET /none HTTP/1.1\r\nHost: a\r\n\r\n"
                + "GET /p/5 HTTP/1.1\r\nHost: a\r\n\r\n"
            let client = try rig.connect(sending: requests)
            #expect(try rig.request().startLine == "GET /p/1 HTTP/1.1")
            rig.settle()
            #expect(rig.upstreams.count == 1 && rig.upstreams[0].rest.isEmpty)
            rig.upstreams[0].send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none")
            #expect(try rig.request().text == #"{"n":"2"}"#)
            rig.upstreams[0].send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ntwo")
            #expect(try rig.request().startLine == "GET /p/5 HTTP/1.1")
            rig.upstreams[0].send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfive")
            #expect(try rig.response(to: client).text == "one")
            #expect(try rig.response(to: client).text == "two")
            #expect(try rig.response(to: client).status == 400)
            #expect(try rig.response(to: client).status == 404)
            #expect(try rig.response(to: client).text == "five")
            #expect(rig.upstreams.count == 1)
        }
    }

    @Test("pipelined requests that a FIN follows are all answered, and then the connection ends")
    func pipelinedAndHalfClosed() throws {
        try withRig { rig in
            rig.answers = [ok, ok, ok]
            let client = try rig.connect(sending: get + get + get)
            client.halfClose()
            try rig.until("the end") { client.isOver }
            for _ in 0..<3 { #expect(try rig.response(to: client).text == "ok") }
            #expect(client.failure == nil)
        }
    }

    @Test("R38 a client that pipelines without reading is not read for ever")
    func pipelinedWithoutReading() throws {
        try withRig([forward("/a")], unix: true) { settings in
            settings.admission.requestsPerConnection = 0
        } _: { rig in
            let client = try rig.connect(paused: true)
            let request = "GET /none HTTP/1.1\r\nHost: a\r\n\r\n"
            let count = 25_000
            client.send(String(repeating: request, count: count))
            rig.settle()
            // Each answer is several times as long as its request: what isn't read must not be gathered here.
            #expect(client.queued > 0)
            client.resume()
            // All are of one length. Only the first is parsed: the reader of the tests is too slow for so many.
            var length = 0
            try rig.until("all answers") {
                if length == 0, client.take() != nil { length = client.received.count - client.rest.count }
                return length > 0 && client.received.count >= length * count
            }
            #expect(client.received.count == length * count)
        }
    }

    @Test("F11 a client that waits for 100 gets it after the checks, and the upstream never sees Expect")
    func expectContinue() throws {
        try withRig([convert(.form, .json, "/c"), forward(index: 1)]) { rig in
            for (path, seen) in [("/c", #"{"a":"1"}"#), ("/p", "a=1")] {
                let request = post(path, formType, "a=1", fields: "Expect: 100-continue\r\n")
                let client = try rig.connect(sending: String(request.dropLast(3)))
                try rig.until("100") { client.text == "HTTP/1.1 100 Continue\r\n\r\n" }
                client.send("a=1")
                var received: RigMessage?
                try rig.until("the request") {
                    received = rig.upstreams.last?.take()
                    return received != nil
                }
                #expect(received?["Expect"] == nil)
                #expect(received?.text == seen)
                rig.upstreams.last?.send(ok)
                #expect(try rig.response(to: client, .none).status == 100)
                #expect(try rig.response(to: client).text == "ok")
            }
        }
    }

    @Test("a client that waits for 100 is refused without it, and the connection ends")
    func expectContinueRefused() throws {
        var limits = Limits()
        limits.body = 10
        try withRig([convert(.form, .json, limits: limits)]) { rig in
            let heads = [
                ("Content-Length: 11\r\nContent-Type: \(formType)\r\n", 413),
                ("Content-Length: 3\r\nContent-Type: text/plain\r\n", 415),
            ]
            for (fields, status) in heads {
                let client = try rig.connect(
                    sending: "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\(fields)\r\n")
                let response = try rig.response(to: client)
                #expect(response.status == status)
                #expect(response["Connection"] == "close")
                try rig.until("the end") { client.isOver }
                #expect(rig.upstreams.isEmpty)
            }
        }
    }

    @Test("R37 a connection ends after the answer when the client says so")
    func connectionClose() throws {
        try withRig { rig in
            let (request, response, client) = try rig.exchange("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            #expect(request["Connection"] == nil)
            #expect(response["Connection"] == "close")
            try rig.until("the end") { client.isOver }
            #expect(client.failure == nil)
        }
    }

    @Test("an exchange leaves nothing behind for the next one, even when it was refused in the middle")
    func exchangesAreClean() throws {
        var limits = Limits()
        limits.body = 100
        try withRig([convert(.json, .form, "/c", limits: limits), forward(index: 1, limits: limits)]) { rig in
            rig.answers = [ok]
            let bad = "{]" + String(repeating: "x", count: 88)
            _ = try rig.response(
                to: try rig.connect(sending: post("/c", jsonType, bad, fields: "Connection: close\r\n")))
            let good = String(repeating: "y", count: 90)
            let response = try rig.response(to: try rig.connect(sending: post("/", "text/plain", good)))
            #expect(response.status == 200)
            let lines = try rig.logLines()
            #expect(lines.last?["bytes_in"] as? Int == 90)
        }
    }
}
