internal import Glibc

/// What tells one content of a file from another without reading it: which file it is, its size and its times. Of what is no file,
/// as a pipe, only which one it is: its times say when it was used.
public struct FileStamp: Hashable, Sendable {
    private let device: dev_t
    private let inode: ino_t
    private let size: off_t
    private let seconds: Int
    private let nanoseconds: Int
    /// When the content, the name or the rights last changed.
    private let changed: Int
    private let changedNanoseconds: Int
    /// Whether it has several names (link(2)).
    let isLinked: Bool

    /// Bytes of the file; 0 of what is none.
    internal var byteCount: Int { Int(size) }

    /// The stamp of the file at `path`, behind symbolic links; nil where there is none.
    public init?(_ path: String) {
        var status = stat()
        // SAFETY: the path is end-marked, the status is written during the call.
        guard unsafe stat(path, &status) == 0 else { return nil }
        device = status.st_dev
        inode = status.st_ino
        let isFile = status.st_mode & S_IFMT == S_IFREG
        size = isFile ? status.st_size : 0
        seconds = isFile ? status.st_mtim.tv_sec : 0
        nanoseconds = isFile ? status.st_mtim.tv_nsec : 0
        changed = isFile ? status.st_ctim.tv_sec : 0
        changedNanoseconds = isFile ? status.st_ctim.tv_nsec : 0
        isLinked = status.st_nlink > 1
    }
}

/// A file that was read, or should have been, and what it was before that: where it is another one now, nobody has read that.
public struct ReadFile: Hashable, Sendable {
    public let path: String
    /// Nil: there was none.
    public let stamp: FileStamp?

    /// The file at `path`, which is about to be read.
    public init(_ path: String) {
        self.path = path
        stamp = FileStamp(path)
    }
}
