import Octets
import Proxy
import TestSupport
import Testing
import Transcoding

/// Clients and upstreams that do anything at any time. Whatever they do: each whole request that the upstream sees is
/// one that a client sent, each whole answer is to a request of that connection, in order, and nothing is left behind.
@Suite struct RandomExchangeTests {
    /// A client's view: what it has sent and what it may still get.
    private final class Party {
        let peer: RigPeer
        /// The numbers of its requests whose answers are awaited, and whether each is converted.
        var awaited: [Int] = []
        /// Bytes of requests that it has not sent yet.
        var unsent: [UInt8] = []
        var isGone = false

        init(_ peer: RigPeer) {
            self.peer = peer
        }
    }

    @Test("connections that break off anywhere, in any order, mix nothing up and leave nothing", arguments: 1...24)
    func anything(seed: UInt64) throws {
        var limits = Limits()
        limits.field = 1_000_000
        let routes = [
            convert(.form, .json, "/form", limits: limits), convert(.json, .form, "/json", index: 1),
            convertBack(.json, .form, "/back", index: 2, limits: limits), forward(index: 3),
        ]
        try withRig(routes, unix: seed % 2 == 0) { rig in
            var random = SplitMix(state: seed)
            var parties: [Party] = []
            var numbers = 0
            /// What each request must be at the upstream.
            var expected: [Int: String] = [:]
            for _ in 0..<120 {
                switch random.next() % 12 {
                case 0 where parties.count < 6:
                    parties.append(Party(try rig.connect()))
                case 1, 2, 3:
                    guard let party = parties.randomElement(using: &random), !party.isGone else { break }
                    numbers += 1
                    let size = [0, 10, 3_000, 70_000, 200_000].randomElement(using: &random) ?? 0
                    let (request, body) = Self.request(numbers, size, &random)
                    party.unsent += Array(request.utf8)
                    party.awaited.append(numbers)
                    expected[numbers] = body
                case 4, 5, 6:
                    guard let party = parties.randomElement(using: &random), !party.isGone else { break }
                    let all = random.next() % 2 == 0
                    let count = all ? party.unsent.count : Int(random.next() % UInt64(party.unsent.count + 1))
                    party.peer.send(Array(party.unsent.prefix(count)))
                    party.unsent.removeFirst(count)
                case 7, 8, 9:
                    guard let upstream = rig.upstreams.randomElement(using: &random), !upstream.isOver else { break }
                    try Self.answer(upstream, expected, &random)
                case 10:
                    guard let party = parties.randomElement(using: &random) else { break }
                    switch random.next() % 6 {
                    case 0:
                        party.peer.reset()
                        party.isGone = true
                    case 1:
                        party.peer.close()
                        party.isGone = true
                    case 2: party.peer.halfClose()
                    case 3: party.peer.pause()
                    default: party.peer.resume()
                    }
                default:
                    guard let upstream = rig.upstreams.randomElement(using: &random) else { break }
                    switch random.next() % 8 {
                    case 0: upstream.reset()
                    case 1: upstream.close()
                    case 2: upstream.pause()
                    case 3: upstream.send("HTTP/1.1 103 Early Hints\r\n\r\n")
                    default: upstream.resume()
                    }
                }
                rig.settle()
                for party in parties { try Self.check(party) }
            }
            for upstream in rig.upstreams { upstream.resume() }
        }
    }

    /// A request with its number in the body, and what the upstream should see of that.
    private static func request(_ number: Int, _ size: Int, _ random: inout SplitMix) -> (String, String) {
        let filler = String(repeating: "x", count: size)
        switch random.next() % 5 {
        case 0: return (post("/form", formType, "n=\(number)&f=\(filler)"), #"{"n":"\#(number)","f":"\#(filler)"}"#)
        case 1: return (post("/json", jsonType, #"{"n":\#(number),"f":"\#(filler)"}"#), "n=\(number)&f=\(filler)")
        case 2: return (post("/json", jsonType, #"{"n":\#(number),"f":"\#(filler)",}"#), "never")
        case 3: return (post("/back", "text/plain", "n=\(number)&f=\(filler)"), "n=\(number)&f=\(filler)")
        default: return (post("/", "text/plain", "n=\(number)&f=\(filler)"), "n=\(number)&f=\(filler)")
        }
    }

    /// Checks a whole request that the upstream has got, and answers it with its number, in one of several framings.
    private static func answer(_ upstream: RigPeer, _ expected: [Int: String], _ random: inout SplitMix) throws {
        guard let request = upstream.take() else { return }
        let digits = request.text.prefix(20).drop { !$0.isNumber }.prefix { $0.isNumber }
        let number = try #require(Int(digits), "\(request.text.prefix(40))")
        #expect(request.text == expected[number])
        let filler = String(repeating: ".", count: Int(random.next() % 3) * 100_000)
        let isConverted = request.startLine.contains("/back")
        func body(_ mark: String = "") -> String {
            isConverted ? #"{"\(number);":"\(mark)\(filler)"}"# : "\(number);\(mark)\(filler)"
        }
        let type = isConverted ? "Content-Type: application/json\r\n" : ""
        let whole = body()
        switch random.next() % 5 {
        case 0:
            upstream.send(
                "HTTP/1.1 200 OK\r\n\(type)Transfer-Encoding: chunked\r\n\r\n"
                    + "\(String(whole.utf8.count, radix: 16))\r\n\(whole)\r\n0\r\n\r\n")
        case 1:
            upstream.send(
                "HTTP/1.1 200 OK\r\n\(type)Connection: close\r\nContent-Length: \(whole.utf8.count)\r\n\r\n\(whole)")
        case 2:
            // Cut: this answer must never look whole.
            let cut = body("!")
            upstream.send("HTTP/1.1 200 OK\r\n\(type)Content-Length: \(cut.utf8.count + 5)\r\n\r\n\(cut)")
            upstream.close()
        case 3 where isConverted:
            let bad = body("!") + "]"
            upstream.send("HTTP/1.1 200 OK\r\n\(type)Content-Length: \(bad.utf8.count)\r\n\r\n\(bad)")
        default: upstream.send("HTTP/1.1 200 OK\r\n\(type)Content-Length: \(whole.utf8.count)\r\n\r\n\(whole)")
        }
    }

    /// Takes the answers that are there: each belongs to the oldest request that awaits one.
    private static func check(_ party: Party) throws {
        while let response = party.peer.take() {
            if response.status == 103 { continue }
            let number = try #require(party.awaited.first, "an answer to nothing: \(response.startLine)")
            party.awaited.removeFirst()
            if response.status == 200 {
                let prefix = response["Content-Type"] == formType ? "\(number)%3B=" : "\(number);"
                #expect(response.text.hasPrefix(prefix))
                #expect(response.text.dropFirst(prefix.count).allSatisfy { $0 == "." })
            } else {
                #expect([400, 502].contains(response.status), "\(response.startLine)")
                #expect(response["Content-Type"] == "application/problem+json")
            }
        }
    }
}
