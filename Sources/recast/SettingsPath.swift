internal import Proxy
internal import Settings

/// The settings file that commands read.
enum SettingsPath {
    /// The file that is meant when none is named.
    static let standard = "config/recast.yaml"

    /// The file as messages name it.
    static func shown(_ file: String) -> String {
        file == SettingsEnvironment.standardInput ? "<stdin>" : file
    }

    /// The checked settings of `file`; all that is wrong with it otherwise.
    static func load(_ file: String, withoutSecrets: Bool = false) throws(CommandFault) -> SettingsFile {
        do {
            return try SettingsFile.load(file, withoutSecrets: withoutSecrets)
        } catch {
            throw CommandFault(error, in: file)
        }
    }

    /// As above, whose examples give what they say.
    static func loadWithExamples(_ file: String) throws(CommandFault) -> SettingsFile {
        let loaded = try load(file)
        do {
            try loaded.runExamples()
        } catch {
            throw CommandFault(error, in: file)
        }
        return loaded
    }

    /// The settings of `file` once more, for a proxy that runs: checked, their examples run.
    /// `reread` gets what was read.
    static func reload(
        _ file: String, withoutSecrets: Bool = false, keeping reread: RereadSettings
    ) -> Result<ProxySettings, ReloadFailure> {
        var files: [String] = []
        do {
            let loaded = try SettingsFile.load(file, withoutSecrets: withoutSecrets, files: &files)
            try loaded.runExamples()
            reread.keep(loaded)
            return .success(loaded.settings)
        } catch {
            return .failure(ReloadFailure(reasons: CommandFault(error, in: file).lines, files: files))
        }
    }
}
