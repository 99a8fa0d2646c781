import EventLoop
import Foundation
import Gateway
import Octets
import Proxy
import TestSupport
import Testing
import Transcoding

/// A worker, a scripted upstream and scripted clients on one loop, on the test's thread: whatever happens, happens
/// inside `until` and `settle`.
final class ProxyRig {
    let loop: EventLoop
    let worker: Worker
    /// What the worker began with.
    let settings: ProxySettings
    /// Connections that the worker has made to the upstream, in order.
    private(set) var upstreams: [RigPeer] = []
    private(set) var clients: [RigPeer] = []
    /// What the upstream answers to whole requests, one after the other; without one the test answers.
    var answers: [String] = []
    /// Lets the upstream read nothing from new connections.
    var upstreamIsPaused = false

    /// Listeners of further addresses of the upstream; their connections stand in `upstreams` too. nil: closed.
    private var others: [Listener?] = []
    private var otherAddresses: [SocketAddress] = []

    private let directory: URL
    private let address: SocketAddress
    private var listener: Listener!

    /// How long a condition may take to come true.
    private static let bound: UInt64 = patience * 1_000_000_000

    /// - Parameter unix: connects both sides by unix sockets, whose buffers are small and don't grow.
    fileprivate init(
        _ routes: [Route], unix: Bool, addresses count: Int, _ configure: (inout ProxySettings) -> Void
    ) throws {
        directory = URL(fileURLWithPath: NSTemporaryDirectory())
            .appendingPathComponent("recast-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        loop = try EventLoop()
        var accepted: (Int32, UInt16) -> Void = { _, _ in }
        let inside = directory
        func path(_ name: String) -> String { inside.appendingPathComponent(name).path }
        let upstreamAddress = unix ? SocketAddress(unixPath: path("up")) : SocketAddress(ipv4: 0x7F00_0001, port: 0)
        listener = try Listener(loop: loop, address: upstreamAddress) { descriptor, _ in accepted(descriptor, 0) }
        var settings = ProxySettings(
            listen: [unix ? .unix(path: path("in")) : .tcp(host: "127.0.0.1", port: 0)], workers: 1,
            upstreams: [
                UpstreamSettings(
                    name: "app",
                    addresses: [
                        unix
                            ? .unix(path: path("up")) : .tcp(host: "127.0.0.1", port: Int(listener.address.port))
                    ])
            ],
            routes: routes)
        // A machine that is busy may take seconds for what a test waits for between two looks at a connection.
        settings.upstreams[0].connect = .seconds(patience)
        settings.upstreams[0].idle = .seconds(patience)
        settings.accessLog = .file(path: path("log"))
        settings.lifecycle.handshake = .zero
        settings.lifecycle.drainIdle = .milliseconds(20)
        for _ in 1..<count {
            var port: UInt16 = 0
            let other = try Listener(loop: loop, address: SocketAddress(ipv4: 0x7F00_0001, port: 0)) {
                descriptor, _ in accepted(descriptor, port)
            }
            port = other.address.port
            others.append(other)
            otherAddresses.append(other.address)
            settings.upstreams[0].addresses.append(.tcp(host: "127.0.0.1", port: Int(other.address.port)))
        }
        configure(&settings)
        self.settings = settings
        worker = try Worker(loop: loop, settings: settings)
        address = try worker.listen()[0]
        accepted = { [unowned self] descriptor, port in accept(descriptor, port) }
    }

    private func accept(_ descriptor: Int32, _ port: UInt16) {
        let peer = RigPeer(loop: loop, descriptor: descriptor, paused: upstreamIsPaused)
        peer.localPort = port
        if isEnding { return peer.close() }
        peer.onReceived = { [unowned self] peer in
            while !answers.isEmpty, peer.take() != nil { peer.send(answers.removeFirst()) }
        }
        upstreams.append(peer)
    }

    /// Closes a listener of a further address, from 1: connections to it are refused.
    func stopListening(_ index: Int) {
        others[index - 1]?.close()
        others[index - 1] = nil
    }

    /// Listens again where `stopListening` has ended it.
    func listenAgain(_ index: Int) throws {
        let address = otherAddresses[index - 1]
        others[index - 1] = try Listener(loop: loop, address: address) { [unowned self] descriptor, _ in
            accept(descriptor, address.port)
        }
    }

    /// The port of an address of the upstream, from 0.
    func port(_ index: Int) -> UInt16 { index == 0 ? listener.address.port : otherAddresses[index - 1].port }

    // MARK: Parties

    /// A new client, connected.
    func connect(paused: Bool = false) throws -> RigPeer {
        var outcome: Result<Int32, ConnectError>?
        Connect.start(loop: loop, address: address, timeout: Self.bound) { outcome = $0 }
        try until("a client is connected") { outcome != nil }
        let client = RigPeer(loop: loop, descriptor: try #require(outcome).get(), paused: paused)
        clients.append(client)
        return client
    }

    /// A new client that has sent `text`.
    func connect(sending text: String) throws -> RigPeer {
        let client = try connect()
        client.send(text)
        return client
    }

    /// The upstream's connection at `index`, waited for.
    func upstream(_ index: Int = 0) throws -> RigPeer {
        try until("upstream connection \(index)") { upstreams.count > index }
        return upstreams[index]
    }

    /// The next request on the upstream's connection at `index`, waited for.
    func request(on index: Int = 0) throws -> RigMessage {
        let peer = try upstream(index)
        try until("a request on upstream connection \(index)") { peer.has() }
        return try #require(peer.take())
    }

    /// The next response that `client` gets, waited for.
    func response(to client: RigPeer, _ body: RigMessage.Body = .framed) throws -> RigMessage {
        try until("a response") { client.has(body) || client.isOver && client.rest.isEmpty }
        return try #require(client.take(body), "the connection ended without a response")
    }

    /// Sends a request, lets the upstream answer it with `answer`, and returns both as the other side saw them.
    func exchange(
        _ request: String, answer: String = ok, _ body: RigMessage.Body = .framed
    ) throws -> (request: RigMessage, response: RigMessage, client: RigPeer) {
        let client = try connect(sending: request)
        var asked: RigPeer?
        try until("a request at the upstream") {
            asked = upstreams.first { !$0.isOver && $0.has() }
            return asked != nil
        }
        let upstream = try #require(asked)
        let seen = try #require(upstream.take())
        upstream.send(answer)
        return (seen, try response(to: client, body), client)
    }

    // MARK: Time

    struct Stuck: Error, CustomStringConvertible {
        let description: String
    }

    /// Runs the loop until `condition` holds. Throws what was seen when it doesn't within the bound.
    func until(_ what: String, _ condition: () -> Bool) throws {
        var isLate = false
        let timer = Timer(loop: loop) { isLate = true }
        timer.set(after: Self.bound)
        while !condition() {
            if isLate { throw Stuck(description: "never came true: \(what)\n\(seen)") }
            loop.stop()
            loop.run()
        }
    }

    /// Runs the loop for so many ticks and one more.
    func pass(ticks: Int) throws {
        var tick = 0
        try until("some ticks") {
            tick += 1
            return tick > ticks
        }
    }

    /// Runs the loop for so many milliseconds at least.
    func pass(_ milliseconds: UInt64) throws {
        var isOver = false
        let timer = Timer(loop: loop) { isOver = true }
        timer.set(after: milliseconds * 1_000_000)
        try until("time passes") { isOver }
    }

    /// Runs the loop without waiting until nothing moves any more: for what must not happen.
    func settle() {
        var quiet = 0
        var last = movement
        while quiet < 30 {
            loop.afterTick(NoWait())
            loop.stop()
            loop.run()
            let now = movement
            quiet = now == last ? quiet + 1 : 0
            last = now
        }
    }

    /// Changes with all that a party can see.
    private var movement: [UInt64] {
        (clients + upstreams).flatMap {
            [$0.stream.bytesRead, $0.stream.bytesWritten, $0.isOver ? 1 : 0, UInt64($0.stream.queued)]
        }
    }

    private var seen: String {
        func show(_ name: String, _ peers: [RigPeer]) -> [String] {
            peers.enumerated().map { index, peer in
                let end = peer.hasEnded ? ", ended" : peer.failure.map { ", failed \($0)" } ?? ""
                return "\(name) \(index): \(peer.received.count) bytes\(end): \(peer.text.prefix(600).debugDescription)"
            }
        }
        return (show("client", clients) + show("upstream", upstreams)).joined(separator: "\n")
    }

    // MARK: The end

    /// Drains the worker and returns the bytes of its log.
    func logText() throws -> Data {
        try drain()
        return try Data(contentsOf: directory.appendingPathComponent("log"))
    }

    /// Drains the worker and returns the lines of its log.
    func logLines() throws -> [[String: Any]] {
        let text = try #require(String(data: try logText(), encoding: .utf8))
        #expect(text.isEmpty || text.hasSuffix("\n"))
        return try text.split(separator: "\n").map { line in
            try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], "\(line)")
        }
    }

