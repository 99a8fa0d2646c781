import CertificateSupport
import EventLoop
import Foundation
import Testing

/// What is said of certificates, chains, authorities and lists that can be loaded.
@Suite struct TLSFileFindingTests {
    private static let now: Int64 = 1_750_000_000
    private static let ended: Int64 = 1_609_459_200

    /// A file with the certificates of `names`, one behind the other.
    private func withFile<Value>(_ names: [String], _ body: (String) throws -> Value) throws -> Value {
        let path = NSTemporaryDirectory() + "recast-findings-\(getpid())-" + names.joined(separator: "+")
        let texts = try names.map { try String(contentsOfFile: Certificates.path($0), encoding: .utf8) }
        try texts.joined(separator: "\n").write(toFile: path, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try body(path)
    }

    private func kinds(_ files: TLSLoadedFiles, at now: Int64 = now) -> [TLSFileFinding.Kind] {
        files.findings(at: now).map(\.kind)
    }

    private func server(_ names: [String], key: String) throws -> TLSLoadedFiles {
        try withFile(names) { path in
            let identity = TLSIdentity(certificate: path, key: Certificates.path(key))
            return try TLSServerContext(TLSServerOptions(identities: [identity])).loadedFiles
        }
    }

    @Test func `a chain is walked in any order`() throws {
        for order in [["between.pem", "ca.pem"], ["ca.pem", "between.pem"]] {
            let found = try kinds(server(["below.pem"] + order, key: "below.key"), at: Int64(time(nil)))
            #expect(found.isEmpty)
        }
        let found = try kinds(
            server(["below.pem", "other-ca.pem", "between.pem"], key: "below.key"), at: Int64(time(nil)))
        #expect(found == [.stray(number: 2, subject: "CN=other-ca")])
    }

    @Test func `an issuer that has run out is a mistake of time`() throws {
        let found = try server(["below-old.pem", "old-between.pem"], key: "below-old.key").findings(at: Self.now)
        #expect(found.map(\.kind) == [.linkEnded(number: 2, subject: "CN=old-between", Self.ended)])
        #expect(found.map(\.isMistake) == [true] && found.map(\.isOfTime) == [true])
    }

    @Test func `what runs out is found in the second in which it does, and in no later one`() throws {
        for (names, key, kind) in [
            (["expired.pem"], "expired.key", .ended(Self.ended)),
            (
                ["below-old.pem", "old-between.pem"], "below-old.key",
                .linkEnded(number: 2, subject: "CN=old-between", Self.ended)
            ),
        ] as [([String], String, TLSFileFinding.Kind)] {
            let files = try server(names, key: key)
            for (earlier, now, isFound) in [(-9, 0, false), (-9, 1, true), (0, 1, true), (0, 9, true), (1, 9, false)]
                as [(Int64, Int64, Bool)]
            {
                let found = files.ended(since: Self.ended + earlier, at: Self.ended + now).map(\.kind)
                #expect(found == (isFound ? [kind] : []), "\(earlier) \(now)")
            }
        }
    }

    @Test func `a key of a later certificate is told with its place`() throws {
        #expect {
            _ = try server(["between.pem", "below.pem"], key: "below.key")
        } throws: { error in
            let reason = (error as? TLSFileError)?.reason
            return reason?.hasPrefix("holds the key of certificate 2 in the certificate's file") == true
        }
    }

    @Test func `a certificate for clients alone is no server's`() throws {
        let found = try server(["for-clients.pem"], key: "for-clients.key").findings(at: Self.now)
        #expect(found.map(\.kind) == [.notForServers])
        #expect(found.map(\.isMistake) == [true] && found.map(\.isOfTime) == [false])
        var options = TLSClientOptions()
        options.authorities = Certificates.path("ca.pem")
        options.identity = Certificates.identity("for-clients")
        let own = try kinds(TLSClientContext(options).loadedFiles)
        #expect(own.isEmpty)
    }

    @Test func `a certificate whose names others have is never chosen`() throws {
        // The last: a common name counts where there is no other.
        for (names, indices) in [
            (["server", "rsa", "wild", "exact"], []), (["server", "rsa", "next"], [2]),
            (["wild", "exact", "wild"], [2]), (["server", "between"], []),
        ] as [([String], [Int])] {
            let options = TLSServerOptions(identities: names.map(Certificates.identity))
            let found = try TLSServerContext(options).loadedFiles.findings(at: Self.now)
            #expect(found.filter { $0.kind == .neverChosen }.map(\.index) == indices, "\(names)")
        }
    }

    @Test func `authorities that vouch for nobody, or have no list`() throws {
        var options = TLSServerOptions(identities: [Certificates.identity("server")])
        options.clientAuthorities = Certificates.path("rsa.pem")
        let now = Int64(time(nil))
        func found() throws -> [TLSFileFinding.Kind] { try kinds(TLSServerContext(options).loadedFiles, at: now) }
        let leaf = try found()
        #expect(leaf == [.noAuthority])
        options.clientAuthorities = Certificates.path("between.pem")
        let intermediate = try found()
        #expect(intermediate.isEmpty)
        try withFile(["ca.pem", "other-ca.pem"]) { path in
            options.clientAuthorities = path
            options.revocations = Certificates.path("ca.crl")
            let unlisted = try found()
            #expect(unlisted == [.unlisted(subject: "CN=other-ca")])
        }
        try withFile(["ca.crl", "other-ca.crl"]) { lists in
            try withFile(["ca.pem", "other-ca.pem"]) { path in
                options.clientAuthorities = path
                options.revocations = lists
                let listed = try found()
                #expect(listed.isEmpty)
            }
        }
        // A list that another key has signed under the authority's name; one of two keys of that name is enough.
        try withFile(["ca.crl", "forged.crl"]) { lists in
            options.clientAuthorities = Certificates.path("ca.pem")
            options.revocations = lists
            let forged = try TLSServerContext(options).loadedFiles.findings(at: now)
            #expect(forged.map(\.kind) == [.unsigned(issuer: "CN=ca")])
            #expect(forged.map(\.isMistake) == [true])
            try withFile(["ca.pem", "namesake-ca.pem"]) { path in
                options.clientAuthorities = path
                let listed = try found()
                #expect(listed.isEmpty)
            }
        }
        // One that holds from later on, beside none that does.
        options.clientAuthorities = Certificates.path("ca.pem")
        for (names, isEarly) in [(["future.crl"], true), (["future.crl", "ca.crl"], false)] {
            try withFile(names) { lists in
                options.revocations = lists
                let early = try TLSServerContext(options).loadedFiles.findings(at: now)
                // 2040-01-01.
                #expect(early.map(\.kind) == (isEarly ? [.notYet(2_208_988_800)] : []))
                #expect(early.map(\.role) == (isEarly ? [.revocations] : []))
                #expect(early.first?.start == (isEarly ? 2_208_988_800 : nil))
            }
        }
        // The list may be of an authority below this one.
        options.clientAuthorities = Certificates.path("other-ca.pem")
        options.revocations = Certificates.path("ca.crl")
        let below = try found()
        #expect(below.isEmpty)
    }
}
