internal import Synchronization

/// The files that one reading of the settings opens, each once, in the order of the first time.
final class FileList: Sendable {
    private let list: Mutex<[String]>

    init(_ paths: [String]) { list = Mutex(paths) }

    func append(_ path: String) {
        list.withLock { if !$0.contains(path) { $0.append(path) } }
    }

    var paths: [String] { list.withLock { $0 } }
}
