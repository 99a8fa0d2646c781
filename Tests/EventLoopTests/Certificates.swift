import EventLoop
import Foundation
import Glibc
import Octets
import Testing

/// Certificates that `Tests/Certificates/make` has made for this run.
enum Certificates {
    private static let folder: String = {
        let folder = NSTemporaryDirectory() + "recast-certificates-\(getpid())"
        try? FileManager.default.removeItem(atPath: folder)
        try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        atexit { try? FileManager.default.removeItem(atPath: Certificates.folder) }
        let make = Process()
        make.executableURL = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Certificates/make")
        make.arguments = [folder]
        try? make.run()
        make.waitUntilExit()
        return folder
    }()

    static func path(_ name: String) -> String { "\(folder)/\(name)" }

    static func identity(_ name: String) -> TLSIdentity {
        TLSIdentity(certificate: path("\(name).pem"), key: path("\(name).key"))
    }

    /// The digest of its public key.
    static func pin(_ name: String) throws -> TLSPin {
        let text = try String(contentsOfFile: path("\(name).pin"), encoding: .utf8)
        let bytes = try #require(Data(base64Encoded: text.trimmingCharacters(in: .whitespacesAndNewlines)))
        return try #require(TLSPin(digest: Array(bytes)))
    }
}
