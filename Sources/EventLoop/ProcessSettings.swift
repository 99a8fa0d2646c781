internal import Glibc

/// Lets writes to a closed connection fail with `EPIPE` instead of ending the process. First thing in `main`.
public func ignoreSIGPIPE() {
    _ = signal(SIGPIPE, SIG_IGN)
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
