import Gateway
import Testing
import Transcoding

@testable import Proxy

/// Which requests go out a second time (docs/rules.md F20, F21), and that no other does.
@Suite struct RetryTests {
    private let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

    private func retrying(_ change: (inout RetryOptions) -> Void) -> Route {
        var options = RouteOptions()
        change(&options.retry)
        return forward(options: options)
    }

    /// A rig whose first upstream connection has served a request and is idle, and the client of that request.
    private func withIdleConnection(
        _ route: Route = forward(), configure: (inout ProxySettings) -> Void = { _ in },
        _ body: (ProxyRig, RigPeer) throws -> Void
    ) throws {
        try withRig([route], configure: configure) { rig in
            let (_, _, client) = try rig.exchange(get)
            rig.settle()
            try body(rig, client)
        }
    }

    @Test(
        "F20 b: an idempotent request goes out again when a reused connection ends without a byte",
        arguments: ["GET", "OPTIONS", "DELETE"], [false, true])
    func staleConnection(method: String, reset: Bool) throws {
        try withIdleConnection { rig, client in
            client.send("\(method) /x HTTP/1.1\r\nHost: a\r\nX-Id: 7\r\n\r\n")
            let first = try rig.request()
            if reset { rig.upstreams[0].reset() } else { rig.upstreams[0].close() }
            let second = try rig.request(on: 1)
            #expect(second.startLine == first.startLine)
            #expect(second.fields.map(\.value) == first.fields.map(\.value))
            rig.upstreams[1].send(ok)
            #expect(try rig.response(to: client).text == "ok")
            #expect(rig.worker.upstreams[0].retries["stale_connection"] == 1)
        }
    }

    @Test("F20 a POST or PATCH that was sent is never sent again", arguments: ["POST", "PATCH", "LOCK"])
    func notIdempotent(method: String) throws {
        try withIdleConnection { rig, client in
            client.send("\(method) / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx")
            _ = try rig.request()
            rig.upstreams[0].reset()
            expectProblem(try rig.response(to: client), 502, "upstream_closed")
            rig.settle()
            #expect(rig.upstreams.count == 1)
            #expect(rig.worker.upstreams[0].skippedRetries["not_idempotent"] == 1)
        }
    }

    @Test("F20 b: once only: the new connection's end is the answer")
    func once() throws {
        try withIdleConnection { rig, client in
            client.send(get)
            _ = try rig.request()
            rig.upstreams[0].reset()
            _ = try rig.request(on: 1)
            rig.upstreams[1].reset()
            expectProblem(try rig.response(to: client), 502, "upstream_closed")
            rig.settle()
            #expect(rig.upstreams.count == 2)
        }
    }

    @Test("F20 a request on a new connection is not sent again unless the route asks for it")
    func freshConnection() throws {
        try withRig { rig in
            let client = try rig.connect(sending: get)
            _ = try rig.request()
            rig.upstreams[0].reset()
            expectProblem(try rig.response(to: client), 502, "upstream_closed")
            rig.settle()
            #expect(rig.upstreams.count == 1)
            #expect(rig.worker.upstreams[0].skippedRetries.values.allSatisfy { $0 == 0 })
        }
    }

    @Test(
        "F20 after a byte of the response nothing is sent again, which is told where the route would have",
        arguments: ["H", "HTTP/1.1 103 Early Hints\r\n\r\n"], [true, false])
    func responseStarted(part: String, isWanted: Bool) throws {
        try withIdleConnection(
            retrying {
                $0.onReset = isWanted; $0.onTimeout = true
            }
        ) { rig, client in
            client.send(get)
            _ = try rig.request()
            rig.upstreams[0].send(part)
            rig.settle()
            rig.upstreams[0].reset()
            try rig.until("the answer") { client.text.contains("upstream_closed") }
            rig.settle()
            #expect(rig.upstreams.count == 1)
            #expect(rig.worker.upstreams[0].skippedRetries["response_started"] == (isWanted ? 1 : 0))
            let line = try #require(try rig.logLines().last)
            let told: String? = isWanted ? "response_started" : nil
            #expect(line["retry_skipped"] as? String == told)
        }
    }

    @Test("F20 nor within its content, which is told as well", arguments: [true, false])
    func contentStarted(isWanted: Bool) throws {
        try withIdleConnection(retrying { $0.onReset = isWanted }) { rig, client in
            client.send(get)
            _ = try rig.request()
            rig.upstreams[0].send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
            try rig.until("its beginning") { client.text.hasSuffix("abc") }
            rig.upstreams[0].reset()
            try rig.until("the end") { client.isOver }
            #expect(rig.upstreams.count == 1)
            #expect(rig.worker.upstreams[0].skippedRetries["response_started"] == (isWanted ? 1 : 0))
            let line = try #require(try rig.logLines().last)
            let told: String? = isWanted ? "response_started" : nil
            #expect(line["retry_skipped"] as? String == told)
        }
    }