    private var isDrained = false
    private var isEnding = false
    private var isDraining = false

    private func drain() throws {
        for client in clients { client.close() }
        if !isDraining { worker.drain { [unowned self] in isDrained = true } }
        isDraining = true
        try until("no client connection is left") { isDrained }
    }

    /// Lets a test drain by itself. The rig doesn't then.
    func drain(_ done: @escaping () -> Void) {
        isDraining = true
        worker.drain { [unowned self] in
            isDrained = true
            done()
        }
    }

    /// Closes everything. No client connection may be left once all clients are gone.
    fileprivate func end() throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        // A client that left with a FIN is still owed its answer: the upstream refuses to give it.
        isEnding = true
        for peer in upstreams { peer.close() }
        try drain()
        settle()
        listener.close()
        for other in others { other?.close() }
        settle()
    }
}

/// Makes the tick in whose end it stands not wait.
private final class NoWait: TickTask {
    func tickEnded() {}
}

/// An answer with a short body.
let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

/// Runs `body` with a worker that serves `routes`, and then sees that nothing is left of it: every connection, timer
/// and buffer belongs to the loop, which goes away only when none of them is there.
func withRig(
    _ routes: [Route] = [forward()], unix: Bool = false, addresses: Int = 1,
    configure: (inout ProxySettings) -> Void = { _ in }, _ body: (ProxyRig) throws -> Void
) throws {
    weak var loop: EventLoop?
    do {
        let rig = try ProxyRig(routes, unix: unix, addresses: addresses, configure)
        loop = rig.loop
        try body(rig)
        try rig.end()
    }
    #expect(loop == nil, "something on the loop was left behind")
}

