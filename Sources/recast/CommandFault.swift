internal import Settings

/// Why a command ends without success: the lines for standard error, and the exit code as in sysexits.
struct CommandFault: Error {
    /// Wrong usage.
    static let usage: Int32 = 64
    /// Bad data or configuration.
    static let data: Int32 = 65
    /// Something that is needed is not there: an address in use, a closed output.
    static let unavailable: Int32 = 69
    /// A fault of ours.
    static let ours: Int32 = 70

    var code: Int32
    var lines: [String]
    /// Whether it ends a server, which must end: nobody may be there to read why.
    var endsServer = false

    init(_ code: Int32, _ line: String) {
        self.code = code
        lines = [line]
    }

    /// An end whose reason has been said on standard output.
    init(_ code: Int32) {
        self.code = code
        lines = []
    }

    /// All that is wrong with a settings file, a line each.
    init(_ mistakes: SettingsMistakes, in file: String) {
        code = Self.data
        lines = mistakes.all.map { "\(SettingsPath.shown(file)):\($0)" }
        // Who has named no file may have none yet.
        if file == SettingsPath.standard, mistakes.all[0].code == .file {
            lines.append("without a FILE it is this one: recast init lists files to begin with")
        }
    }
}
