internal import EventLoop
internal import Synchronization

/// The files that one reading of the settings opens, each once, in the order of the first time, as it was before it was opened.
final class FileList: Sendable {
    private struct Files {
        var text: [ReadFile] = []
        var certificates: [ReadFile] = []
    }

    private let files = Mutex(Files())

    /// A file is about to be read whose text stands in the settings: their own, and those of `${file:…}`.
    func addText(_ path: String) {
        files.withLock { files in
            if !files.text.contains(where: { $0.path == path }) { files.text.append(ReadFile(path)) }
        }
    }

    /// A file of certificates, keys or revocations is about to be loaded.
    func addCertificate(_ path: String) {
        files.withLock { files in
            if !files.certificates.contains(where: { $0.path == path }) { files.certificates.append(ReadFile(path)) }
        }
    }

    /// Those whose change is one of the settings.
    var text: [ReadFile] { files.withLock { $0.text } }

    /// All of them.
    var all: [ReadFile] {
        files.withLock { files in
            files.text + files.certificates.filter { one in !files.text.contains { $0.path == one.path } }
        }
    }
}
