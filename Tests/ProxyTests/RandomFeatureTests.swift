import ContentCoding
import Foundation
import Octets
import TestSupport
import Testing
import Transcoding

@testable import Proxy

/// All features at once, by chance: what the routes do, what clients and upstreams do, when settings change and when the
/// worker ends. Whatever happens: no POST reaches the upstream twice, what the upstream takes for a whole request is one,
/// what a client takes for a whole answer is that of its request, each request is logged once, and nothing is left.
///
/// A run of many: `RECAST_SEEDS=1-2000 swift test --filter RandomFeatureTests`.
@Suite struct RandomFeatureTests {
    @Test("retries, spools, codings, rates, tunnels, reloads and drains at any time", arguments: seeds)
    func anything(seed: UInt64) throws {
        var random = SplitMix(state: seed)
        let routes = try RandomRoutes.routes(&random)
        try withRig(routes, unix: seed % 2 == 0) { settings in
            RandomRoutes.change(&settings, &random)
        } _: { rig in
            try RandomPlay(rig, random, isUnix: seed % 2 == 0).run()
        }
    }

    private static var seeds: ClosedRange<UInt64> {
        let words = ProcessInfo.processInfo.environment["RECAST_SEEDS"]?.split(separator: "-").compactMap { UInt64($0) }
        guard let words, words.count == 2 else { return 1...12 }
        return words[0]...words[1]
    }
}

/// One run: who is there and what has been said.
private final class RandomPlay {
    private final class Client {
        let peer: RigPeer
        var awaited: [(id: Int, isHead: Bool)] = []
        var unsent: [UInt8] = []
        var isGone = false
        /// An upgrade is asked for: nothing else is, until it is answered.
        var upgrade: Int?
        var isTunnel = false

        init(_ peer: RigPeer) { self.peer = peer }
    }

    private struct Asked {
        var method: String
        /// What the upstream must see; nil: never all of it.
        var body: [UInt8]?
        var isBack = false
    }

    /// Letters that don't shrink much, as bodies that do are taken for bombs.
    private static let filler: String = {
        var random = SplitMix(state: 7)
        return String(decoding: (0..<300_000).map { _ in UInt8(97 + random.below(26)) }, as: UTF8.self)
    }()

    private let rig: ProxyRig
    private var random: SplitMix
    private var clients: [Client] = []
    private var asked: [Int: Asked] = [:]
    /// The answers that were sent whole, and those that were cut, by their serial number.
    private var answers: [String] = []
    /// Bytes that an upstream connection still has to send, by its place.
    private var unsent: [Int: [UInt8]] = [:]
    /// Upstream connections that have answered before the request's end.
    private var early: Set<Int> = []
    private var tunnels: Set<Int> = []
    private var snapshots: [ConfigurationSnapshot] = []
    private var isDraining = false
    private var isDrained = false

    private let isUnix: Bool

    init(_ rig: ProxyRig, _ random: SplitMix, isUnix: Bool) {
        self.rig = rig
        self.isUnix = isUnix
        self.random = random
    }

    func run() throws {
        snapshots.append(rig.worker.current)
        for _ in 0..<3 { clients.append(Client(try rig.connect())) }
        for step in 0..<150 {
            if step == 130, random.chance(2) {
                isDraining = true
                rig.drain { [unowned self] in isDrained = true }
            }
            switch random.below(24) {
            case 0, 1: if clients.count < 6, !isDraining { clients.append(Client(try rig.connect())) }
            case 2, 3, 4, 5: ask()
            case 6, 7, 8, 9: sendSome()
            case 10, 11, 12, 13, 14: try answerSome()
            case 15: disturbClient()
            case 16, 17: disturbUpstream()
            case 18, 19: for index in rig.upstreams.indices { sendRest(index) }
            case 20: if random.chance(3), !isDraining { try reload() }
            case 21: if random.chance(2) { try rig.pass(35) }
            default: for upstream in rig.upstreams where random.chance(2) { upstream.resume() }
            }
            rig.settle()
            for client in clients { try check(client) }
        }
        try end()
    }

    // MARK: Clients

