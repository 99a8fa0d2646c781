public import EventLoop

/// Reads the settings again, one reading at a time, on a thread of its own: examples may take long, and the loops go on.
///
/// What is asked for while one reading runs is done once more after it, however often it was asked for: the file may have
/// changed since it was read.
final class Reloader {
    private let loop: EventLoop
    private let load: SettingsReload
    private let done: (Result<ProxySettings, ReloadFailure>) -> Void
    private var isRunning = false
    /// Whether another reading follows the one that runs, or has just been done.
    private(set) var isAskedAgain = false

    /// - Parameter done: hears of each reading, on the loop. The loop's context must be the `ServerControl` that has this.
    init(
        loop: EventLoop, load: @escaping SettingsReload, done: @escaping (Result<ProxySettings, ReloadFailure>) -> Void
    ) {
        self.loop = loop
        self.load = load
        self.done = done
    }

    func request() {
        guard !isRunning else {
            isAskedAgain = true
            return
        }
        isRunning = true
        isAskedAgain = false
        let inbox = loop.inbox
        let load = load
        do throws(LoopError) {
            // The handle is dropped: the thread ends by itself.
            _ = try startThread(name: "reload") {
                let result = load()
                inbox.perform { loop in ServerControl.of(loop).reloader?.finished(result) }
            }
        } catch {
            isRunning = false
            done(.failure(ReloadFailure(reasons: ["no thread to read the settings: \(error)"], files: [])))
        }
    }

    private func finished(_ result: Result<ProxySettings, ReloadFailure>) {
        isRunning = false
        done(result)
        if isAskedAgain { request() }
    }
}

/// Why settings that were read again can't be used; those in effect stay.
public struct ReloadFailure: Error, Hashable, Sendable {
    /// What is wrong, a line each, with its place.
    public var reasons: [String]
    /// The files that were read, or should have been, those of certificates and keys among them: one of them must change before it can
    /// be better.
    public var files: [ReadFile]

    public init(reasons: [String], files: [ReadFile]) {
        self.reasons = reasons
        self.files = files
    }
}

/// Reads and checks the settings again. Called on a thread of its own; may take long.
public typealias SettingsReload = @Sendable () -> Result<ProxySettings, ReloadFailure>
