internal import CEvent
internal import CEventShims
internal import Glibc

/// Tells when files have another content than before: written in place, replaced by a rename, or behind a symbolic link
/// that was turned to another place, as Kubernetes does with the folders of its volumes.
///
/// The folders are watched, not the files (inotify(7)): a replaced file would be watched no more. Of the folders above, all that
/// matters is that one is moved away or deleted; where one is missing, the next above tells when it comes. Events only say when
/// to look; what tells is the files' stamps. Network file systems send no events for what others write.
@safe
public final class FileWatch {
    /// How long after an event the files are looked at, so that several changes at once are one: 200 ms.
    public static let settleTime: UInt64 = 200_000_000

    private let loop: EventLoop
    private let onChange: () -> Void
    private let event: OpaquePointer
    private var descriptor: Int32 = -1
    private var files: [String] = []
    private var seen: [FileStamp?] = []
    private var timer: Timer!
    /// Whether an event since the last look tells of more than that something new has a name.
    private var sawMoreThanNew = false

    /// - Parameter onChange: called on the loop; lives as long as the watch.
    /// - Throws: `LoopError.system` when the system has no more watches.
    public init(loop: EventLoop, files: [String], onChange: @escaping () -> Void) throws(LoopError) {
        self.loop = loop
        self.onChange = onChange
        unsafe self.event = loop.pool.take()
        self.timer = Timer(loop: loop) { [unowned self] in look() }
        guard open(files) else {
            // SAFETY: it was not assigned.
            unsafe loop.pool.put(event)
            throw .system(call: "inotify", errno: errno)
        }
    }

    deinit {
        guard descriptor >= 0 else { return }
        // SAFETY: assigned in `open`, with self unretained: it must be gone before self is.
        unsafe event_del(event)
        unsafe loop.pool.put(event)
        close(descriptor)
    }

    /// Watches `files` from here on, and `others` beside them. What has changed in the former since they were read is told, and so is
    /// what has changed in the others where they were watched before and that was not told yet.
    /// - Throws: `LoopError.system` when the system has no descriptor for it; what was watched still is.
    public func watch(_ files: [ReadFile], besides others: [String] = []) throws(LoopError) {
        let old = Dictionary(zip(self.files, seen)) { first, _ in first }
        var paths = files.map(\.path)
        for other in others where !paths.contains(other) { paths.append(other) }
        guard open(paths) else { throw .system(call: "inotify", errno: errno) }
        for (index, path) in paths.enumerated() {
            if index < files.count {
                seen[index] = files[index].stamp
            } else if let state = old[path] {
                seen[index] = state
            }
        }
        // No event tells of what was written before.
        sawMoreThanNew = true
        look()
    }

    /// Watches anew, since folders may have been replaced. Whether it could be done; if not, what was watched still is.
    private func open(_ files: [String]) -> Bool {
        let made = recast_file_watch_create()
        guard made >= 0 else { return false }
        var folders = Folders()
        for file in files { Self.collectFolders(of: file, into: &folders, depth: 0) }
        // SAFETY: the path is end-marked and read during the call.
        for folder in folders.above { _ = unsafe recast_file_watch_add(made, folder, false) }
        for folder in folders.holding { Self.add(folder, to: made) }
        // SAFETY: assigned here, removed before the descriptor is closed and in deinit; self is alive that long.
        if descriptor >= 0 {
            // What the old watch has heard of and not told; the new one hears of all that follows.
            noteEvents()
            unsafe event_del(event)
            close(descriptor)
        }
        descriptor = made
        unsafe event_assign(
            event, loop.base, made, Int16(EV_READ | EV_PERSIST),
            { _, _, context in
                unsafe Unmanaged<FileWatch>.fromOpaque(context!).takeUnretainedValue().becameReadable()
            }, Unmanaged.passUnretained(self).toOpaque())
        unsafe event_add(event, nil)
        self.files = files
        seen = files.map { FileStamp($0) }
        return true
    }

    /// Watches `folder`, and as long as that isn't there the nearest one above it, in which it will appear.
    private static func add(_ folder: String, to watch: Int32) {
        // SAFETY: the path is end-marked and read during the call.
        if unsafe recast_file_watch_add(watch, folder, true) { return }
        guard errno == ENOENT || errno == ENOTDIR, let slash = folder.lastIndex(of: "/") else { return }
        add(slash == folder.startIndex ? "/" : String(folder[..<slash]), to: watch)
        // It may have come before that was watched.
        _ = unsafe recast_file_watch_add(watch, folder, true)
    }

    private func becameReadable() {
        if noteEvents(), !timer.isSet { timer.set(after: Self.settleTime) }
    }

    /// Reads all events; whether there was one.
    @discardableResult
    private func noteEvents() -> Bool {
        let what = recast_file_watch_read(descriptor)
        if what & Int32(RECAST_WATCH_CHANGED) != 0 { sawMoreThanNew = true }
        return what != 0
    }

    private func look() {
        let before = seen
        // Without a descriptor for a new watch the old one stays, whose events have been read: what they tell of must not be missed.
        if !open(files) { seen = files.map { FileStamp($0) } }
        let isNewAlone = !sawMoreThanNew
        sawMoreThanNew = false
        if isNewAlone {
            // A new file is being written now; its end is told by an event of its own. A link is whole from the start.
            for (index, file) in files.enumerated() where seen[index]?.isLinked == false && !Self.leadsThroughLink(file)
            {
                seen[index] = before[index]
            }
        }
        if seen != before { onChange() }
    }

    /// What is on the way to `path`, itself at the end, each with the folder that it is in.
    private static func steps(of path: String) -> [(path: String, folder: String)] {
        var folder = path.hasPrefix("/") ? "" : "."
        return path.split(separator: "/").map { component in
            let step = (path: "\(folder)/\(component)", folder: folder.isEmpty ? "/" : folder)
            folder = step.path
            return step
        }
    }

    private static func leadsThroughLink(_ path: String) -> Bool {
        steps(of: path).contains { linkTarget($0.path) != nil }
    }

    /// Where changes of files are seen.
    private struct Folders {
        /// Those that hold a file or a link on the way to one.
        var holding: Set<String> = []
        /// Those on the way, whose place another may take.
        var above: Set<String> = []
    }

    /// The folders in which a change of `path` is seen: its own, that of each symbolic link on the way, and all above them.
    private static func collectFolders(of path: String, into folders: inout Folders, depth: Int) {
        // The system's own bound for links within links.
        guard depth < 40 else { return }
        let steps = steps(of: path)
        for (path, folder) in steps {
            folders.above.insert(folder)
            guard let target = linkTarget(path) else { continue }
            folders.holding.insert(folder)
            collectFolders(
                of: target.hasPrefix("/") ? target : "\(folder)/\(target)", into: &folders, depth: depth + 1)
        }
        folders.holding.insert(steps.last?.folder ?? "/")
    }

    private static func linkTarget(_ path: String) -> String? {
        // SAFETY: readlink writes at most PATH_MAX bytes and says how many.
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
            let count = unsafe readlink(path, buffer.baseAddress!, buffer.count)
            guard count > 0 else { return nil }
            return unsafe String(decoding: buffer[..<count].lazy.map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
    }
}
