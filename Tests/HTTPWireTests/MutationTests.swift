import HTTPWire
import Octets
import Testing

@Suite("Mutations")
struct MutationTests {
    /// A small generator with a fixed seed: a failure can be repeated.
    struct Generator: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var word = state
            word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
            word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
            return word ^ (word >> 31)
        }
    }

    static let pieces: [[UInt8]] =
        [
            "\r", "\n", "\r\n", "\r\n\r\n", " ", "\t", ":", ";", ",", "\"", "\u{0}", "0\r\n\r\n",
            "Content-Length: 5\r\n",
            "Transfer-Encoding: chunked\r\n", "Host: b\r\n", "Connection: close\r\n", "HTTP/1.0", "_", "%",
            "5\r\nhello\r\n",
            "9223372036854775807", "ffffffffffffffff",
        ].map { Array($0.utf8) } + [[0x80], [0xA0], [0x85], [0xFF], [0x7F]]

    static func mutate(_ bytes: [UInt8], _ generator: inout Generator) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...3, using: &generator) {
            let at = Int.random(in: 0...bytes.count, using: &generator)
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: bytes.insert(contentsOf: pieces.randomElement(using: &generator) ?? [], at: at)
            case 1 where at < bytes.count: bytes.remove(at: at)
            case 2 where at < bytes.count: bytes[at] = UInt8.random(in: .min ... .max, using: &generator)
            default:
                let other = Int.random(in: 0...bytes.count, using: &generator)
                let range = min(at, other)..<min(max(at, other), min(at, other) + 40)
                bytes.insert(contentsOf: bytes[range], at: at)
            }
        }
        return bytes
    }

    @Test("a mutated connection gives the same requests and the same error however it is cut", arguments: 0..<8)
    func cuts(_ seed: Int) {
        var generator = Generator(state: UInt64(seed))
        let seeds = BadRequestVector.all.map(\.bytes).filter { $0.count < 600 }
        for _ in 0..<600 {
            let bytes = Self.mutate(seeds.randomElement(using: &generator) ?? [], &generator)
            let whole = TestConnection.run(bytes)
            let splits = (0..<4).map { _ in Cut.at(Int.random(in: 0...bytes.count, using: &generator)) }
            for cut in [Cut.bytewise, .bytewiseWithEmptySlices] + splits {
                let other = TestConnection.run(bytes, cut)
                #expect(other.error == whole.error, "\(cut) \(bytes)")
                #expect(other.requests == whole.requests, "\(cut) \(bytes)")
                #expect(other.statuses == whole.statuses, "\(cut) \(bytes)")
            }
        }
    }

    @Test("what is accepted reads the same when it is written again", arguments: 8..<12)
    func rewriting(_ seed: Int) throws {
        var generator = Generator(state: UInt64(seed))
        let seeds = BadRequestVector.all.map(\.bytes).filter { $0.count < 600 }
        var accepted = 0
        for _ in 0..<3000 {
            let bytes = Self.mutate(seeds.randomElement(using: &generator) ?? [], &generator)
            var head = MessageHead()
            var parser = RequestParser()
            guard (try? parser.parse(bytes.span, into: &head)) != nil else { continue }
            accepted += 1
            var output = OutputBuffer()
            HeadWriter.requestLine(of: head, into: &output)
            for index in 0..<head.fieldCount {
                if head.known(index) == .host {
                    #expect(HeadWriter.field("Host", head.authority, into: &output))
                } else {
                    HeadWriter.field(index, of: head, into: &output)
                }
            }
            // HTTP/1.0 may have none; what is written is 1.1.
            if !head.contains(.host) { HeadWriter.field("Host", "a", into: &output) }
            HeadWriter.end(into: &output)
            let written = output.span.copied()
            var again = MessageHead()
            var second = RequestParser()
            let isOld = head.version == .http1_0
            guard let count = try? second.parse(written.span, into: &again) else {
                // An old request's Expect is ignored, and only judged in 1.1.
                #expect((isOld && head.contains(.expect)) == true, "\(bytes)")
                continue
            }
            #expect(count == written.count)
            #expect(again.framing == head.framing)
            #expect(again.path.copied() == head.path.copied())
            #expect(again.fieldCount == head.fieldCount + (head.contains(.host) ? 0 : 1))
        }
        #expect(accepted > 300)
    }
}
