internal import EventLoop
internal import Glibc
internal import Proxy

/// Reads names of certificate files, and remembers where they stand, so that what is wrong with a file is told there.
final class TLSFileReader {
    private struct FileKey: Hashable {
        let role: TLSFileError.Role
        let index: Int
    }

    private let context: ReadingContext
    private var positions: [FileKey: SettingsNode.Position] = [:]

    init(_ context: ReadingContext) {
        self.context = context
    }

    /// The path that `key` names, as it is opened.
    func path(_ section: SectionReader, _ key: String, _ role: TLSFileError.Role, _ index: Int = 0) -> String? {
        guard let node = section.take(key) else { return nil }
        guard let path = path(node, key, role, index) else { return nil }
        section.record(key, path, .line(node.position.line))
        return path
    }

    func path(_ node: SettingsNode, _ key: String, _ role: TLSFileError.Role, _ index: Int = 0) -> String? {
        guard let text = context.text(node, "\"\(key)\"") else { return nil }
        if text.isEmpty || text.hasPrefix("-----") {
            context.report(
                node.position, "\"\(key)\" is the path of a PEM file, not \(text.isEmpty ? "empty" : "its content")")
            return nil
        }
        if positions[FileKey(role: role, index: index)] == nil {
            positions[FileKey(role: role, index: index)] = node.position
        }
        let path = context.environment.path(text)
        if !context.environment.lacksSecrets { context.environment.willLoad(path) }
        return path
    }

    /// `certificate` and `key`; the key may stand in the certificate's file.
    func identity(_ section: SectionReader, index: Int, isNeeded: Bool) -> TLSIdentity? {
        section.knows("certificate", "key")
        if isNeeded, !section.remaining.contains(where: { $0.key == "certificate" }) {
            _ = section.required("certificate", example: "server.pem")
            _ = section.take("key")
            return nil
        }
        guard let certificate = path(section, "certificate", .certificate, index) else {
            section.refuse("key", "needs \"certificate\"")
            return nil
        }
        guard section.remaining.contains(where: { $0.key == "key" }) else {
            positions[FileKey(role: .key, index: index)] = positions[FileKey(role: .certificate, index: index)]
            return TLSIdentity(certificate: certificate, key: certificate)
        }
        guard let key = path(section, "key", .key, index) else { return nil }
        return TLSIdentity(certificate: certificate, key: key)
    }

    func versions(_ section: SectionReader, _ minimum: inout TLSVersion, _ maximum: inout TLSVersion) {
        let failures = context.failures
        section.word("min_version", into: &minimum)
        section.word("max_version", into: &maximum)
        if minimum == .tls13, maximum == .tls12, context.failures == failures {
            context.report(section.position, "\"min_version\" is above \"max_version\"")
        }
    }

    /// Tells what is wrong with a file where the file is named.
    func report(_ error: TLSFileError, _ node: SettingsNode) {
        let position = positions[FileKey(role: error.role, index: error.index)] ?? node.position
        context.report(position, error.path.isEmpty ? error.reason : "the file \(error.description)")
    }

    /// Tells what is to be said of files that were loaded: what nothing can be used of is a mistake, the rest a note about `subject`.
    ///
    /// What has run out, or doesn't hold yet, is a note too: a process that runs goes on with it, and one that starts at night, or reads
    /// its settings for another reason, must not keep all other routes from being served (docs/decisions/0026).
    func tell(_ files: TLSLoadedFiles, of subject: String) {
        for finding in files.findings(at: Int64(time(nil))) {
            guard let position = positions[FileKey(role: finding.role, index: finding.index)] else { continue }
            if finding.isMistake, !finding.isOfTime {
                context.report(position, finding.message)
            } else {
                context.note(
                    SettingsNote(
                        severity: .warning, code: finding.code, line: position.line, column: position.column,
                        subject: subject, message: finding.message))
            }
        }
    }
}
