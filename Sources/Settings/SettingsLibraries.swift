internal import CYAML

/// The libraries of this target, as the process has loaded them: not those that it was built with.
public enum SettingsLibraries {
    /// Names and versions, as `libyaml` and `0.2.5`.
    public static var versions: [(name: String, version: String)] {
        // SAFETY: the function returns a constant text of the library.
        unsafe [("libyaml", String(cString: yaml_get_version_string()))]
    }
}
