import CertificateSupport
import Foundation
import Testing

@testable import EventLoop

/// Client contexts that trust the same authorities have read them once.
@Suite struct TLSAnchorTests {
    private static func context(_ change: (inout TLSClientOptions) -> Void = { _ in }) throws -> TLSClientContext {
        var options = TLSClientOptions()
        change(&options)
        return try TLSClientContext(options)
    }

    private static func share(_ one: TLSClientContext, _ other: TLSClientContext) -> Bool {
        one.handle.hasAnchors(of: other.handle)
    }

    @Test func `the system's are shared, whatever else the contexts say`() throws {
        let first = try Self.context()
        let others = [
            try Self.context(), try Self.context { $0.name = "a.example" }, try Self.context { $0.maximum = .tls12 },
            try Self.context { $0.identity = Certificates.identity("client") },
            try Self.context { $0.pinning = .keys((try? [Certificates.pin("server")]) ?? []) },
        ]
        for other in others { #expect(Self.share(first, other)) }
        #expect(!Self.share(first, try Self.context { $0.authorities = Certificates.path("ca.pem") }))
    }

    @Test func `those of a file are shared until it is replaced`() throws {
        let path = NSTemporaryDirectory() + "recast-anchors-\(UInt64.random(in: 0 ... .max)).pem"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let text = try Data(contentsOf: URL(fileURLWithPath: Certificates.path("ca.pem")))
        try text.write(to: URL(fileURLWithPath: path))
        let (first, second) = (try Self.context { $0.authorities = path }, try Self.context { $0.authorities = path })
        #expect(Self.share(first, second))
        try (text + text).write(to: URL(fileURLWithPath: path))
        let third = try Self.context { $0.authorities = path }
        #expect(!Self.share(first, third))
        #expect(Self.share(third, try Self.context { $0.authorities = path }))
        try Data("nothing".utf8).write(to: URL(fileURLWithPath: path))
        #expect(throws: TLSFileError.self) { _ = try Self.context { $0.authorities = path } }
    }

    @Test func `lists of revocations and pinned certificates have authorities of their own`() throws {
        let options = clientOptions()
        let first = try TLSClientContext(options)
        let listed = try TLSClientContext(clientOptions { $0.revocations = Certificates.path("ca.crl") })
        let pinned = try TLSClientContext(clientOptions { $0.pinning = .certificates([Certificates.path("ca.pem")]) })
        for other in [listed, pinned] { #expect(!Self.share(first, other)) }
        #expect(!Self.share(listed, try TLSClientContext(listed.options)))
        #expect(Self.share(first, try TLSClientContext(options)))
    }

    @Test func `a context goes on when the one that has read them is gone`() throws {
        try withLoop { loop in
            var reader: TLSClientContext? = try TLSClientContext(clientOptions())
            let client = try TLSClientContext(clientOptions())
            #expect(Self.share(client, try #require(reader)))
            reader = nil
            let pair = SecurePair(loop, server: try TLSServerContext(serverOptions("server")), client: client)
            pair.until { pair.isSecured }
            #expect(pair.isSecured)
            pair.close()
            #expect(Self.share(client, try TLSClientContext(clientOptions())))
        }
    }
}
