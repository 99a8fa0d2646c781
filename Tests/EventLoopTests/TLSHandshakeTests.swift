import CertificateSupport
import EventLoop
import Glibc
import Octets
import Testing

@Suite struct TLSHandshakes {
    @Test(arguments: [TLSVersion.tls12, .tls13]) func `bytes go both ways`(_ version: TLSVersion) throws {
        var options = serverOptions("server")
        options.maximum = version
        options.minimum = version
        try withSecurePair(server: options) { pair in
            let facts = try #require(pair.atClient.facts)
            #expect(facts.version == "TLSv\(version.rawValue)")
            #expect(facts.cipher.contains("GCM"))
            #expect(!facts.isResumed)
            #expect(pair.atServer.facts?.clientSubject == nil)
            pair.client.write("question")
            pair.until { pair.atServer.probe.bytes.count == 8 }
            let first = Array("an".utf8)
            let second = Array("swer".utf8)
            pair.server.write(first.span, second.span)
            pair.until { pair.atClient.probe.bytes.count == 6 }
            #expect(pair.atServer.probe.bytes.text == "question")
            #expect(pair.atClient.probe.bytes.text == "answer")
            // One record for both pieces.
            #expect(pair.atClient.probe.deliveries == [6])
            let content = [UInt8](repeating: UInt8(ascii: "x"), count: 40_000)
            pair.server.write(first.span, content.span, second.span)
            pair.until { pair.atClient.probe.bytes.count == 40_012 }
            #expect(pair.atClient.probe.bytes == Array("answer".utf8) + first + content + second)
        }
    }

    @Test func `what is written before the handshake is over waits for its end`() throws {
        try withSecurePair(waits: false) { pair in
            pair.client.write("early")
            #expect(pair.client.queued == 5)
            pair.client.shutdownWrite()
            pair.until { pair.atServer.probe.ends == 1 }
            #expect(pair.atServer.probe.bytes.text == "early")
            #expect(!pair.server.isTruncated)
            #expect(pair.client.queued == 0)
        }
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let what: String
        var server = "server"
        var endpoint = "a.example"
        let word: String?
        var change: @Sendable (inout TLSClientOptions) -> Void = { _ in }
        var testDescription: String { what }

        init(
            _ what: String, server: String = "server", endpoint: String = "a.example", _ word: String?,
            _ change: @escaping @Sendable (inout TLSClientOptions) -> Void = { _ in }
        ) {
            self.what = what
            self.server = server
            self.endpoint = endpoint
            self.word = word
            self.change = change
        }
    }

    static let cases: [Case] = [
        Case("its name", nil),
        Case("an address of the certificate", endpoint: "127.0.0.1", nil),
        Case("an IPv6 address", endpoint: "::1", nil),
        Case("another name", endpoint: "b.example", "wrong_name"),
        Case("another address", endpoint: "127.0.0.2", "wrong_name"),
        Case("another name, not checked", endpoint: "b.example", nil) { $0.verifiesName = false },
        Case("the name of the options", endpoint: "127.0.0.9", nil) { $0.name = "a.example" },
        Case("another name of the options", "wrong_name") { $0.name = "b.example" },
        Case("a wildcard", server: "wild", endpoint: "x.w.example", nil),
        Case("a wildcard is one label", server: "wild", endpoint: "x.y.w.example", "wrong_name"),
        Case("expired", server: "expired", "expired"),
        Case("not yet valid", server: "future", "not_yet_valid"),
        Case("an unknown authority", "unknown_ca") { $0.authorities = Certificates.path("other-ca.pem") },
        Case("the system's authorities", "unknown_ca") { $0.authorities = nil },
        Case("self-signed", server: "self", endpoint: "self.example", "self_signed"),
        Case("self-signed and trusted", server: "self", endpoint: "self.example", nil) {
            $0.authorities = Certificates.path("self.pem")
        },
        Case("self-signed, not checked", server: "self", endpoint: "x", nil) { $0.verifies = false },
        Case("revoked", server: "revoked", "revoked") { $0.revocations = Certificates.path("ca.crl") },
        Case("not revoked", nil) { $0.revocations = Certificates.path("ca.crl") },
        Case("a list that has run out", "crl_expired") { $0.revocations = Certificates.path("old.crl") },
        Case("another authority's list", "no_crl") { $0.revocations = Certificates.path("other-ca.crl") },
    ]

    @Test(arguments: cases) func `a server is believed`(_ row: Case) throws {
        try withSecurePair(
            server: serverOptions(row.server), client: clientOptions(row.change), endpoint: row.endpoint, waits: false
        ) { pair in
            pair.until { pair.isSecured || pair.client.isClosed }
            #expect(pair.client.tlsError?.word == row.word)
            guard row.word != nil else { return }
            #expect(pair.atClient.facts == nil)
            #expect(pair.atClient.probe.failures == [EPROTO])
            // The server hears why.
            pair.until { pair.server.isClosed }
            let word = try #require(pair.server.tlsError?.word)
            #expect(word.hasPrefix("alert_"), "\(word)")
        }
    }
}
