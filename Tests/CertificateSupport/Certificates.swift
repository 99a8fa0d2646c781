public import EventLoop
import Foundation
import Glibc

/// Certificates that `Tests/Certificates/make` has made for this run.
public enum Certificates {
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

    public static func path(_ name: String) -> String { "\(folder)/\(name)" }

    public static func identity(_ name: String) -> TLSIdentity {
        TLSIdentity(certificate: path("\(name).pem"), key: path("\(name).key"))
    }
}
