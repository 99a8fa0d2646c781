import CertificateSupport
import EventLoop
import Foundation
import Testing

@testable import Proxy

/// Certificates that change while the proxy runs.
@Suite struct CertificateWatchTests {
    /// A folder with copies of certificates, which `install` replaces.
    private func withFolder(
        _ body: (_ folder: String, _ install: @escaping (String, String) throws -> Void) throws -> Void
    )
        throws
    {
        let folder = NSTemporaryDirectory() + "recast-watch-\(UInt64.random(in: 0 ... .max))/"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try body(folder) { from, to in
            let content = try #require(FileManager.default.contents(atPath: Certificates.path(from)))
            try content.write(to: URL(fileURLWithPath: folder + to), options: .atomic)
        }
    }

    /// As above, with an upstream that believes the authority that is there.
    private func withUpstream(
        _ body: (UpstreamTLS, TLSClientOptions, _ install: @escaping (String, String) throws -> Void) throws -> Void
    ) throws {
        try withFolder { folder, install in
            try install("ca.pem", "ca.pem")
            var options = TLSClientOptions()
            options.authorities = folder + "ca.pem"
            try body(try UpstreamTLS(options), options, install)
        }
    }

    @Test("a context is kept where all of its files have the same bytes, and made anew where one has others")
    func kept() throws {
        try withFolder { folder, install in
            func installAll() throws {
                for (from, to) in [
                    ("server.pem", "tls.pem"), ("server.key", "tls.key"), ("ca.pem", "ca.pem"), ("ca.crl", "ca.crl"),
                    ("wild.pem", "other.pem"), ("wild.key", "other.key"),
                ] { try install(from, to) }
            }
            var options = TLSServerOptions(identities: [
                TLSIdentity(certificate: folder + "tls.pem", key: folder + "tls.key"),
                TLSIdentity(certificate: folder + "other.pem", key: folder + "other.key"),
            ])
            options.clientAuthorities = folder + "ca.pem"
            options.revocations = folder + "ca.crl"
            try installAll()
            let server = try ServerTLS(options)
            func next(_ change: (inout TLSServerOptions) -> Void = { _ in }) throws -> ServerTLS {
                var changed = options
                change(&changed)
                let next = try ServerTLS(changed)
                next.loaded.keep(server.loaded)
                return next
            }
            // The same bytes in new files: for a reload of the settings, and for the watch.
            try installAll()
            #expect(try next().context === server.context)
            let before = server.context
            _ = try server.loaded.reload()
            #expect(server.context === before)
            #expect(server.loaded.stamps == server.loaded.files.map { FileStamp($0) })
            // Another certificate, authority or list, or another option.
            for (changes, what) in [
                ([("rsa.pem", "tls.pem"), ("rsa.key", "tls.key")], "certificate"),
                ([("rsa.pem", "other.pem"), ("rsa.key", "other.key")], "second certificate"),
                ([("other-ca.pem", "ca.pem")], "authority"),
            ] {
                for (from, to) in changes { try install(from, to) }
                let made = try next()
                #expect(made.context !== server.context, "\(what)")
                try installAll()
            }
            let list = try String(contentsOfFile: folder + "ca.crl", encoding: .utf8)
            try ("renewed\n" + list).write(toFile: folder + "ca.crl", atomically: true, encoding: .utf8)
            #expect(try next().context !== server.context)
            try installAll()
            #expect(try next { $0.clientCertificate = .optional }.context !== server.context)
            #expect(try next { $0.minimum = .tls13 }.context !== server.context)
            #expect(try next { $0.revocations = nil }.context !== server.context)
            #expect(try next { $0.identities.swapAt(0, 1) }.context !== server.context)
            try install("other-ca.pem", "ca.pem")
            _ = try server.loaded.reload()
            #expect(server.context !== before)
        }
    }

    @Test(
        "an upstream's sessions go on where its files are the same, but not where the system's authorities are believed"
    )
    func upstreamKept() throws {
        try withUpstream { upstream, options, install in
            let before = upstream.context
            try install("ca.pem", "ca.pem")
            upstream.loaded.use(try UpstreamTLS(options).loaded)
            #expect(upstream.context === before)
            try install("other-ca.pem", "ca.pem")
            upstream.loaded.use(try UpstreamTLS(options).loaded)
            #expect(upstream.context !== before)
            let system = try UpstreamTLS(TLSClientOptions())
            let first = system.context
            system.loaded.use(try UpstreamTLS(TLSClientOptions()).loaded)
            #expect(system.context !== first)
        }
    }

    /// The beginning of 2040, in seconds since 1970.
    private static let start2040: Int64 = 2_208_988_800

