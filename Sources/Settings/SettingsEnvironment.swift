internal import EventLoop
internal import Glibc
internal import Octets

/// What `${env:NAME}` and `${file:PATH}` read from.
public struct SettingsEnvironment: Sendable {
    /// The value of an environment variable, or nil; throws for one that is no text.
    public var variable: @Sendable (_ name: String) throws(FileFault) -> String?
    /// The text of a file; throws a reason.
    public var file: @Sendable (_ path: String) throws(FileFault) -> String

    /// Whether what the settings take from outside may be missing, as it is in a pipeline: then no variable has to be there,
    /// and no file is looked at. A value that needs one is left unchecked.
    public var lacksSecrets = false

    /// Why files can't be made in a folder, or nil when they can, it being made first where it is missing.
    public var folderFault: @Sendable (_ path: String) -> String? = { _ in nil }
    /// Why a log can't be opened at a path, whoever does it, or nil when nothing is known against it.
    public var logFault: @Sendable (_ path: String) -> String? = { _ in nil }
    /// Where a path that the settings name leads to: files of certificates, which are opened when they are needed.
    public var path: @Sendable (_ path: String) -> String
    /// Hears of each file of certificates or keys before it is loaded.
    var willLoad: @Sendable (_ path: String) -> Void = { _ in }

    /// Why a file could not be read.
    public struct FileFault: Error, Hashable, Sendable {
        public var reason: String
        /// Where in the file it is, from 1.
        public var line: Int
        public var column: Int

        public init(_ reason: String, line: Int = 1, column: Int = 1) {
            self.reason = reason
            self.line = line
            self.column = column
        }
    }

    /// Bytes of a file at most.
    static let maximumFileSize = 1024 * 1024

    public init(
        variable: @escaping @Sendable (_ name: String) throws(FileFault) -> String?,
        file: @escaping @Sendable (_ path: String) throws(FileFault) -> String,
        path: @escaping @Sendable (_ path: String) -> String = { $0 }
    ) {
        self.variable = variable
        self.file = file
        self.path = path
    }

    /// The process' own variables, and the file system. Relative paths begin at `folder`.
    public static func process(folder: String) -> SettingsEnvironment {
        var environment = SettingsEnvironment(
            variable: { name throws(FileFault) in
                // SAFETY: nothing in this process changes its variables, so the text stays where it is.
                guard let value = unsafe getenv(name) else { return nil }
                guard let text = unsafe String(validatingCString: value) else {
                    throw FileFault("the variable \(name) is not UTF-8")
                }
                return text
            },
            file: { path throws(FileFault) in
                try readText(Self.path(path, in: folder))
            }, path: { Self.path($0, in: folder) })
        environment.folderFault = folderFault
        environment.logFault = logFault
        return environment
    }

    /// Looks at the folder as this process would: by its own user. One that is missing is made when it is needed, in the nearest
    /// folder above it that is there.
    @Sendable private static func folderFault(_ path: String) -> String? {
        var folder = path
        // SAFETY: the paths are lent for the calls.
        while unsafe access(folder, F_OK) != 0, errno == ENOENT, let slash = folder.lastIndex(of: "/") {
            folder = String(folder[..<slash])
            if folder.isEmpty { folder = "/" }
        }
        let made = folder == path ? "" : "doesn't exist, and can't be made: \(folder) "
        // With the slash it can only be a folder.
        guard unsafe access("\(folder)/", F_OK) == 0 else { return "\(made)is no folder" }
        // A file is put into the folder, a folder into one above it.
        return unsafe access(folder, W_OK | X_OK) == 0 ? nil : "\(made)can't be written"
    }

    /// Looks at the place of a log's file, whose folder isn't made. Whether the file may be written is left open: the service that does so
    /// often is another user than who checks its settings.
    @Sendable private static func logFault(_ path: String) -> String? {
        guard !path.hasSuffix("/") else { return "it names a folder" }
        // With the slash it can only be a folder.
        // SAFETY: the paths are lent for the calls.
        if unsafe access("\(path)/", F_OK) == 0 { return "it is a folder" }
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        guard unsafe access("\(folder)/", F_OK) != 0 else { return nil }
        return switch errno {
        case ENOENT: "its folder, \(folder), doesn't exist"
        case ENOTDIR: "\(folder) is no folder"
        default: nil
        }
    }

    /// Where `path` leads when relative paths begin at `folder`.
    static func path(_ path: String, in folder: String) -> String {
        path.hasPrefix("/") || folder.isEmpty ? path : "\(folder)/\(path)"
    }