    @Test(
        "F20 nor where it stops within its head, or its content, and the time is over",
        arguments: ["HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"])
    func stopped(part: String) throws {
        var options = RouteOptions()
        options.retry.onTimeout = true
        let route = forward(
            timeouts: {
                $0.firstByte = .milliseconds(50)
                $0.gap = .milliseconds(50)
            }, options: options)
        try withRig([route]) { rig in
            let client = try rig.connect(sending: get)
            _ = try rig.request()
            rig.upstreams[0].send(part)
            try rig.until("an answer, or its end") { client.isOver || client.has() }
            rig.settle()
            #expect(rig.upstreams.count == 1)
            #expect(rig.worker.upstreams[0].skippedRetries["response_started"] == 1)
            let line = try #require(try rig.logLines().last)
            #expect(line["retry_skipped"] as? String == "response_started")
        }
    }

    @Test("retry: off sends nothing again")
    func disabled() throws {
        try withIdleConnection(retrying { $0.isEnabled = false }) { rig, client in
            client.send(get)
            _ = try rig.request()
            rig.upstreams[0].reset()
            expectProblem(try rig.response(to: client), 502, "upstream_closed")
            #expect(rig.worker.upstreams[0].skippedRetries["disabled"] == 1)
        }
    }

    @Test("F21 the body as it was sent is held up to the limit and no byte further", arguments: [-1, 0, 1])
    func limit(over: Int) throws {
        let request = { (body: String) in "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.count)\r\n\r\n" + body }
        let body = String(repeating: "b", count: 3000)
        // The head's length on the wire is what a first request shows.
        var head = 0
        try withRig { rig in
            let client = try rig.connect(sending: request(body))
            _ = try rig.request()
            head = rig.upstreams[0].received.count - body.count
            rig.upstreams[0].send(ok)
            _ = try rig.response(to: client)
        }
        try withIdleConnection(retrying { $0.buffer = head + body.count - over }) { rig, client in
            // The same length of the request id and the peer's address as above is not given; the ports don't show in it.
            client.send(request(body))
            _ = try rig.request()
            rig.upstreams[0].reset()
            if over <= 0 {
                #expect(try rig.request(on: 1).text == body)
                rig.upstreams[1].send(ok)
                #expect(try rig.response(to: client).text == "ok")
            } else {
                expectProblem(try rig.response(to: client), 502, "upstream_closed")
                #expect(rig.worker.upstreams[0].skippedRetries["body_too_large"] == 1)
            }
        }
    }

