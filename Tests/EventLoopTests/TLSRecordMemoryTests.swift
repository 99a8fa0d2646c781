import Testing

@testable import EventLoop

/// Sessions keep their memory for records while they are in use, and no more of them than may.
@Suite struct TLSRecordMemoryTests {
    private func exchange(_ pairs: [SecurePair], _ round: Int) {
        for pair in pairs {
            let (atServer, atClient) = (pair.atServer.probe.bytes.count, pair.atClient.probe.bytes.count)
            pair.client.write("question \(round)")
            pair.until { pair.atServer.probe.bytes.count > atServer }
            pair.server.write("answer \(round)")
            pair.until { pair.atClient.probe.bytes.count > atClient }
        }
    }

    @Test func `a session that rests gives its memory back, and takes it anew`() throws {
        try withSecurePair { pair in
            let memory = pair.loop.tlsWire.memory
            #expect(memory.count == 2)
            memory.interval = 40_000_000
            for round in 0..<3 {
                exchange([pair], round)
                #expect(memory.count == 2)
                pair.until { memory.count == 0 }
            }
            #expect(pair.atServer.probe.bytes.text == "question 0question 1question 2")
            #expect(pair.atClient.probe.bytes.text == "answer 0answer 1answer 2")
            exchange([pair], 3)
            pair.server.close()
            pair.until { pair.atClient.probe.ends == 1 }
            // The session that ended has none.
            #expect(memory.count == 1)
        }
    }

    @Test(arguments: [1, 2, 3, 5, 6, 7])
    func `no more sessions keep their memory than may`(_ limit: Int) throws {
        try withLoop { loop in
            let memory = loop.tlsWire.memory
            memory.limit = limit
            let server = try TLSServerContext(serverOptions("server"))
            let client = try TLSClientContext(clientOptions())
            let pairs = (0..<3).map { _ in SecurePair(loop, server: server, client: client, descriptors: socketPair()) }
            for pair in pairs { pair.until { pair.isSecured } }
            for round in 0..<20 {
                exchange(round % 2 == 0 ? pairs : pairs.reversed(), round)
                #expect(memory.count == min(limit, 6))
            }
            let questions = (0..<20).map { "question \($0)" }.joined()
            for pair in pairs {
                #expect(pair.atServer.probe.bytes.text == questions)
                pair.close()
            }
            #expect(memory.count == 0)
        }
    }

    @Test func `a record that has come in part outlives the loss of its place`() throws {
        try withLoop { loop in
            let memory = loop.tlsWire.memory
            memory.limit = 1
            let server = try TLSServerContext(serverOptions("server"))
            let client = try TLSClientContext(clientOptions())
            let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
            // Small buffers cut each record into many reads.
            let pairs = (0..<2).map { _ in
                SecurePair(loop, server: server, client: client, descriptors: socketPair(buffer: 2048))
            }
            for pair in pairs { pair.until { pair.isSecured } }
            for pair in pairs { pair.server.write(bytes.span) }
            pairs[0].until { pairs.allSatisfy { $0.atClient.probe.bytes.count == bytes.count } }
            for pair in pairs {
                #expect(pair.atClient.probe.bytes == bytes)
                pair.close()
            }
        }
    }
}
