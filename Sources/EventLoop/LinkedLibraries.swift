internal import CCares
internal import CEvent
internal import CTLSShims

/// The libraries of this target, as the process has loaded them: not those that it was built with.
public enum LinkedLibraries {
    /// Names and versions, as `libevent` and `2.1.12`.
    public static var versions: [(name: String, version: String)] {
        // SAFETY: each function returns a constant text of its library.
        unsafe [
            // 2.1.12-stable: all releases are.
            ("libevent", String(String(cString: event_get_version()).prefix { $0 != "-" })),
            ("OpenSSL", String(cString: recast_tls_library_version())),
            ("c-ares", String(cString: ares_version(nil))),
        ]
    }
}