// MARK: - Routes

/// A route that forwards everything as it is.
func forward(
    _ path: String = "/*", index: Int = 0, rewrite: Rewrite? = nil, limits: Limits = Limits(),
    timeouts: (inout RouteTimeouts) -> Void = { _ in }, options: RouteOptions = RouteOptions()
) -> Route {
    route(path, index: index, rewrite: rewrite, limits: limits, timeouts: timeouts, options: options, .forward)
}

/// A route that converts what is POSTed to `path`.
func convert(
    _ input: BodyEncoding, _ output: BodyEncoding, _ path: String = "/*", index: Int = 0, limits: Limits = Limits(),
    otherTypes: OtherTypes = .reject, sources: [SourceReference] = [],
    timeouts: (inout RouteTimeouts) -> Void = { _ in }, plan change: (inout ConversionPlan) -> Void = { _ in }
) -> Route {
    var plan = ConversionPlan(inputs: [input], output: output)
    plan.limits = limits
    change(&plan)
    return route(
        path, index: index, rewrite: nil, limits: limits, timeouts: timeouts,
        .convert(plan, otherTypes: otherTypes, sources: sources))
}

private func route(
    _ path: String, index: Int, rewrite: Rewrite?, limits: Limits, timeouts: (inout RouteTimeouts) -> Void,
    options: RouteOptions = RouteOptions(), _ rule: RequestRule
) -> Route {
    var times = RouteTimeouts()
    timeouts(&times)
    guard let pattern = try? PathPattern(parsing: path) else { preconditionFailure("a bad path in a test: \(path)") }
    return Route(
        index: index, name: "r\(index)", match: RouteMatch(path: pattern), upstream: 0, rewrite: rewrite,
        limits: limits, timeouts: times, request: rule, options: options)
}

/// A POST with a length.
func post(_ path: String = "/", _ type: String, _ body: String, fields: String = "") -> String {
    "POST \(path) HTTP/1.1\r\nHost: a\r\nContent-Type: \(type)\r\nContent-Length: \(body.utf8.count)\r\n"
        + "\(fields)\r\n\(body)"
}

let formType = "application/x-www-form-urlencoded"
let jsonType = "application/json"
let multipartType = "multipart/form-data; boundary=x"
