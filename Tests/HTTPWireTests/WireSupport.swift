import Foundation
import HTTPWire
import Octets
import Testing

/// The vectors, each with its bytes.
struct BadRequestVector: Decodable, Sendable, CustomTestStringConvertible {
    let id: String
    let `class`: String
    let raw: String
    let expect: String
    let status: [Int]
    let why: String

    /// Each character of `raw` is one octet.
    var bytes: [UInt8] { raw.unicodeScalars.map { UInt8($0.value) } }
    var testDescription: String { id }

    static let all: [BadRequestVector] = {
        struct File: Decodable { let vectors: [BadRequestVector] }
        let url = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Vectors/http-bad-requests.json")
        guard let data = try? Data(contentsOf: url), let file = try? JSONDecoder().decode(File.self, from: data) else {
            fatalError("vectors can't be read at \(url.path())")
        }
        return file.vectors
    }()
}

/// How an input is cut.
enum Cut: Sendable, CustomStringConvertible {
    case whole
    case bytewise
    case bytewiseWithEmptySlices
    case at(Int)

    func slices(_ bytes: [UInt8]) -> [[UInt8]] {
        switch self {
        case .whole: [bytes]
        case .bytewise: bytes.map { [$0] }
        case .bytewiseWithEmptySlices: bytes.flatMap { [[], [$0]] } + [[]]
        case .at(let index): [Array(bytes[..<index]), Array(bytes[index...])]
        }
    }

    var description: String {
        switch self {
        case .whole: "whole"
        case .bytewise: "bytewise"
        case .bytewiseWithEmptySlices: "bytewise with empty slices"
        case .at(let index): "split at \(index)"
        }
    }

    /// Every cut; for long inputs the splits near the ends, and some in between.
    static func all(_ count: Int) -> [Cut] {
        var cuts: [Cut] = [.whole, .bytewise, .bytewiseWithEmptySlices]
        let step = count <= 1500 ? 1 : count / 150
        cuts += stride(from: 0, through: count, by: step).map { .at($0) }
        if step > 1 { cuts += (0...200).map { .at($0) } + (count - 200...count).map { .at($0) } }
        return cuts
    }
}

/// A request as a connection saw it.
struct SeenRequest: Hashable {
    var method: String
    var target: String
    var host: String
    var framing: BodyFraming
    var fields: [String]
    var body: [UInt8] = []
}

/// What a connection does with its input, without the connection: heads and bodies in turn until it must close.
struct TestConnection: ~Copyable {
    private(set) var requests: [SeenRequest] = []
    /// One status for each answer: 200 for a whole request, else the error's.
    private(set) var statuses: [Int] = []
    private(set) var error: WireError?
    private(set) var isClosed = false
    /// The most bytes that waited for more.
    private(set) var mostWaiting = 0

    private var parser: RequestParser
    private var head = MessageHead()
    private var decoder: BodyDecoder?
    private var waiting: [UInt8] = []
    private let limits: WireLimits

    init(limits: WireLimits = TestConnection.limits, rules: RequestRules = RequestRules()) {
        self.limits = limits
        parser = RequestParser(limits: limits, rules: rules)
    }

    /// The vectors assume a body limit below 4 GiB.
    static var limits: WireLimits {
        var limits = WireLimits()
        limits.body = 100 * 1024 * 1024
        return limits
    }

    mutating func receive(_ bytes: [UInt8]) {
        waiting += bytes
        do throws(WireError) {
            while !isClosed, try advance() {}
        } catch {
            fail(error)
        }
        mostWaiting = max(mostWaiting, isClosed ? 0 : waiting.count)
    }

    private mutating func fail(_ error: WireError) {
        self.error = error
        statuses.append(error.status)
        isClosed = true
    }

    /// One step; `false` when more bytes are needed.
    private mutating func advance() throws(WireError) -> Bool {
        let input = waiting
        guard var body = decoder else {
            guard let count = try parser.parse(input.span, into: &head) else { return false }
            var fields: [String] = []
            for index in 0..<head.fieldCount where !head.isHopByHop(index) {
                fields.append(head.name(index).lossyString() + ": " + head.value(index).lossyString())
            }
            requests.append(
                SeenRequest(
                    method: head.method.lossyString(), target: head.target.lossyString(),
                    host: head.authority.lossyString(), framing: head.framing, fields: fields))
            waiting.removeFirst(count)
            decoder = BodyDecoder(framing: try Framing.request(head), limits: limits)
            return true
        }
        let step = try body.next(input.span)
        requests[requests.count - 1].body += waiting[step.skipped..<step.skipped + step.available]
        body.took(step.available)
        waiting.removeFirst(step.skipped + step.available)
        decoder = body
        if step.isEnd {
            statuses.append(200)
            decoder = nil
            if !head.isKeepAlive { isClosed = true }
            return true
        }
        return step.skipped + step.available > 0
    }

    /// The client ends its side (`halfCloses`), or waits until the deadline.
    mutating func finish(halfCloses: Bool) {
        guard !isClosed else { return }
        if var body = decoder {
            if halfCloses {
                do throws(WireError) { try body.endOfInput() } catch { return fail(error) }
            }
            statuses.append(408)
        } else if !waiting.allSatisfy({ $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }) {
            // More than the empty lines that may come before a request.
            statuses.append(halfCloses ? 400 : 408)
        }
        isClosed = true
    }
}

extension TestConnection {
    static func run(
        _ bytes: [UInt8], _ cut: Cut = .whole, halfCloses: Bool = false, limits: WireLimits = TestConnection.limits,
        rules: RequestRules = RequestRules()
    ) -> TestConnection {
        var connection = TestConnection(limits: limits, rules: rules)
        for slice in cut.slices(bytes) { connection.receive(slice) }
        connection.finish(halfCloses: halfCloses)
        return connection
    }

    static func run(_ text: String, _ cut: Cut = .whole, halfCloses: Bool = false) -> TestConnection {
        run(text.unicodeScalars.map { UInt8($0.value) }, cut, halfCloses: halfCloses)
    }

    /// The code of the error, `ok` when there was none.
    var verdict: String { error.map { "\($0.status) \($0.code)" } ?? "ok" }
}
