internal import EventLoop
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

    /// Logs what the settings can't have on this machine; `beginning` goes before each line.
    static func warn(of loaded: SettingsFile, as beginning: String = "") {
        for note in loaded.machineNotes {
            OperationalLog.note("\(beginning)\(note) (line \(note.line))", level: .warning)
        }
    }

    /// The settings of `file` once more, for a proxy that runs: checked, their examples run.
    /// `reread` gets what was read. What this machine doesn't have for it is logged where it `warns`.
    static func reload(
        _ file: String, withoutSecrets: Bool = false, keeping reread: RereadSettings, warns: Bool = false
    ) -> Result<ProxySettings, ReloadFailure> {
        var files: [ReadFile] = []
        do {
            let loaded = try SettingsFile.load(file, withoutSecrets: withoutSecrets, files: &files)
            try loaded.runExamples()
            reread.keep(loaded)
            if warns { warn(of: loaded, as: "reload: ") }
            return .success(loaded.settings)
        } catch {
            return .failure(ReloadFailure(reasons: CommandFault(error, in: file).lines, files: files))
        }
    }
}
