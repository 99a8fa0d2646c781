internal import EventLoop
internal import Glibc
internal import Synchronization

/// A context made of files, and what makes it anew. All workers share it; connections keep the context that they began with.
final class LoadedTLS<Context: TLSContext>: Sendable, LoadedFromFiles {
    let files: [String]
    private let make: @Sendable () throws(TLSFileError) -> Context
    private let loaded: Mutex<Loaded>

    /// The stamps of the files are taken before the files are read: a file that is replaced meanwhile, or later, has another
    /// one, however long it takes until it is looked at.
    private struct Loaded: Sendable {
        let stamps: [FileStamp?]
        var context: Context

        init(_ files: [String], _ make: () throws(TLSFileError) -> Context) throws(TLSFileError) {
            stamps = files.map { FileStamp($0) }
            context = try make()
        }

        /// With the context of `other`, where that is the same: tickets that clients have, and sessions that are remembered, go with
        /// a context. Where anything is another, and be it the authorities of client certificates, they must: who takes up a session
        /// isn't verified anew.
        func keeping(_ other: Loaded) -> Loaded {
            var kept = self
            if context.isSame(as: other.context) { kept.context = other.context }
            return kept
        }

        /// Whether something has run out here, or doesn't hold yet, that is right in `other`, of which the settings say the same.
        func isWorse(than other: Loaded) -> Bool {
            context.hasOptions(of: other.context)
                && context.loadedFiles.mistake(notOf: other.context.loadedFiles, at: Int64(time(nil))) != nil
        }
    }

    /// Loads `files` by `make`.
    convenience init(
        _ files: [String], make: @escaping @Sendable () throws(TLSFileError) -> Context
    ) throws(TLSFileError) {
        try self.init(files, first: make, make: make)
    }

    /// Loads `files` by `first`, and later by `make`.
    init(
        _ files: [String], first: () throws(TLSFileError) -> Context,
        make: @escaping @Sendable () throws(TLSFileError) -> Context
    ) throws(TLSFileError) {
        self.files = files
        self.make = make
        loaded = Mutex(try Loaded(files, first))
    }

    /// What new connections begin with.
    var context: Context { loaded.withLock { $0.context } }

    var stamps: [FileStamp?] { loaded.withLock { $0.stamps } }

    func reload() throws(ReloadFault) -> TLSLoadedFiles {
        let made: Loaded
        do throws(TLSFileError) {
            made = try Loaded(files, make)
        } catch {
            throw ReloadFault(error: error, mendedAt: nil)
        }
        let now = Int64(time(nil))
        let mistake = loaded.withLock { loaded in
            let mistake = made.context.loadedFiles.mistake(notOf: loaded.context.loadedFiles, at: now)
            if mistake == nil { loaded = made.keeping(loaded) }
            return mistake
        }
        if let mistake {
            let error = TLSFileError(
                role: mistake.role, index: mistake.index, path: mistake.path,
                reason: "isn't loaded: \(mistake.message)")
            throw ReloadFault(error: error, mendedAt: mistake.start)
        }
        return made.context.loadedFiles
    }

    func renewTicketKeys() { context.renewTicketKeys() }

    func ended(since earlier: Int64, at now: Int64) -> [TLSFileFinding] {
        context.loadedFiles.ended(since: earlier, at: now)
    }

    /// Goes on with what `other` has loaded of the same files, where that is no worse: otherwise the stamps stay as well, so that the watch
    /// finds other files, and tells of them.
    func use(_ other: LoadedTLS) {
        let made = other.loaded.withLock { $0 }
        loaded.withLock { if !made.isWorse(than: $0) { $0 = made.keeping($0) } }
    }

    /// Goes on with the context of `old`, where that is the same, and with all that `old` has where its own is worse.
    func keep(_ old: LoadedTLS) {
        let kept = old.loaded.withLock { $0 }
        loaded.withLock { $0 = $0.isWorse(than: kept) ? kept : $0.keeping(kept) }
    }

    /// Goes on with what `old` has where its own is worse.
    func keepIfBetter(_ old: LoadedTLS) {
        let kept = old.loaded.withLock { $0 }
        loaded.withLock { if $0.isWorse(than: kept) { $0 = kept } }
    }
}

/// What is made of files, and knows whether it is what another one is.
protocol TLSContext: Sendable {
    var loadedFiles: TLSLoadedFiles { get }
    func isSame(as other: Self) -> Bool
    func hasOptions(of other: Self) -> Bool
    /// To be called now and then: what tickets are sealed with gets old.
    func renewTicketKeys()
}

extension TLSServerContext: TLSContext {}
extension TLSClientContext: TLSContext {
    func renewTicketKeys() {}
}

/// Why files aren't loaded anew.
struct ReloadFault: Error {
    let error: TLSFileError
    /// When the same files may be right, in seconds since 1970: the clock of who issues certificates may be ahead of ours. Nil: others
    /// have to come.
    let mendedAt: Int64?
}

/// What is made of files and can be made of them again.
protocol LoadedFromFiles {
    var files: [String] { get }
    /// Those of `files` when they were loaded last.
    var stamps: [FileStamp?] { get }
    /// Loads the files anew. What was loaded stays when one of them can't be used, or has run out where what was loaded hasn't.
    func reload() throws(ReloadFault) -> TLSLoadedFiles
    /// As `TLSContext` has it.
    func renewTicketKeys()
    /// What is in use and has run out since `earlier`.
    func ended(since earlier: Int64, at now: Int64) -> [TLSFileFinding]
}
