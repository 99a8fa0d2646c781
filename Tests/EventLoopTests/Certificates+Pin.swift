import CertificateSupport
import EventLoop
import Foundation
import Testing

extension Certificates {
    /// The digest of its public key.
    static func pin(_ name: String) throws -> TLSPin {
        let text = try String(contentsOfFile: path("\(name).pin"), encoding: .utf8)
        let bytes = try #require(Data(base64Encoded: text.trimmingCharacters(in: .whitespacesAndNewlines)))
        return try #require(TLSPin(digest: Array(bytes)))
    }
}
