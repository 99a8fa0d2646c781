import CertificateSupport
import Testing

@testable import EventLoop

/// What a server's tickets are sealed with, and for how long.
@Suite struct TLSTicketKeyTests {
    /// Seconds that pass behind the first handshake, one step after the other; whether the session is taken up behind them, and the keys
    /// that there are then. A key seals for an hour, and opens for two behind that; some seconds are left for the test itself.
    static let rows: [(steps: [Int64], resumes: Bool, keys: Int)] = [
        ([0], true, 1), ([3590], true, 1), ([3600], true, 2), ([3600, 7190], true, 3), ([3600, 7201], false, 2),
        // Where nobody looked for a while the key goes on until somebody does.
        ([360_000], true, 2), ([360_000, 7201], false, 2),
    ]

    @Test(arguments: [TLSVersion.tls12, .tls13], rows.indices)
    func `a key is renewed every hour and opens what it has sealed for two more`(
        _ version: TLSVersion, _ index: Int
    ) throws {
        let row = Self.rows[index]
        try withLoop { loop in
            var options = serverOptions("server")
            options.maximum = version
            let server = try TLSServerContext(options)
            let client = try TLSClientContext(clientOptions())
            func isResumed() -> Bool? {
                let pair = SecurePair(loop, server: server, client: client)
                defer { pair.close() }
                pair.until { pair.isSecured }
                pair.server.write("x")
                pair.until { pair.atClient.probe.bytes.count == 1 }
                return pair.atServer.facts?.isResumed
            }
            #expect(server.ticketKeyCount == 0)
            #expect(isResumed() == false)
            for step in row.steps { server.renewTicketKeys(ahead: step) }
            #expect(isResumed() == row.resumes)
            #expect(server.ticketKeyCount == row.keys)
            // What has been sealed since goes on, also where a session that was taken up got another ticket.
            for _ in 0..<2 { #expect(isResumed() == true) }
        }
    }

    @Test func `keys that open nothing are wiped where nobody comes`() throws {
        let server = try TLSServerContext(serverOptions("server"))
        for _ in 0..<10 { server.renewTicketKeys(ahead: 3600) }
        #expect(server.ticketKeyCount == 0)
    }
}
