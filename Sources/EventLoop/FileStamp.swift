internal import Glibc

/// What tells one content of a file from another without reading it: which file it is, its size and its times.
public struct FileStamp: Hashable, Sendable {
    private let device: dev_t
    private let inode: ino_t
    private let size: off_t
    private let seconds: Int
    private let nanoseconds: Int
    /// The second of 1970 in which the content, the name or the rights last changed.
    let changed: Int
    private let changedNanoseconds: Int
    /// Whether it has several names (link(2)).
    let isLinked: Bool

    /// The stamp of the file at `path`, behind symbolic links; nil where there is none.
    public init?(_ path: String) {
        var status = stat()
        // SAFETY: the path is end-marked, the status is written during the call.
        guard unsafe stat(path, &status) == 0 else { return nil }
        device = status.st_dev
        inode = status.st_ino
        size = status.st_size
        seconds = status.st_mtim.tv_sec
        nanoseconds = status.st_mtim.tv_nsec
        changed = status.st_ctim.tv_sec
        changedNanoseconds = status.st_ctim.tv_nsec
        isLinked = status.st_nlink > 1
    }
}
