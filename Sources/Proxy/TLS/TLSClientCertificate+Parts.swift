package import EventLoop
package import Gateway

extension TLSClientCertificate: ClientCertificate {
    package func append(_ part: CertificatePart, to output: inout [UInt8]) {
        switch part {
        case .subject: output.append(contentsOf: (subject ?? "").utf8)
        case .dns:
            // A comma in a name would make two of it.
            guard !hosts.contains(where: { $0.utf8.contains(UInt8(ascii: ",")) }) else { return }
            output.append(contentsOf: hosts.joined(separator: ", ").utf8)
        case .uri: if uris.count == 1 { output.append(contentsOf: uris[0].utf8) }
        case .sha256: output.append(contentsOf: digest.utf8)
        }
    }
}
