import CertificateSupport
import EventLoop
import Foundation
import Testing

/// What text files of certificates, keys and lists are refused for before anything is made of what they hold.
@Suite struct TLSFileTextTests {
    private func text(_ name: String) throws -> String {
        try String(contentsOfFile: Certificates.path(name), encoding: .utf8)
    }

    private func indented(_ text: String) -> String {
        text.split(separator: "\n").map { "  \($0)\n" }.joined()
    }

    /// What the server's context says of a chain's file with this text; nil when it takes it.
    private func refusal(_ text: String, key: String = "below.key") throws -> String? {
        let path = NSTemporaryDirectory() + "recast-text-\(getpid())-\(UInt64.random(in: 0 ... .max))"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: path) }
        do {
            _ = try TLSServerContext(
                TLSServerOptions(identities: [.init(certificate: path, key: Certificates.path(key))]))
            return nil
        } catch {
            return error.reason
        }
    }

    @Test func `no block is passed over`() throws {
        let (leaf, issuer) = (try text("below.pem"), try text("between.pem"))
        let lines = leaf.split(separator: "\n").count
        let rows: [(what: String, text: String, line: Int)] = [
            ("indented", leaf + indented(issuer), lines + 1),
            ("behind a tabulator", leaf + "\t" + issuer, lines + 1),
            ("behind the end of another", leaf.dropLast() + issuer, lines),
            ("a hyphen is missing", leaf + issuer.dropFirst(), lines + 1),
            ("four hyphens are missing", leaf + issuer.dropFirst(4), lines + 1),
            (
                "a hyphen is missing at the end",
                leaf + issuer.replacing("CERTIFICATE-----\n", with: "CERTIFICATE----\n"), lines + 1
            ),
            (
                "a hyphen too many at the end",
                leaf + issuer.replacing("BEGIN CERTIFICATE-----\n", with: "BEGIN CERTIFICATE------\n"), lines + 1
            ),
            ("two spaces", leaf + issuer.replacing("BEGIN C", with: "BEGIN  C"), lines + 1),
            ("of a kind that nobody reads", leaf + issuer.replacing("CERTIFICATE", with: "PKCS7"), lines + 1),
            ("misspelt", leaf + issuer.replacing("CERTIFICATE", with: "CERTIFCATE"), lines + 1),
            ("cut in its first line", leaf + issuer.prefix(20), lines + 1),
            ("all in one line", leaf.replacing("\n", with: "") + "\n" + issuer, 1),
            ("lines that end with CR alone", leaf.replacing("\n", with: "\r") + issuer, 1),
            ("the leaf, too", indented(leaf) + issuer, 1),
        ]
        for row in rows {
            let found = try refusal(row.text)
            #expect(
                found?.hasPrefix("has in line \(row.line) the beginning of a block") == true,
                "\(row.what): \(found ?? "-")")
        }
    }

    @Test func `what stands between blocks doesn't matter`() throws {
        let (leaf, issuer) = (try text("below.pem"), try text("between.pem"))
        let key = try text("below.key")
        let rows: [(what: String, text: String)] = [
            ("a mark of its order of bytes", "\u{FEFF}" + leaf + issuer),
            ("lines that end with CR LF", (leaf + issuer).replacing("\n", with: "\r\n")),
            (
                "spaces behind the first line",
                leaf + issuer.replacing("BEGIN CERTIFICATE-----", with: "BEGIN CERTIFICATE-----  ")
            ),
            ("comments", "# BEGIN of the chain: leaf\n-----\n" + leaf + "\nissuer\n======\n" + issuer + "\nEND"),
            ("a key in front", key + leaf + issuer),
            (
                "parameters of a key",
                "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n" + leaf + issuer
            ),
            ("the older name", leaf + issuer.replacing("CERTIFICATE", with: "X509 CERTIFICATE")),
            ("no newline at the end", leaf + issuer.dropLast()),
        ]
        for row in rows {
            let found = try refusal(row.text)
            #expect(found == nil, "\(row.what)")
        }
    }

    @Test func `authorities, lists and keys are read by the same rule`() throws {
        let path = NSTemporaryDirectory() + "recast-text-\(getpid())-other"
        defer { try? FileManager.default.removeItem(atPath: path) }
        func role(_ text: String, _ change: (inout TLSServerOptions) -> Void) throws -> (TLSFileError.Role, String)? {
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            var options = TLSServerOptions(identities: [Certificates.identity("server")])
            options.clientAuthorities = Certificates.path("ca.pem")
            change(&options)
            do {
                _ = try TLSServerContext(options)
                return nil
            } catch {
                return (error.role, error.reason)
            }
        }
        let authorities = try role(text("ca.pem") + indented(text("other-ca.pem"))) { $0.clientAuthorities = path }
        #expect(authorities?.0 == .authorities)
        let lists = try role(text("ca.crl") + indented(text("other-ca.crl"))) { $0.revocations = path }
        #expect(lists?.0 == .revocations)
        #expect(lists?.1.contains("-----BEGIN X509 CRL-----") == true)
        let key = try role(indented(text("server.key"))) { $0.identities[0].key = path }
        #expect(key?.0 == .key)
        #expect(key?.1.contains("-----BEGIN PRIVATE KEY-----") == true)
        try (text("server.pem") + indented(text("other-ca.pem"))).write(toFile: path, atomically: true, encoding: .utf8)
        var options = TLSClientOptions()
        options.pinning = .certificates([path])
        #expect(throws: TLSFileError.self) { _ = try TLSClientContext(options) }
    }

    @Test func `a key that no handshake can be made with is refused`() throws {
        for name in ["server", "rsa"] { _ = try TLSServerContext(serverOptions(name)) }
        for (version, other) in [(TLSVersion.tls12, TLSVersion.tls13), (.tls12, .tls12), (.tls13, .tls13)] {
            var options = serverOptions("odd-curve")
            (options.minimum, options.maximum) = (version, other)
            #expect {
                _ = try TLSServerContext(options)
            } throws: { error in
                guard let error = error as? TLSFileError else { return false }
                return error.role == .key && error.reason.hasPrefix("holds a key with which no handshake")
            }
        }
        #expect(throws: TLSFileError.self) {
            _ = try TLSClientContext(clientOptions { $0.identity = Certificates.identity("odd-curve") })
        }
    }

    @Test func `of more authorities than clients take no names are told`() throws {
        let path = NSTemporaryDirectory() + "recast-text-\(getpid())-many"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let (authority, wordy) = (try text("ca.pem"), try text("wordy.pem"))
        var server = serverOptions("server")
        server.clientAuthorities = path
        // 30 of them are more than one message has room for.
        for count in [1, 30] {
            try (authority + String(repeating: wordy, count: count)).write(
                toFile: path, atomically: true, encoding: .utf8)
            for version in TLSVersion.allCases {
                let client = clientOptions {
                    $0.identity = Certificates.identity("client")
                    $0.maximum = version
                }
                try withSecurePair(server: server, client: client) { pair in
                    #expect(pair.atServer.facts?.clientSubject == "O=Recast,CN=client", "\(count) \(version)")
                }
            }
        }
    }
}
