internal import Glibc

/// Reading and writing files for multipart bodies: the one place where this module asks the system for anything.
internal enum FileAccess {
    /// The size of the regular file at `path`, which must be readable.
    internal static func length(of path: String) throws(SerializationError) -> Int {
        try FileReader(path).length()
    }

    fileprivate static func unreachable() -> SerializationError {
        SerializationError(.fileUnreachable, reason: "File URL not reachable.")
    }
}

/// An open file that is read from its start.
internal struct FileReader: ~Copyable {
    private let descriptor: Int32

    /// Opens the file at `path`. A pipe with nobody at its other end is opened too, and refused by `length`.
    internal init(_ path: String) throws(SerializationError) {
        // A NUL would end the name early and name another file.
        guard !path.utf8.contains(0) else { throw FileAccess.unreachable() }
        // SAFETY: the text ends with NUL for the time of the call.
        let descriptor = unsafe path.withCString { unsafe open($0, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
        guard descriptor >= 0 else { throw FileAccess.unreachable() }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// The size in bytes of a regular file; others have none.
    internal func length() throws(SerializationError) -> Int {
        var status = stat()
        // SAFETY: the call fills a struct of its own type.
        guard unsafe fstat(descriptor, &status) == 0 else { throw FileAccess.unreachable() }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw SerializationError(.notRegularFile, reason: "the path is not that of a regular file")
        }
        return Int(status.st_size)
    }

    /// The next bytes, at most `count`; none at the end of the file.
    internal func read(upTo count: Int) throws(SerializationError) -> [UInt8] {
        var failed = false
        // SAFETY: the system writes at most `count` bytes into room for that many, and says how many.
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, written in
            var result = -1
            repeat {
                result = unsafe Glibc.read(descriptor, buffer.baseAddress!, count)
            } while result < 0 && errno == EINTR
            failed = result < 0
            written = max(0, result)
        }
        guard !failed else { throw SerializationError(.bodyUnreadable, reason: "the file of a part can't be read") }
        return bytes
    }
}

/// A file that comes to stand at its path only when it is whole: until then it has another name in the same folder, and is
/// removed if it stays unfinished.
internal struct FileWriter: ~Copyable {
    private let descriptor: Int32
    private let path: String
    private let temporaryPath: String
    private var isFinished = false

    internal init(_ path: String) throws(SerializationError) {
        var generator = SystemRandomNumberGenerator()
        self.path = path
        temporaryPath = path + "." + String(generator.next() as UInt64, radix: 16) + ".part"
        guard !path.isEmpty, !path.utf8.contains(0) else { throw Self.fault() }
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC
        // SAFETY: the text ends with NUL for the time of the call.
        let descriptor = unsafe temporaryPath.withCString { unsafe open($0, flags, 0o600) }
        guard descriptor >= 0 else { throw Self.fault() }
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
        // SAFETY: the text ends with NUL for the time of the call.
        if !isFinished { _ = unsafe temporaryPath.withCString { unsafe unlink($0) } }
    }

    /// Writes all of `bytes`, however many the system takes at a time.
    internal func write(_ bytes: [UInt8]) throws(SerializationError) {
        var at = 0
        while at < bytes.count {
            // SAFETY: `at` is below the count, and the bytes from there on are the array's.
            let result = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.write(descriptor, buffer.baseAddress! + at, buffer.count - at)
            }
            if result < 0, errno == EINTR { continue }
            guard result > 0 else { throw Self.fault() }
            at += result
        }
    }

    /// Puts the file into its place; one that stood there is replaced.
    internal consuming func finish() throws(SerializationError) {
        // SAFETY: both texts end with NUL for the time of the call.
        let result = unsafe temporaryPath.withCString { from in unsafe path.withCString { unsafe rename(from, $0) } }
        guard result == 0 else { throw Self.fault() }
        isFinished = true
    }

    private static func fault() -> SerializationError {
        SerializationError(.fileUnwritable, reason: "the file can't be written")
    }
}
