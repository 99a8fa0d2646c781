import CertificateSupport
import EventLoop
import Foundation
import Glibc
import Octets
import Testing

/// Who is who: pins, client certificates, names, sessions, files.
@Suite struct TLSPeers {
    struct Pins: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let server: String
        let word: String?
        let change: @Sendable (inout TLSClientOptions) throws -> Void

        init(
            _ what: String, server: String = "server", _ word: String?,
            _ change: @escaping @Sendable (inout TLSClientOptions) throws -> Void
        ) {
            testDescription = what
            self.server = server
            self.word = word
            self.change = change
        }
    }

    static let pins: [Pins] = [
        Pins("the key of the leaf", nil) { $0.pinning = .keys([try Certificates.pin("server")]) },
        Pins("one of several", nil) {
            $0.pinning = .keys([try Certificates.pin("rsa"), try Certificates.pin("server")])
        },
        Pins("another key", "pin_mismatch") { $0.pinning = .keys([try Certificates.pin("rsa")]) },
        Pins("no key at all", "pin_mismatch") { $0.pinning = .keys([]) },
        Pins("the key of a self-signed one, not checked", server: "self", nil) {
            $0.pinning = .keys([try Certificates.pin("self")])
            $0.verifies = false
        },
        Pins("the key of a self-signed one, checked", server: "self", "self_signed") {
            $0.pinning = .keys([try Certificates.pin("self")])
        },
        Pins("another key, not checked", server: "self", "pin_mismatch") {
            $0.pinning = .keys([try Certificates.pin("server")])
            $0.verifies = false
        },
        Pins("the leaf", nil) { $0.pinning = .certificates([Certificates.path("server.pem")]) },
        Pins("the authority", nil) { $0.pinning = .certificates([Certificates.path("ca.pem")]) },
        Pins("another certificate", "unknown_ca") { $0.pinning = .certificates([Certificates.path("rsa.pem")]) },
        Pins("the self-signed leaf", server: "self", nil) {
            $0.pinning = .certificates([Certificates.path("self.pem")])
            $0.verifiesName = false
        },
        Pins("the self-signed leaf, for another name", server: "self", "wrong_name") {
            $0.pinning = .certificates([Certificates.path("self.pem")])
        },
        Pins("the expired leaf", server: "expired", "expired") {
            $0.pinning = .certificates([Certificates.path("expired.pem")])
        },
        Pins("the expired leaf, not checked", server: "expired", nil) {
            $0.pinning = .certificates([Certificates.path("expired.pem")])
            $0.verifies = false
        },
        Pins("the authority, not checked: only the leaf counts", "pin_mismatch") {
            $0.pinning = .certificates([Certificates.path("ca.pem")])
            $0.verifies = false
        },
    ]

    @Test(arguments: pins) func `what is pinned is believed, and nothing else`(_ row: Pins) throws {
        var options = clientOptions()
        try row.change(&options)
        if case .certificates = options.pinning { options.authorities = nil }
        try withSecurePair(server: serverOptions(row.server), client: options, waits: false) { pair in
            pair.until { pair.isSecured || pair.client.isClosed }
            #expect(pair.client.tlsError?.word == row.word)
            #expect(pair.atClient.probe.failures.isEmpty == (row.word == nil))
        }
    }

    @Test func `a pin is of 32 bytes`() {
        for count in [0, 31, 33] { #expect(TLSPin(digest: Array(repeating: 0, count: count)) == nil) }
        #expect(TLSPin(digest: Array(repeating: 0, count: 32)) != nil)
    }

    struct Client: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let mode: TLSServerOptions.ClientCertificate
        let certificate: String?
        /// What the server finds.
        let word: String?
        let subject: String?
    }

    static let clients: [Client] = [
        Client(
            testDescription: "shows one", mode: .required, certificate: "client", word: nil,
            subject: "O=Recast,CN=client"),
        Client(testDescription: "shows none", mode: .required, certificate: nil, word: "no_certificate", subject: nil),
        Client(
            testDescription: "shows a strange one", mode: .required, certificate: "strange-client", word: "unknown_ca",
            subject: nil),
        Client(
            testDescription: "shows an expired one", mode: .required, certificate: "expired", word: "expired",
            subject: nil),
        Client(
            testDescription: "shows a revoked one", mode: .required, certificate: "revoked", word: "revoked",
            subject: nil),
        Client(
            testDescription: "may show one", mode: .optional, certificate: "client", word: nil,
            subject: "O=Recast,CN=client"),
        Client(testDescription: "may show none", mode: .optional, certificate: nil, word: nil, subject: nil),
        Client(
            testDescription: "may not show a strange one", mode: .optional, certificate: "strange-client",
            word: "unknown_ca", subject: nil),
    ]

    @Test(arguments: clients, [TLSVersion.tls12, .tls13])
    func `clients show who they are, whatever certificate they ask for`(_ row: Client, _ version: TLSVersion) throws {
        var server = serverOptions("server", "rsa")
        server.clientAuthorities = Certificates.path("ca.pem")
        server.clientCertificate = row.mode
        server.revocations = Certificates.path("ca.crl")
        server.maximum = version
        let client = clientOptions { $0.identity = row.certificate.map(Certificates.identity) }
        for name in ["a.example", "b.example"] {
            try withSecurePair(server: server, client: client, endpoint: name, waits: false) { pair in
                // In 1.3 a client is done before the server has looked.
                pair.until { pair.atServer.facts != nil || pair.server.isClosed }
                #expect(pair.server.tlsError?.word == row.word, "\(name)")
                #expect(pair.atServer.facts?.clientSubject == row.subject, "\(name)")
                if row.word != nil {
                    pair.until { pair.client.isClosed }
                    #expect(pair.client.tlsError?.word.hasPrefix("alert_") == true, "\(name)")
                }
            }
        }
    }

    @Test(arguments: [TLSVersion.tls12, .tls13])
    func `F16 who is refused reads why, however much it has sent by then`(_ version: TLSVersion) throws {
        var server = serverOptions("server")
        server.clientAuthorities = Certificates.path("ca.pem")
        server.maximum = version
        let content = [UInt8](repeating: 7, count: 4 << 20)
        try withSecurePair(server: server, tcp: true, waits: false) { pair in
            pair.atServer.lingers = true
            pair.client.write(content.span)
            pair.until { pair.client.isClosed }
            #expect(pair.client.tlsError?.word.hasPrefix("alert_") == true)
            #expect(pair.atClient.probe.failures.count == 1)
            // The server has heard nothing but the end, and nothing of what it threw away came out as if it were good.
            pair.until { pair.atServer.probe.ends == 1 || !pair.atServer.probe.failures.isEmpty }
            #expect(pair.server.tlsError?.word == "no_certificate")
            #expect(pair.atServer.facts == nil)
        }
    }

    @Test(arguments: [
        ("a.example", "server"), ("b.example", "rsa"), ("x.w.example", "wild"), ("y.w.example", "exact"),
        ("unknown.example", "server"), ("127.0.0.1", "server"),
    ]) func `a name chooses the certificate`(_ name: String, _ expected: String) throws {
        let options = serverOptions("server", "rsa", "wild", "exact")
        let client = clientOptions {
            $0.verifiesName = false
            $0.pinning = .keys((try? [Certificates.pin(expected)]) ?? [])
        }
        try withSecurePair(server: options, client: client, endpoint: name, waits: false) { pair in
            pair.until { pair.isSecured || pair.client.isClosed }
            #expect(pair.client.tlsError == nil)
        }
    }

    @Test(arguments: ["a.example.", "b.example."], [nil, "b.example."])
    func `the dot that ends an absolute name is neither asked for nor looked for`(_ name: String, _ own: String?) throws
    {
        let client = clientOptions { $0.name = own }
        try withSecurePair(server: serverOptions("server", "rsa"), client: client, endpoint: name, waits: false) {
            pair in
            pair.until { pair.isSecured || pair.client.isClosed }
            #expect(pair.client.tlsError == nil)
        }
    }

    @Test(arguments: [TLSVersion.tls12, .tls13], [true, false])
    func `a session is taken up again`(_ version: TLSVersion, _ resumes: Bool) throws {
        try withLoop { loop in
            var options = serverOptions("server")
            options.maximum = version
            options.clientAuthorities = Certificates.path("ca.pem")
            let server = try TLSServerContext(options)
            let client = try TLSClientContext(
                clientOptions {
                    $0.resumes = resumes
                    $0.identity = Certificates.identity("client")
                    $0.pinning = .keys((try? [Certificates.pin("server")]) ?? [])
                })
            for round in 0..<4 {
                let pair = SecurePair(loop, server: server, client: client)
                pair.until { pair.isSecured }
                pair.server.write("x")
                pair.until { pair.atClient.probe.bytes.count == 1 }
                #expect(pair.atClient.facts?.isResumed == (round > 0 && resumes), "\(round)")
                #expect(pair.atServer.facts?.isResumed == (round > 0 && resumes), "\(round)")
                // Who the client is, is a part of the session.
                #expect(pair.atServer.facts?.clientSubject == "O=Recast,CN=client")
                // A cut is no reason to forget it.
                if round == 1 { pair.client.abort() }
                pair.close()
            }
            // Another name has sessions of its own.
            let other = SecurePair(loop, server: server, client: client, endpoint: "localhost")
            other.until { other.isSecured }
            #expect(other.atClient.facts?.isResumed == false)
            other.close()
        }
    }

    @Test(arguments: [TLSVersion.tls12, .tls13])
    func `who a client is by its certificate is told of resumed sessions, too`(_ version: TLSVersion) throws {
        for (name, subject, hosts, uris) in [
            ("named", "O=A\\, B,CN=named", ["one.example", "two.example"], ["spiffe://example/app"]),
            ("two-uris", "CN=two-uris", ["one.example"], ["spiffe://example/a", "spiffe://example/b"]),
            ("client", "O=Recast,CN=client", [], []),
        ] as [(String, String, [String], [String])] {
            try withLoop { loop in
                var options = serverOptions("server")
                options.maximum = version
                options.clientAuthorities = Certificates.path("ca.pem")
                let server = try TLSServerContext(options)
                let client = try TLSClientContext(clientOptions { $0.identity = Certificates.identity(name) })
                var digests: Set<String> = []
                for round in 0..<2 {
                    let pair = SecurePair(loop, server: server, client: client)
                    pair.until { pair.isSecured }
                    pair.server.write("x")
                    pair.until { pair.atClient.probe.bytes.count == 1 }
                    let facts = try #require(pair.atServer.facts)
                    #expect(facts.isResumed == (round > 0))
                    let found = try #require(facts.client)
                    #expect(found.subject == subject && found.hosts == hosts && found.uris == uris, "\(name)")
                    digests.insert(found.digest)
                    #expect(pair.atClient.facts?.client == nil)
                    pair.close()
                }
                #expect(digests.count == 1 && digests.first?.utf8.count == 64)
            }
        }
    }

    /// Certificates of some 8 KiB behind the client's own.
    @Test(arguments: [TLSVersion.tls12, .tls13], [3, 4])
    func `of a client's chain 32 KiB are read`(_ version: TLSVersion, _ count: Int) throws {
        let names = ["client.pem"] + Array(repeating: "wordy.pem", count: count)
        let texts = try names.map { try String(contentsOfFile: Certificates.path($0), encoding: .utf8) }
        let path = NSTemporaryDirectory() + "recast-chain-\(getpid())-\(version.rawValue)-\(count)"
        try texts.joined(separator: "\n").write(toFile: path, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: path) }
        var server = serverOptions("server")
        server.clientAuthorities = Certificates.path("ca.pem")
        server.maximum = version
        let client = clientOptions {
            $0.identity = TLSIdentity(certificate: path, key: Certificates.path("client.key"))
        }
        try withSecurePair(server: server, client: client, endpoint: "a.example", waits: false) { pair in
            pair.until { pair.atServer.facts != nil || pair.server.isClosed }
            #expect(pair.server.tlsError?.word == (count == 3 ? nil : "chain_too_long"))
        }
    }

    @Test func `an authority that isn't self-signed ends chains`() throws {
        var server = serverOptions("below")
        server.clientAuthorities = Certificates.path("between.pem")
        let client = clientOptions {
            $0.authorities = Certificates.path("between.pem")
            $0.identity = Certificates.identity("below")
        }
        try withSecurePair(server: server, client: client, endpoint: "a.example", waits: false) { pair in
            pair.until { pair.atServer.facts != nil || pair.client.isClosed || pair.server.isClosed }
            #expect(pair.atServer.facts?.clientSubject == "CN=below")
            #expect(pair.client.tlsError == nil && pair.server.tlsError == nil)
        }
    }

    struct File: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let certificate: String
        let key: String
        let role: TLSFileError.Role
        let reason: String
    }

    static let files: [File] = [
        File(
            testDescription: "no certificate", certificate: "none.pem", key: "server.key", role: .certificate,
            reason: "doesn't exist"),
        File(
            testDescription: "no key", certificate: "server.pem", key: "none.key", role: .key, reason: "doesn't exist"),
        File(
            testDescription: "another key", certificate: "server.pem", key: "client.key", role: .key,
            reason: "holds the key of another certificate"),
        File(
            testDescription: "a key for a certificate", certificate: "server.key", key: "server.key",
            role: .certificate,
            reason: "holds no certificate in PEM form"),
        File(
            testDescription: "a certificate for a key", certificate: "server.pem", key: "server.pem", role: .key,
            reason: "holds no private key in PEM form"),
        File(
            testDescription: "a locked key", certificate: "client.pem", key: "locked.key", role: .key,
            reason: "holds a key with a password: store it without one"),
        File(testDescription: "a folder", certificate: "", key: "server.key", role: .certificate, reason: "is no file"),
    ]

    @Test(arguments: files) func `files that can't be used are told`(_ row: File) {
        let identity = TLSIdentity(certificate: Certificates.path(row.certificate), key: Certificates.path(row.key))
        #expect {
            _ = try TLSServerContext(TLSServerOptions(identities: [identity]))
        } throws: { error in
            guard let error = error as? TLSFileError else { return false }
            return error.role == row.role && error.reason == row.reason
        }
    }

    @Test func `the life of a certificate`() throws {
        let lives = try TLSServerContext(serverOptions("expired", "server")).lives
        #expect(lives.map(\.role) == [.certificate, .certificate] && lives.map(\.index) == [0, 1])
        // 2020-01-01, 2021-01-01, 2049-01-01.
        #expect(lives.map(\.notBefore) == [1_577_836_800, 1_577_836_800])
        #expect(lives.map(\.notAfter) == [1_609_459_200, 2_493_072_000])
    }

    @Test func `the life of authorities is the last one's, that of lists the first issuer's`() throws {
        func file(_ names: [String]) throws -> String {
            let path = NSTemporaryDirectory() + "recast-lives-\(getpid())-" + names.joined(separator: "+")
            let texts = try names.map { try String(contentsOfFile: Certificates.path($0), encoding: .utf8) }
            try texts.joined(separator: "\n").write(toFile: path, atomically: true, encoding: .utf8)
            return path
        }
        func lives(_ authorities: [String], _ lists: [String]) throws -> [Int64] {
            var options = serverOptions("server")
            let files = try (file(authorities), file(lists))
            defer { for path in [files.0, files.1] { try? FileManager.default.removeItem(atPath: path) } }
            (options.clientAuthorities, options.revocations) = (files.0, files.1)
            let found = try TLSServerContext(options).lives.dropFirst()
            #expect(found.map(\.role) == [.authorities, .revocations] && found.allSatisfy { $0.notBefore == nil })
            return found.map(\.notAfter)
        }
        let ended: Int64 = 1_609_459_200, now = Int64(time(nil))
        let old = try lives(["old-ca.pem"], ["old.crl"])
        #expect(old == [ended, ended])
        // An issuer's newest list counts; of two issuers, the one whose lists end first.
        for names in [["old.crl", "ca.crl"], ["ca.crl", "old.crl"]] {
            #expect(try lives(["old-ca.pem", "ca.pem"], names).allSatisfy { $0 > now })
        }
        #expect(try lives(["ca.pem", "other-ca.pem"], ["other-ca.crl", "old.crl"])[1] == ended)
    }
}
