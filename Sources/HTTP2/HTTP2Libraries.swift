internal import CHTTP2

/// The library that this target stands on.
public enum HTTP2Libraries {
    /// Its name and the version that is loaded.
    public static var versions: [(name: String, version: String)] {
        // SAFETY: a constant text.
        unsafe [("nghttp2", String(cString: recast_http2_version()))]
    }
}
