import Gateway
import Proxy
import Testing

/// F12, R30: trailer fields that a route lists.
@Suite struct TrailerTests {
    private let sum = "3\r\nabc\r\n0\r\nX-Sum: 7 \r\nHost: evil\r\nx-other: 1\r\nx-SUM:8\r\n\r\n"

    private func request(_ fields: String = "") -> String {
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\(fields)\r\n"
    }

    @Test("F12 R30 a request's trailers pass where the route lists them, and no others")
    func requests() throws {
        try withRig([plain { $0.trailers = ["x-sum"] }]) { rig throws in
            _ = try rig.connect(sending: request("Trailer: X-Sum, X-Other\r\n") + sum)
            let peer = try rig.upstream()
            try rig.until("the end of the request") {
                peer.text.hasSuffix("\r\n\r\n") && peer.text.contains("X-Sum: 7")
            }
            #expect(peer.text.hasSuffix("3\r\nabc\r\n0\r\nX-Sum: 7\r\nx-SUM: 8\r\n\r\n"))
            #expect(peer.text.contains("\r\nTrailer: x-sum\r\n"))
        }
        try withRig { rig throws in
            _ = try rig.connect(sending: request("Trailer: X-Sum\r\n") + sum)
            let peer = try rig.upstream()
            try rig.until("the end of the request") { peer.text.hasSuffix("0\r\n\r\n") }
            #expect(!peer.text.lowercased().contains("x-sum") && !peer.text.contains("Trailer"))
        }
    }

    @Test("F12 R30 trailers that the route lists still keep to the limits", arguments: [0, 1])
    func limited(over: Int) throws {
        try withRig([plain { $0.trailers = ["x"] }]) { rig throws in
            rig.answers = [ok]
            let lines = String(repeating: "X: 1\r\n", count: 32 + over)
            let client = try rig.connect(sending: request() + "1\r\na\r\n0\r\n\(lines)\r\n")
            if over == 0 {
                let peer = try rig.upstream()
                try rig.until("the end of the request") { peer.text.hasSuffix("X: 1\r\n\r\n") }
            } else {
                #expect(try rig.response(to: client).status == 431)
            }
        }
    }

    @Test(
        "F12 a response's trailers pass to a client that takes them, in chunks only",
        arguments: ["1.1", "1.0", "quiet"])
    func responses(client kind: String) throws {
        try withRig([plain { $0.trailers = ["x-sum"] }]) { rig throws in
            let te = kind == "quiet" ? "" : "TE: trailers\r\nConnection: TE\r\n"
            let client = try rig.connect(
                sending: "GET / HTTP/\(kind == "quiet" ? "1.1" : kind)\r\nHost: a\r\n\(te)\r\n")
            let asked = try rig.request()
            #expect(asked["TE"] == (kind == "1.1" ? "trailers" : nil))
            rig.upstreams[0].send(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: x-sum, x-other\r\n\r\n" + sum)
            switch kind {
            case "1.1":
                try rig.until("the end") { client.text.hasSuffix("8\r\n\r\n") }
                #expect(client.text.hasSuffix("3\r\nabc\r\n0\r\nX-Sum: 7\r\nx-SUM: 8\r\n\r\n"))
                #expect(client.text.contains("\r\nTrailer: x-sum\r\n"))
            case "1.0":
                try rig.until("the end") { client.isOver }
                #expect(client.text.hasSuffix("\r\n\r\nabc"))
            default:
                try rig.until("the end") { client.text.hasSuffix("0\r\n\r\n") }
                #expect(!client.text.lowercased().contains("x-sum"))
            }
        }
    }

    @Test("F12 a route that converts passes no trailers")
    func converted() throws {
        try withRig([formToJSON { $0.trailers = ["x-sum"] }]) { rig throws in
            _ = try rig.connect(
                sending: request("Content-Type: \(formType)\r\nTrailer: X-Sum\r\n")
                    + "3\r\na=1\r\n0\r\nX-Sum: 7\r\n\r\n")
            let seen = try rig.request()
            #expect(seen.text == #"{"a":"1"}"# && seen["Trailer"] == nil)
            #expect(!rig.upstreams[0].text.lowercased().contains("x-sum"))
        }
    }
}
