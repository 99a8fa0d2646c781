import CertificateSupport
import EventLoop
import Foundation
import Testing

@testable import Proxy

/// Certificates that change while the proxy runs.
@Suite struct CertificateWatchTests {
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
            settings.tls[.tcp(host: "127.0.0.1", port: 1)] = server
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
