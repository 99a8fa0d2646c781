internal import CBuild
internal import ContentCoding
internal import EventLoop
internal import HTTP2
internal import Images
internal import Transcoding

/// What runs: the version, which stands here and nowhere else, what was built, and what it was linked with.
public enum BuildInformation {
    /// The version by the rules of semver.org.
    public static let version = "0.5.0"

    /// The commit of the sources, as `1a2b3c4`, with `-changed` behind it where they were not those of the commit; nil where the
    /// build was not told.
    static var commit: String? {
        // SAFETY: a constant text of the program, or none.
        unsafe recast_build_commit().map { unsafe String(cString: $0) }
    }

    /// The day of that commit, as `2026-01-31`; nil where the build was not told.
    static var date: String? {
        // SAFETY: as above.
        unsafe recast_build_date().map { unsafe String(cString: $0) }
    }

    /// `0.5.0 (commit 1a2b3c4, 2026-01-31)`, as far as that is known.
    static var short: String {
        let parts = [commit.map { "commit \($0)" }, date].compactMap(\.self)
        return parts.isEmpty ? version : "\(version) (\(parts.joined(separator: ", ")))"
    }

    /// One line with the libraries, each asked for its version: those that are loaded may be newer than those of the build.
    /// - Parameter further: those of targets that this one doesn't know.
    public static func line(with further: [(name: String, version: String)]) -> String {
        var parts = ["commit \(commit ?? "unknown")", date].compactMap(\.self)
        parts.append("Swift \(swift)")
        let libraries =
            LinkedLibraries.versions + HTTP2Libraries.versions + CodingLibraries.versions + ImageLibraries.versions
            + further
        parts += libraries.map { "\($0.name) \($0.version)" }
        return "recast \(version) (\(parts.joined(separator: ", ")))"
    }

    /// Swift is linked in, so it is that of the build. The runtime knows its version without the last number until 6.4.
    private static var swift: String {
        #if compiler(>=6.4)
            "\(_SwiftStdlibVersion.current)"
        #elseif compiler(>=6.3.3)
            "6.3.3"
        #elseif compiler(>=6.3.2)
            "6.3.2"
        #elseif compiler(>=6.3.1)
            "6.3.1"
        #else
            "6.3"
        #endif
    }
}
