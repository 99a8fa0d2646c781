internal import CEventShims
internal import Glibc

/// Lets a write fail instead of ending the process: to a closed connection (`EPIPE`), and beyond what a file may have, as a
/// limit of the service says (`EFBIG`, `RLIMIT_FSIZE`). First thing in `main`.
public func ignoreSignalsOfWrites() {
    for number in [SIGPIPE, SIGXFSZ] { _ = signal(number, SIG_IGN) }
}

/// Raises the soft limit of open descriptors to the hard one. Returns the limit that holds now.
@discardableResult
public func raiseDescriptorLimit() -> Int {
    var limit = rlimit()
    // SAFETY: the pointers are used only during the calls.
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
    if limit.rlim_cur < limit.rlim_max {
        var raised = limit
        raised.rlim_cur = limit.rlim_max
        if unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0 { limit = raised }
    }
    return Int(clamping: limit.rlim_cur)
}

/// Ignores what would end the process and means nothing to it: SIGUSR2. SIGWINCH and SIGCHLD are ignored as it is.
public func ignoreUnusedSignals() {
    _ = signal(SIGUSR2, SIG_IGN)
}

/// Lets SIGTERM, SIGINT and SIGQUIT end the process at once, with 0, until `handOverSignals`. First thing in `main`.
///
/// By their standard they would end it too, but not pid 1, to which the system gives no signal without a handler: it would be started,
/// and serve on. To let them wait would be no better, since a start may take long, as behind a pipe that nobody writes to. 0 is what a
/// drain ends with, and here there is nothing to drain.
public func endOnSignals() { recast_signals_end() }

/// As `endOnSignals`, and lets the signals that mean something only to a proxy that runs wait until it does: by their standard they
/// would end it. To ignore them would lose them: who sends SIGHUP has new settings, and the old ones may have been read already.
public func holdSignals() {
    endOnSignals()
    recast_signals_hold()
    ignoreUnusedSignals()
}

/// Calls `install`, which sets the handlers of a loop (`EventLoop.onSignal`), with all signals waiting that the two above have seen to:
/// none is lost between two handlers. Those that have waited come now, to the calling thread; the threads of `startThread` leave
/// them to others.
public func handOverSignals(_ install: () -> Void) {
    recast_signals_hand_over()
    install()
    recast_signals_take()
}

/// Opens standard input, output and error on `/dev/null` where they are closed: the next socket would be taken for them.
/// First thing in `main`.
public func openStandardDescriptors() {
    for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) < 0 {
        // SAFETY: constant paths. The system gives the lowest free number, which is this one.
        if unsafe open("/dev/null", O_RDWR) >= 0 { continue }
        // A root without devices: a folder can be neither read nor written, which is as good.
        _ = unsafe open("/", O_RDONLY | O_DIRECTORY)
    }
}

/// What the program was called with, without its own name. Swift's own `CommandLine` reads `/proc`, and has nothing where that isn't
/// mounted, or where no descriptor is left.
public func programArguments() -> [String] {
    var count: Int32 = 0
    // SAFETY: the system's own texts, end-marked, which stay where they are.
    guard let texts = unsafe recast_arguments(&count) else { return [] }
    return (0..<Int(count)).dropFirst().compactMap { index in
        unsafe texts[index].map { unsafe String(cString: $0) }
    }
}

/// Takes the exit codes of all children that have ended: those of others too, which fall to pid 1.
public func reapChildren() {
    var status: Int32 = 0
    // SAFETY: the status is written during the call.
    while unsafe waitpid(-1, &status, WNOHANG) > 0 {}
}
