internal import CBrotli
internal import CZlib
internal import CZstd

/// The libraries of this target, as the process has loaded them: not those that it was built with.
public enum CodingLibraries {
    /// Names and versions, as `zlib` and `1.2.13`.
    public static var versions: [(name: String, version: String)] {
        let brotli = BrotliDecoderVersion()
        // SAFETY: each function returns a constant text of its library.
        return unsafe [
            ("zlib", String(cString: zlibVersion())),
            ("Brotli", "\(brotli >> 24).\(brotli >> 12 & 0xFFF).\(brotli & 0xFFF)"),
            ("Zstandard", String(cString: ZSTD_versionString())),
        ]
    }
}
