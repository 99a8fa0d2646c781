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

    /// The checked settings of `file`, for a command that takes `--no-secrets`; all that is wrong with it otherwise.
    static func load(_ file: String, _ secrets: SecretsOption) throws(CommandFault) -> SettingsFile {
        do {
            return try SettingsFile.load(file, withoutSecrets: secrets.noSecrets)
        } catch {
            throw fault(error, in: file, secrets)
        }
    }

    /// What is wrong with `file`, and where that is nothing but what is missing on this machine, the option that does without.
    static func fault(_ mistakes: SettingsMistakes, in file: String, _ secrets: SecretsOption) -> CommandFault {
        var fault = CommandFault(mistakes, in: file)
        // Standard input has been read; and where examples were run, all was there.
        if !secrets.noSecrets, file != SettingsEnvironment.standardInput,
            !mistakes.all.contains(where: { $0.code == .example }),
            (try? SettingsFile.load(file, withoutSecrets: true)) != nil
        {
            fault.lines.append("--no-secrets reads the settings without what is missing here")
        }
        return fault
    }

    /// The checked settings of `file`, whose examples give what they say.
    static func loadWithExamples(_ file: String) throws(CommandFault) -> SettingsFile {
        do {
            let loaded = try SettingsFile.load(file)
            try loaded.runExamples()
            return loaded
        } catch {
            throw CommandFault(error, in: file)
        }
    }

    /// Logs what the settings can't have on this machine.
    static func warn(of loaded: SettingsFile) {
        for remark in remarks(of: loaded) { OperationalLog.note(remark, level: .warning) }
    }

    private static func remarks(of loaded: SettingsFile) -> [String] {
        loaded.machineNotes.map { "\($0) (line \($0.line))" }
    }

    /// The settings of `file` once more, for a proxy that runs: checked, their examples run.
    /// `reread` gets what was read. What this machine doesn't have for it is logged where it `warns`, as it takes effect.
    static func reload(
        _ file: String, withoutSecrets: Bool = false, keeping reread: RereadSettings, warns: Bool = false
    ) -> Result<ProxySettings, ReloadFailure> {
        var files: [ReadFile] = []
        do {
            let loaded = try SettingsFile.load(file, withoutSecrets: withoutSecrets, files: &files)
            try loaded.runExamples()
            reread.keep(loaded)
            var settings = loaded.settings
            // Whether a line is written is for the new settings to say, which aren't in effect yet.
            if warns { settings.lifecycle.remarks = remarks(of: loaded) }
            return .success(settings)
        } catch {
            return .failure(ReloadFailure(reasons: CommandFault(error, in: file).lines, files: files))
        }
    }
}