    /// A file's text; refuses what is larger than 1 MiB or not UTF-8.
    public static func readText(_ path: String) throws(FileFault) -> String {
        if path == standardInput {
            let bytes = try readBytes(path)
            if bytes.isEmpty { throw FileFault("standard input has nothing, or nothing any more") }
            return try text(bytes, "standard input")
        }
        return try text(try readBytes(path), "the file \(path)")
    }

    /// The bytes of a file, or of standard input for `-`; refuses what is larger than 1 MiB. A pipe is read to its end, as long as
    /// something comes of it within `patience`.
    public static func readBytes(_ path: String) throws(FileFault) -> [UInt8] {
        try readBytes(path, within: patience)
    }

    static func readBytes(_ path: String, within patience: Int32) throws(FileFault) -> [UInt8] {
        if path == standardInput {
            return try bounded(try read(STDIN_FILENO, within: -1, "standard input"), "standard input")
        }
        let what = "the file \(path)"
        // Without waiting: a FIFO would hold the thread up until somebody opens it to write.
        // SAFETY: the path is lent for the call.
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else {
            guard errno == ENOENT else { throw FileFault("\(what) can't be read: \(systemErrorText(errno))") }
            // What can't be read in an argument has become this: the file may well be there.
            guard !path.contains("\u{FFFD}") else {
                throw FileFault("\(what) isn't found: names of files that are given here must be UTF-8")
            }
            throw FileFault("there is no file \(path)")
        }
        defer { close(file) }
        return try bounded(try read(file, within: patience, what), what)
    }

    /// Milliseconds in which a pipe or a device that stands for a file must give something: 10 s. A reload that waited for ever would
    /// be the last one.
    private static let patience: Int32 = 10_000

    private static func bounded(_ bytes: [UInt8], _ what: String) throws(FileFault) -> [UInt8] {
        if bytes.count > maximumFileSize { throw FileFault("\(what) is larger than 1 MiB") }
        return bytes
    }

    /// The path that stands for standard input.
    public static let standardInput = "-"

    private static func text(_ bytes: [UInt8], _ what: String) throws(FileFault) -> String {
        do {
            return String(copying: try UTF8Span(validating: bytes.span))
        } catch {
            let isWide = bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF])
            if isWide { throw FileFault("\(what) is not UTF-8, but UTF-16: save it as UTF-8") }
            let fine = bytes[..<error.byteOffsets.lowerBound]
            let line = fine.count { $0 == ASCII.lineFeed } + 1
            let start = fine.lastIndex(of: ASCII.lineFeed).map { $0 + 1 } ?? 0
            // A character is counted where it begins.
            let column = fine[start...].count { $0 & 0xC0 != 0x80 } + 1
            throw FileFault("\(what) is not UTF-8 in line \(line)", line: line, column: column)
        }
    }

    /// `text` without a byte order mark in front: editors on Windows write one, which says nothing in UTF-8.
    static func withoutMark(_ text: String) -> String {
        text.unicodeScalars.first == "\u{FEFF}" ? String(text.unicodeScalars.dropFirst()) : text
    }

    /// `text` without the line end at its end, which editors add.
    static func withoutLineEnd(_ text: String) -> String {
        // CR and LF are one character.
        text.last?.isNewline == true ? String(text.dropLast()) : text
    }

    /// What is behind a descriptor, by system calls; one byte more than a file may have is enough.
    /// - Parameter wait: milliseconds that may pass without a byte or the end; negative for any time.
    private static func read(
        _ descriptor: Int32, within wait: Int32, _ what: String
    ) throws(FileFault) -> [UInt8] {
        var bytes: [UInt8] = []
        var slice = [UInt8](repeating: 0, count: 16 * 1024)
        while bytes.count <= maximumFileSize {
            var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            // SAFETY: one element, read and written during the call.
            if unsafe poll(&request, 1, wait) == 0 {
                throw FileFault("\(what) is a pipe or a device, of which nothing came for \(wait / 1000) s")
            }
            // SAFETY: read writes at most the slice's count of bytes.
            let count = unsafe slice.withUnsafeMutableBytes {
                unsafe Glibc.read(descriptor, $0.baseAddress, $0.count)
            }
            if count == 0 { break }
            if count > 0 {
                bytes += slice[..<count]
            } else if errno != EINTR, errno != EAGAIN {
                throw FileFault("\(what) can't be read: \(systemErrorText(errno))")
            }
        }
        return bytes
    }
}
