internal import Transcoding

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// Reading and writing files for multipart bodies: the one place where this module asks the system for anything.
internal enum FileAccess {
    /// The size of the regular file at `path`, which must be readable.
    internal static func length(of path: String) throws(SerializationError) -> Int {
        try FileReader(path).length()
    }

    /// The file at `path` and why the system refused it: the error that `number` stands for, `errno` where nothing is said.
    fileprivate static func unreachable(_ path: String, _ number: Int32 = errno) -> SerializationError {
        fault(.fileUnreachable, "File URL not reachable.", path, number)
    }

    fileprivate static func fault(
        _ kind: SerializationError.Kind, _ reason: String, _ path: String, _ number: Int32? = errno
    ) -> SerializationError {
        var error = SerializationError(kind, reason: reason)
        error.path = path
        error.systemError = number
        return error
    }
}

// Under names of their own: within a type that has a method `read` or `write`, the C function of that name isn't found, and
// the module that it stands in has another name on each system.

private func readBytes(_ descriptor: Int32, _ target: UnsafeMutableRawPointer, _ count: Int) -> Int {
    // SAFETY: the caller has room for `count` bytes at the target.
    unsafe read(descriptor, target, count)
}

private func writeBytes(_ descriptor: Int32, _ source: UnsafeRawPointer, _ count: Int) -> Int {
    // SAFETY: the caller has `count` bytes at the source.
    unsafe write(descriptor, source, count)
}

/// An open file that is read from its start.
internal struct FileReader: ~Copyable {
    private let descriptor: Int32
    private let path: String

    /// Opens the file at `path`. A pipe without a peer at its other end is opened too, and refused by `length`.
    internal init(_ path: String) throws(SerializationError) {
        // A NUL would end the name early and name another file.
        guard !path.utf8.contains(0) else { throw FileAccess.unreachable(path, ENOENT) }
        // SAFETY: the text ends with NUL for the time of the call.
        let descriptor = unsafe path.withCString { unsafe open($0, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
        guard descriptor >= 0 else { throw FileAccess.unreachable(path) }
        self.descriptor = descriptor
        self.path = path
    }

    deinit { close(descriptor) }

    /// The size in bytes of a regular file; others have none.
    internal func length() throws(SerializationError) -> Int {
        var status = stat()
        // SAFETY: the call fills a struct of its own type.
        guard unsafe fstat(descriptor, &status) == 0 else { throw FileAccess.unreachable(path) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw FileAccess.fault(.notRegularFile, "the path is not that of a regular file", path, nil)
        }
        return Int(status.st_size)
    }

    /// The next bytes, at most `count`; none at the end of the file.
    internal func read(upTo count: Int) throws(SerializationError) -> [UInt8] {
        var failure: Int32?
        // SAFETY: the system writes at most `count` bytes into room for that many, and says how many.
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, written in
            var result = -1
            repeat {
                result = unsafe readBytes(descriptor, buffer.baseAddress!, count)
            } while result < 0 && errno == EINTR
            if result < 0 { failure = errno }
            written = max(0, result)
        }
        if let failure { throw FileAccess.fault(.bodyUnreadable, "the file of a part can't be read", path, failure) }
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
        guard !path.isEmpty, !path.utf8.contains(0) else { throw Self.fault(path, ENOENT) }
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC
        // SAFETY: the text ends with NUL for the time of the call.
        let descriptor = unsafe temporaryPath.withCString { unsafe open($0, flags, 0o600) }
        guard descriptor >= 0 else { throw Self.fault(path) }
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
                unsafe writeBytes(descriptor, buffer.baseAddress! + at, buffer.count - at)
            }
            if result < 0, errno == EINTR { continue }
            guard result > 0 else { throw Self.fault(path, result == 0 ? ENOSPC : errno) }
            at += result
        }
    }

    /// Puts the file into its place; one that stood there is replaced.
    internal consuming func finish() throws(SerializationError) {
        // SAFETY: both texts end with NUL for the time of the call.
        let result = unsafe temporaryPath.withCString { from in unsafe path.withCString { unsafe rename(from, $0) } }
        guard result == 0 else { throw Self.fault(path) }
        isFinished = true
    }

    private static func fault(_ path: String, _ number: Int32 = errno) -> SerializationError {
        FileAccess.fault(.fileUnwritable, "the file can't be written", path, number)
    }
}

extension SerializationError {
    /// What the system calls the error that `systemError` stands for.
    internal var systemText: String? {
        guard let systemError else { return nil }
        // SAFETY: the text is a constant of the C library, or one that lives until the next call, and is copied at once.
        return unsafe String(cString: strerror(systemError))
    }
}