    @Test(
        "what has run out, or doesn't hold yet, doesn't take the place of what holds",
        arguments: [
            ("expired.pem", "tls.pem", "this certificate ran out on 2021-01-01"),
            ("future.pem", "tls.pem", "this certificate holds from 2040-01-01"),
            ("old-ca.pem", "ca.pem", "the last of these authorities ran out on 2021-01-01"),
            ("old.crl", "ca.crl", "this revocation list, without which all"),
            ("for-clients.pem", "tls.pem", "this certificate isn't one of a server"),
        ])
    func outOfTime(source: String, name: String, message: String) throws {
        try withFolder { folder, install in
            func use(_ certificate: String) throws {
                try install(certificate, "tls.pem")
                try install(certificate.replacingOccurrences(of: ".pem", with: ".key"), "tls.key")
            }
            try use("server.pem")
            try install("ca.pem", "ca.pem")
            try install("ca.crl", "ca.crl")
            var options = TLSServerOptions(identities: [
                TLSIdentity(certificate: folder + "tls.pem", key: folder + "tls.key")
            ])
            options.clientAuthorities = folder + "ca.pem"
            options.revocations = folder + "ca.crl"
            let server = try ServerTLS(options)
            let before = server.context
            if name == "tls.pem" { try use(source) } else { try install(source, name) }
            #expect {
                _ = try server.loaded.reload()
            } throws: { error in
                guard let fault = error as? ReloadFault else { return false }
                // Time alone mends what doesn't hold yet.
                guard fault.mendedAt == (source == "future.pem" ? Self.start2040 : nil) else { return false }
                return fault.error.path == folder + name && fault.error.reason.hasPrefix("isn't loaded: " + message)
            }
            #expect(server.context === before)
            // Nor by settings that name the same files; the stamps are the old ones, so that the watch tells of it.
            let next = try ServerTLS(options)
            #expect(next.context !== before)
            next.loaded.keep(server.loaded)
            #expect(next.context === before && next.loaded.stamps == server.loaded.stamps)
            // Others say what they want.
            var other = options
            other.maximum = .tls12
            let changed = try ServerTLS(other)
            changed.loaded.keep(server.loaded)
            #expect(changed.context !== before)
            // Where what is in use is as bad, the other one is loaded.
            let worse = try ServerTLS(options)
            #expect(try worse.loaded.reload().findings(at: Int64(time(nil))).isEmpty == false)
        }
    }

    @Test(
        "an upstream's file that has run out doesn't take the place of one that holds, by a reload of the settings neither"
    )
    func upstreamOutOfTime() throws {
        try withUpstream { upstream, options, install in
            let before = upstream.context
            try install("old-ca.pem", "ca.pem")
            // One whose settings are the same, and one with others beside its TLS.
            upstream.loaded.use(try UpstreamTLS(options).loaded)
            #expect(upstream.context === before)
            let next = try UpstreamTLS(options)
            next.loaded.keepIfBetter(upstream.loaded)
            #expect(next.context === before)
            // What is as bad is loaded.
            let worse = try UpstreamTLS(options)
            let first = worse.context
            worse.loaded.use(try UpstreamTLS(options).loaded)
            #expect(worse.context === first)
            try install("ca.pem", "ca.pem")
            worse.loaded.use(try UpstreamTLS(options).loaded)
            #expect(worse.context !== first)
        }
    }

    @Test("a certificate that is replaced after it was loaded, and before anybody looks, is loaded anew")
    func replacedBeforeTheWatch() throws {
        let folder = NSTemporaryDirectory() + "recast-watch-\(UInt64.random(in: 0 ... .max))/"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        func install(_ name: String) throws {
            let identity = Certificates.identity(name)
            for (from, to) in [(identity.certificate, "tls.pem"), (identity.key, "tls.key")] {
                let content = try #require(FileManager.default.contents(atPath: from))
                try content.write(to: URL(fileURLWithPath: folder + to), options: .atomic)
            }
        }
        try install("server")
        let identity = TLSIdentity(certificate: folder + "tls.pem", key: folder + "tls.key")
        let server = try ServerTLS(TLSServerOptions(identities: [identity]))
        var options = TLSClientOptions()
        options.identity = identity
        let upstream = try UpstreamTLS(options)
        let before = (server.context, upstream.context)
        try install("rsa")
        try withRig { settings in
            settings.listeners[.tcp(host: "127.0.0.1", port: 1), default: ListenerSettings()].tls = server
        } _: { rig in
            let watch = CertificateWatch(worker: rig.worker)
            try rig.until("the listener's is loaded") { server.context !== before.0 }
            // A reload of the settings that keeps the upstream's.
            var settings = rig.settings
            settings.upstreams[0].tls = upstream
            watch.follow(settings)
            try rig.until("the upstream's is loaded") { upstream.context !== before.1 }
            #expect(rig.worker.counters.tls.reloads == 2)
        }
    }
}
