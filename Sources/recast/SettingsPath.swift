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
}
