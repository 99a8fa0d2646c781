import Gateway
import Testing
import Transcoding

@testable import Proxy

/// A conversion is the worker's: an exchange has one as long as its body is being converted, and no longer.
@Suite struct ConversionLoanTests {
    @Test("requests that await their responses hold no conversion, and each has its own body")
    func exchanges() throws {
        try withRig([convert(.form, .json)]) { rig in
            let clients = try (0..<20).map { try rig.connect(sending: post("/", formType, "n=\($0)")) }
            try rig.until("all requests are at the upstream") {
                rig.upstreams.count == clients.count && rig.upstreams.allSatisfy { $0.has() }
            }
            let exchanges = rig.worker.connections.compactMap(\.exchange)
            #expect(exchanges.count == clients.count)
            #expect(exchanges.allSatisfy { $0.requestTranscoder.conversion == nil && $0.machine.request == .sent })
            #expect(exchanges.allSatisfy { $0.record.input == .form && $0.record.output == .json })
            var bodies: [String] = []
            for peer in rig.upstreams {
                bodies.append(try #require(peer.take()).text)
                peer.send(ok)
            }
            #expect(Set(bodies) == Set((0..<20).map { #"{"n":"\#($0)"}"# }))
            for client in clients { #expect(try rig.response(to: client).text == "ok") }
        }
    }

    @Test("a body that comes in pieces keeps its conversion, and others are converted meanwhile")
    func pieces() throws {
        try withRig([convert(.form, .json)]) { rig in
            let slow = try rig.connect(sending: String(post("/", formType, "slow=12345678").dropLast(4)))
            rig.settle()
            let held = rig.worker.connections.first?.exchange?.requestTranscoder.conversion
            #expect(held != nil)
            rig.answers = [ok, ok]
            for number in 0..<2 {
                let client = try rig.connect(sending: post("/", formType, "n=\(number)"))
                #expect(try rig.response(to: client).text == "ok")
                #expect(rig.worker.connections.first?.exchange?.requestTranscoder.conversion === held)
            }
            slow.send("5678")
            #expect(try rig.request().text == #"{"slow":"12345678"}"#)
            rig.upstreams[0].send(ok)
            #expect(try rig.response(to: slow).text == "ok")
        }
    }
}