    @Test("F21 an upload goes on where it was: what was sent is sent again, the rest follows")
    func midUpload() throws {
        try withIdleConnection { rig, client in
            client.send("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
            try rig.until("the first part") { rig.upstreams[0].text.contains("abc") }
            rig.upstreams[0].reset()
            try rig.until("the first part again") { rig.upstreams.count > 1 && rig.upstreams[1].text.contains("abc") }
            client.send("3\r\ndef\r\n0\r\n\r\n")
            #expect(try rig.request(on: 1).text == "abcdef")
            rig.upstreams[1].send(ok)
            #expect(try rig.response(to: client).text == "ok")
        }
    }

    @Test("F21 a converted body is sent again as it was encoded")
    func converted() throws {
        try withRig([convert(.form, .json)]) { rig in
            let put = "PUT / HTTP/1.1\r\nHost: a\r\nContent-Type: \(formType)\r\nContent-Length: 3\r\n\r\na=1"
            let (_, _, client) = try rig.exchange(put)
            rig.settle()
            client.send(put)
            let first = try rig.request()
            rig.upstreams[0].reset()
            let second = try rig.request(on: 1)
            #expect(first.text == #"{"a":"1"}"#)
            #expect(second.text == first.text)
            rig.upstreams[1].send(ok)
            #expect(try rig.response(to: client).text == "ok")
        }
    }

    @Test("F20 c: what the route names is sent again, with a pause", arguments: ["503", "reset", "timeout"])
    func conditions(cause: String) throws {
        var options = RouteOptions()
        options.retry.statuses = [503]
        options.retry.onReset = true
        options.retry.onTimeout = true
        let route = forward(timeouts: { $0.firstByte = .milliseconds(40) }, options: options)
        try withRig([route]) { rig in
            let client = try rig.connect(sending: get)
            _ = try rig.request()
            switch cause {
            case "503": rig.upstreams[0].send("HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nno")
            case "reset": rig.upstreams[0].reset()
            default: break
            }
            _ = try rig.request(on: 1)
            rig.upstreams[1].send(ok)
            #expect(try rig.response(to: client).text == "ok")
            rig.settle()
            #expect(client.rest.isEmpty)
            #expect(rig.worker.upstreams[0].retries.values.reduce(0, +) == 1)
            // A phase that ended by time did so, whatever came of the request.
            let isTimeout = cause == "timeout"
            #expect(rig.worker.counters.admission.count(of: .upstreamFirstByte) == (isTimeout ? 1 : 0))
        }
    }

    @Test("the time to connect that is logged is that of the last connection, without what came before it")
    func connectTime() throws {
        var options = RouteOptions()
        options.retry.onTimeout = true
        let silence = 0.2
        let route = forward(timeouts: { $0.firstByte = .milliseconds(200) }, options: options)
        try withRig([route]) { rig in
            let client = try rig.connect(sending: get)
            _ = try rig.request()
            _ = try rig.request(on: 1)
            rig.upstreams[1].send(ok)
            #expect(try rig.response(to: client).text == "ok")
            let line = try #require(try rig.logLines().first)
            #expect(line["attempts"] as? Int == 2)
            let total = try #require(line["t_total"] as? Double)
            // Left out where it was too short for the loop's clock.
            let connect = line["t_connect"] as? Double ?? 0
            #expect(connect + silence <= total)
        }
    }

    @Test("F20 c: the last answer passes when the attempts are spent", arguments: [1, 2])
    func attempts(count: Int) throws {
        try withRig([
            retrying {
                $0.statuses = [503]; $0.attempts = count
            }
        ]) { rig in
            let client = try rig.connect(sending: get)
            for index in 0...count {
                _ = try rig.request(on: index)
                rig.upstreams[index].send("HTTP/1.1 503 No\r\nContent-Length: 1\r\n\r\n\(index)")
            }
            let response = try rig.response(to: client)
            #expect(response.status == 503)
            #expect(response.text == "\(count)")
            #expect(rig.worker.upstreams[0].skippedRetries["attempts"] == 1)
        }
    }

    @Test("F20 c: a POST is not sent again, whatever the route names")
    func conditionsAndPost() throws {
        try withRig([
            retrying {
                $0.statuses = [503]; $0.onReset = true
            }
        ]) { rig in
            let client = try rig.connect(sending: post("/", "text/plain", "x"))
            _ = try rig.request()
            rig.upstreams[0].send("HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nno")
            #expect(try rig.response(to: client).status == 503)
            #expect(rig.upstreams.count == 1)
            #expect(rig.worker.upstreams[0].skippedRetries["not_idempotent"] == 1)
        }
    }

    @Test("the budget is a fifth of the requests and a few more")
    func budget() throws {
        try withRig([retrying { $0.statuses = [503] }]) { settings in
            settings.upstreams[0].health.passive.failures = 0
        } _: { rig in
            let no = "HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nno"
            rig.answers = Array(repeating: no, count: 1000)
            let client = try rig.connect()
            for _ in 0..<80 {
                client.send(get)
                #expect(try rig.response(to: client).status == 503)
            }
            let snapshot = rig.worker.upstreams[0]
            let sent = snapshot.retries["status"] ?? 0
            #expect(sent + (snapshot.skippedRetries["budget"] ?? 0) + 0 >= 80)
            // 10 to begin with, 80 / 5, and 3 for each second that this takes.
            #expect(sent >= 26 && sent < 80)
            #expect((snapshot.skippedRetries["budget"] ?? 0) > 0)
        }
    }

    @Test("F19 a connection is not used for more requests than it may carry")
    func requestsPerConnection() throws {
        try withRig { settings in
            settings.upstreams[0].requestsPerConnection = 2
        } _: { rig in
            for _ in 0..<4 { _ = try rig.exchange(get) }
            rig.settle()
            // Up to a tenth less than 2 is 2 or 1.
            #expect(rig.upstreams.count >= 2)
            #expect(rig.upstreams[0].isOver)
        }
    }

    @Test("F19 a connection that is too old is not used again")
    func age() throws {
        try withRig { settings in
            settings.upstreams[0].maxAge = .milliseconds(1)
        } _: { rig in
            let client = try rig.connect(sending: get)
            _ = try rig.request()
            try rig.pass(2)
            rig.upstreams[0].send(ok)
            _ = try rig.response(to: client)
            try rig.until("the old connection is closed") { rig.upstreams[0].isOver }
        }
    }
}
