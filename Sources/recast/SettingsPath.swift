internal import Settings

/// The settings file that commands read.
enum SettingsPath {
    /// The file that is meant when none is named.
    static let standard = "config/recast.yaml"

    /// The checked settings of `file`; all that is wrong with it otherwise.
    static func load(_ file: String) throws(CommandFault) -> SettingsFile {
        do {
            return try SettingsFile.load(file)
        } catch {
            throw CommandFault(error, in: file)
        }
    }

    /// The same, whose examples give what they say.
    static func loadWithExamples(_ file: String) throws(CommandFault) -> SettingsFile {
        let loaded = try load(file)
        do {
            try loaded.runExamples()
        } catch {
            throw CommandFault(error, in: file)
        }
        return loaded
    }
}
