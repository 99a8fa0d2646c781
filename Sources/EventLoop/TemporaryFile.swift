internal import CEventShims
internal import Glibc
public import Octets

/// A file without a name, for bytes that don't fit into memory: gone when it is let go of, also when the process dies.
///
/// Reading and writing block for as long as the disk takes; the caller hands over bounded pieces. Errors are `errno`s.
public final class TemporaryFile {
    /// Why the system refused.
    public struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        public let errno: Int32

        public var description: String { systemErrorText(errno) }

        /// Whether there is no room: the disk, the quota of a user or the size of one file is at its end.
        public var isFull: Bool { errno == ENOSPC || errno == EDQUOT || errno == EFBIG }
    }

    private let descriptor: Int32
    /// Bytes written so far.
    public private(set) var count = 0

    /// Makes a file in `folder`, readable and writable by this user only; so is the folder, which is made where it is missing.
    public init(in folder: String) throws(Failure) {
        // SAFETY: the path is a string of ours that lives during the call.
        descriptor = unsafe recast_temporary_file(folder)
        guard descriptor >= 0 else { throw Failure(errno: errno) }
    }

    deinit {
        close(descriptor)
    }

    /// Bytes that the disk of `folder` has for this user; nil where the system doesn't say.
    public static func freeBytes(in folder: String) -> Int? {
        var status = statvfs()
        // SAFETY: the path lives during the call, in which the status is written.
        guard unsafe statvfs(folder, &status) == 0 else { return nil }
        let (bytes, isHuge) = Int(clamping: status.f_bavail).multipliedReportingOverflow(
            by: Int(clamping: status.f_frsize))
        return isHuge ? .max : bytes
    }

    /// Appends `bytes`, all of them. After a failure some may have been written; they don't count.
    public func append(_ bytes: Span<UInt8>) throws(Failure) {
        var done = 0
        while done < bytes.count {
            let rest = bytes.extracting(done..<bytes.count)
            // SAFETY: the pointer is used only during the call.
            let written = unsafe rest.withUnsafeBufferPointer {
                unsafe pwrite(descriptor, $0.baseAddress, $0.count, off_t(count + done))
            }
            if written > 0 {
                done += written
            } else if written == 0 || errno != EINTR {
                throw Failure(errno: written == 0 ? ENOSPC : errno)
            }
        }
        count += done
    }

    /// Appends up to `limit` bytes from `offset` on to `output`; fewer only at the end. Returns how many.
    public func read(from offset: Int, upTo limit: Int, into output: inout OutputBuffer) throws(Failure) -> Int {
        let wanted = min(limit, count - offset)
        guard wanted > 0 else { return 0 }
        var failure: Failure?
        var done = 0
        output.append(upTo: wanted) { target in
            // SAFETY: the system writes at most the free bytes that it is told of, and so many count as written.
            unsafe target.withUnsafeMutableBufferPointer { buffer, initialized in
                while done < wanted, failure == nil {
                    let got = unsafe pread(
                        descriptor, buffer.baseAddress! + done, wanted - done, off_t(offset + done))
                    if got > 0 {
                        done += got
                    } else if got == 0 || errno != EINTR {
                        // The end before what was written means that the file was cut by another process.
                        failure = Failure(errno: got == 0 ? EIO : errno)
                    }
                }
                initialized = done
            }
        }
        if let failure { throw failure }
        return done
    }
}