    private func ask() {
        guard let client = clients.randomElement(using: &random), !client.isGone, client.upgrade == nil else { return }
        if client.isTunnel {
            client.unsent += Array("up;".utf8)
            return
        }
        let id = asked.count + 1
        let size = [0, 10, 3_000, 70_000, 70_000, 300_000].randomElement(using: &random) ?? 0
        let filler = Self.filler.prefix(size)
        var path = RandomRoutes.paths.randomElement(using: &random) ?? ""
        let method = ["GET", "HEAD", "POST", "POST", "POST", "PUT", "PUT"].randomElement(using: &random) ?? ""
        var fields = "X-Request-Id: \(id)\r\n"
        if random.chance(2) { fields += "Accept-Encoding: gzip\r\n" }
        if random.chance(2) { fields += "Connection: TE\r\nTE: trailers\r\n" }
        var request = Asked(method: method, isBack: path == "/back")
        if method == "GET" || method == "HEAD" {
            if method == "GET", random.chance(3) {
                path = "/plain"
                request.isBack = false
                client.upgrade = id
                fields = "X-Request-Id: \(id)\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            }
            request.body = []
            client.unsent += Array("\(method) \(path) HTTP/1.1\r\nHost: a\r\n\(fields)\r\n".utf8)
        } else {
            var body: [UInt8]
            if path.hasPrefix("/form") {
                body = Array("n=\(id)&f=\(filler)".utf8)
                request.body = Array(#"{"n":"\#(id)","f":"\#(filler)"}"#.utf8)
                fields += "Content-Type: \(formType)\r\n"
            } else if path == "/json" {
                let isBad = random.chance(4)
                body = Array(#"{"n":\#(id),"f":"\#(filler)"\#(isBad ? "," : "")}"#.utf8)
                if !isBad { request.body = Array("n=\(id)&f=\(filler)".utf8) }
                fields += "Content-Type: \(jsonType)\r\n"
            } else {
                body = Array("\(id);\(filler)".utf8)
                request.body = body
                fields += "Content-Type: text/plain\r\n"
            }
            if path.hasPrefix("/form") || path == "/json", random.chance(3) {
                body = BodyCodingTests.encoded(String(decoding: body, as: UTF8.self), .gzip)
                fields += "Content-Encoding: gzip\r\n"
            }
            if random.chance(3) { fields += "Expect: 100-continue\r\n" }
            if random.chance(2) {
                let trailer = random.chance(2) ? "X-Sum: \(id)\r\n" : ""
                body = Self.chunked(body, pieces: 1 + random.below(3)) + Array("0\r\n\(trailer)\r\n".utf8)
                fields += "Transfer-Encoding: chunked\r\n"
            } else {
                fields += "Content-Length: \(body.count)\r\n"
            }
            client.unsent += Array("\(method) \(path) HTTP/1.1\r\nHost: a\r\n\(fields)\r\n".utf8) + body
        }
        asked[id] = request
        client.awaited.append((id, request.method == "HEAD"))
        guard random.chance(2) else { return }
        client.peer.send(client.unsent)
        client.unsent = []
    }

    private static func chunked(_ body: [UInt8], pieces: Int) -> [UInt8] {
        let size = max(1, (body.count + pieces - 1) / pieces)
        var output: [UInt8] = []
        for start in stride(from: 0, to: body.count, by: size) {
            let piece = body[start..<min(start + size, body.count)]
            output += Array("\(String(piece.count, radix: 16))\r\n".utf8) + piece + [13, 10]
        }
        return output
    }

    private func sendSome() {
        guard let client = clients.randomElement(using: &random), !client.isGone else { return }
        let count = random.chance(2) ? client.unsent.count : random.below(client.unsent.count + 1)
        client.peer.send(Array(client.unsent.prefix(count)))
        client.unsent.removeFirst(count)
    }

    private func disturbClient() {
        guard let client = clients.randomElement(using: &random) else { return }
        switch random.below(6) {
        case 0:
            client.peer.reset()
            client.isGone = true
        case 1:
            client.peer.close()
            client.isGone = true
        case 2: client.peer.halfClose()
        case 3: client.peer.pause()
        default: client.peer.resume()
        }
    }

    // MARK: The upstream

    private func disturbUpstream() {
        guard !rig.upstreams.isEmpty else { return }
        let index = random.below(rig.upstreams.count)
        let upstream = rig.upstreams[index]
        switch random.below(9) {
        case 0: upstream.reset()
        case 1:
            // A FIN would be the end of a body that has no other.
            if unsent[index] == nil, upstream.queued == 0 { upstream.close() } else { upstream.reset() }
        case 2: upstream.pause()
        case 3 where unsent[index] == nil && !tunnels.contains(index):
            upstream.send("HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n")
        case 4 where unsent[index] == nil && !tunnels.contains(index): upstream.send("HTTP/1.1 100 Continue\r\n\r\n")
        case 5 where tunnels.contains(index): upstream.send("down;")
        case 6 where tunnels.contains(index): upstream.halfClose()
        default: upstream.resume()
        }
    }

    private func answerSome() throws {
        guard !rig.upstreams.isEmpty else { return }
        for index in rig.upstreams.indices.shuffled(using: &random) {
            let upstream = rig.upstreams[index]
            guard !tunnels.contains(index), unsent[index] == nil else { continue }
            if let request = upstream.take() {
                let id = try checkRequest(request)
                if early.remove(index) != nil { continue }
                answer(id, index, isUpgrade: request["Upgrade"] == "websocket")
                return
            }
            if !upstream.isOver, !early.contains(index), random.chance(6), let id = idOfBegun(upstream) {
                early.insert(index)
                answer(id, index, isUpgrade: false)
                return
            }
        }
    }

    /// A whole request at the upstream: it must be one.
    private func checkRequest(_ request: RigMessage) throws -> Int {
        let id = try #require(request["X-Request-Id"].flatMap { Int($0) })
        let asked = try #require(asked[id])
        #expect(request.startLine.hasPrefix(asked.method + " "), "\(id)")
        let body = try #require(asked.body, "a request that was never whole: \(id)")
        #expect(request.body == body, "\(id): \(request.body.count) bytes instead of \(body.count)")
        return id
    }

    private func idOfBegun(_ upstream: RigPeer) -> Int? {
        let text = String(decoding: upstream.rest.prefix(2_000), as: UTF8.self)
        guard text.contains("\r\n\r\n"), let range = text.range(of: "X-Request-Id: ") else { return nil }
        return Int(text[range.upperBound...].prefix { $0.isNumber })
    }

    private func answer(_ id: Int, _ index: Int, isUpgrade: Bool) {
        guard let request = asked[id] else { return }
        if isUpgrade, random.chance(2) {
            tunnels.insert(index)
            return rig.upstreams[index].send(
                "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Answer: \(id)\r\n\r\ndown;"
            )
        }
        let filler = Self.filler.prefix([0, 2_000, 100_000].randomElement(using: &random) ?? 0)
        var kind = random.below(8)
        // A unix socket knows no reset, so that what ends with it can't be seen to be cut.
        if kind == 4, isUnix { kind = 5 }
        let isCut = kind == 0 || kind == 1
        let serial = answers.count
        let text = "\(id);\(serial);\(isCut ? "!" : "")\(filler)"
        answers.append(isCut ? "" : request.isBack ? "a=" + text.replacingOccurrences(of: ";", with: "%3B") : text)
        let body = request.isBack ? #"{"a":"\#(text)"}"# : text
        let type = request.isBack ? jsonType : "text/plain"
        let status = random.chance(6) ? "503 Busy" : "200 OK"
        var bytes = "HTTP/1.1 \(status)\r\nContent-Type: \(type)\r\nX-Answer: \(id)\r\nETag: \"\(serial)\"\r\n"
        let count = body.utf8.count
        switch kind {
        case 0: bytes += "Content-Length: \(count + 5)\r\n\r\n"
        case 1, 2, 3: bytes += "Transfer-Encoding: chunked\r\n\r\n"
        case 4: bytes += "Connection: close\r\n\r\n"
        case 5: bytes += "Connection: close\r\nContent-Length: \(count)\r\n\r\n"
        default: bytes += "Content-Length: \(count)\r\n\r\n"
        }
        if request.method != "HEAD" {
            bytes += 1...3 ~= kind ? "\(String(count, radix: 16))\r\n\(body)\r\n" : body
            if 2...3 ~= kind { bytes += kind == 2 ? "0\r\n\r\n" : "0\r\nX-Sum: \(id)\r\n\r\n" }
        }
        unsent[index] = Array(bytes.utf8)
        closing[index] = kind == 0 || kind == 1 || kind == 4 || kind == 5
        if random.chance(2) { sendRest(index) } else { sendPart(index) }
    }

    /// Whether an upstream connection ends behind its answer.
    private var closing: [Int: Bool] = [:]

    private func sendPart(_ index: Int) {
        guard let bytes = unsent[index] else { return }
        let count = random.below(bytes.count)
        rig.upstreams[index].send(Array(bytes.prefix(count)))
        unsent[index] = Array(bytes.dropFirst(count))
    }

    private func sendRest(_ index: Int) {
        guard let bytes = unsent.removeValue(forKey: index) else { return }
        rig.upstreams[index].send(bytes)
        // The FIN goes out behind what is queued.
        if closing[index] == true { rig.upstreams[index].halfClose() }
    }

    // MARK: What must hold

    /// Takes the answers that are there: each belongs to the oldest request that awaits one.
    private func check(_ client: Client) throws {
        while !client.isTunnel, let response = client.peer.take(client.awaited.first?.isHead == true ? .none : .framed)
        {
            if response.status == 100 || response.status == 103 { continue }
            if client.awaited.isEmpty {
                // A connection that is closed for having sent nothing, or too slowly, is told so.
                #expect(response.status == 408, "an answer to nothing: \(response.startLine)")
                continue
            }
            let (id, isHead) = client.awaited.removeFirst()
            if client.upgrade == id { client.upgrade = nil }
            if response.status == 101 {
                #expect(response["X-Answer"] == "\(id)")
                client.isTunnel = true
                break
            }
            guard response["Content-Type"] != "application/problem+json" else {
                #expect([400, 408, 413, 502, 503, 504].contains(response.status), "\(id): \(response.startLine)")
                continue
            }
            #expect(response["X-Answer"] == "\(id)" && [200, 503].contains(response.status), "\(id)")
            if isHead { continue }
            var text = response.text
            if response["Content-Encoding"] == "gzip" { text = try BodyCodingTests.decoded(response.body, .gzip) }
            let parts = text.replacingOccurrences(of: "%3B", with: ";").split(separator: ";", maxSplits: 2)
            let serial = try #require(parts.count > 1 ? Int(parts[1]) : nil, "\(id): \(text.prefix(40))")
            #expect(text == answers[serial], "\(id): a body that wasn't sent so")
        }
        if client.isTunnel {
            let rest = String(decoding: client.peer.rest, as: UTF8.self)
            #expect(rest.replacingOccurrences(of: "down;", with: "").count < 5, "\(rest.prefix(100))")
        }
    }

    private func reload() throws {
        var settings = rig.settings
        settings.routes = try RandomRoutes.routes(&random)
        if random.chance(2) { settings.upstreams[0].maxIdlePerLoop = 1 + random.below(100) }
        if random.chance(2) { settings.upstreams.swapAt(0, 1) }
        // Which is which is told by the routes.
        if settings.upstreams[0].framing == .length {
            settings.upstreams[0].framing = .auto
            settings.upstreams[1].framing = .length
        }
        if random.chance(4) { settings.admission.inFlight = random.chance(2) ? nil : 2 }
        try rig.worker.adopt(settings)
        snapshots.append(rig.worker.current)
    }

    private func end() throws {
        for upstream in rig.upstreams { upstream.resume() }
        rig.settle()
        for client in clients { try check(client) }
        if isDraining { try rig.until("the end of the worker") { isDrained } }
        let lines = try rig.logLines()
        let worker = rig.worker
        #expect(worker.connections.isEmpty)
        #expect(worker.memory.held == 0 && worker.memory.budget.used == 0)
        #expect(worker.spools.files == 0 && worker.spools.bytes == 0)
        #expect(worker.counters.forwarding.openTunnels == 0)
        #expect(worker.shared.beginRequest(cap: 1), "requests in flight")
        for pool in snapshots.flatMap(\.pools) {
            #expect(pool.connections == 0 && pool.inFlight == 0 && pool.queue.isEmpty && pool.unresolved.isEmpty)
            for endpoint in pool.endpoints { #expect(endpoint.connections == 0 && endpoint.inFlight == 0) }
        }
        var logged: [Int: Int] = [:]
        for line in lines {
            if let id = (line["request_id"] as? String).flatMap({ Int($0) }) { logged[id, default: 0] += 1 }
        }
        #expect(logged.values.allSatisfy { $0 == 1 }, "a request that is logged twice")
        var seen: [Int: Int] = [:]
        let mark = Data("X-Request-Id: ".utf8)
        for upstream in rig.upstreams {
            let data = Data(upstream.received)
            var at = data.startIndex
            while let range = data.range(of: mark, in: at..<data.endIndex) {
                at = range.upperBound
                let digits = String(decoding: data[at...].prefix(8).prefix { $0 != 13 }, as: UTF8.self)
                if let id = Int(digits) { seen[id, default: 0] += 1 }
            }
        }
        for (id, count) in seen {
            #expect(logged[id] == 1, "\(id) is not logged")
            if asked[id]?.method == "POST" { #expect(count == 1, "a POST was sent \(count) times: \(id)") }
        }
    }
}
