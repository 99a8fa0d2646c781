import Settings

/// Settings text as the tests write it, with a made-up environment.
enum SettingsTestFile {
    static let environment = SettingsEnvironment(
        variable: {
            [
                "HOST": "10.0.0.9", "TOKEN": "${header.x}", "EMPTY": "", "STAGE": "prod", "KEY": "prod-sk_77",
                "PIN": "742", "OFF": "off", "AUTO": "auto", "CONVERT": "convert",
            ][$0]
        },
        file: { path throws(SettingsEnvironment.FileFault) in
            if path == "/run/secret" { return "s3cret\n" }
            throw SettingsEnvironment.FileFault("there is no file \(path)")
        })

    /// The head that every file needs, in four lines.
    static let head = """
        version: 1
        listen: 127.0.0.1:8080
        upstreams: { app: "127.0.0.1:3000" }
        routes:

        """

    static func parse(_ text: String) throws -> SettingsFile {
        try SettingsFile.parse(text, environment: environment)
    }

    /// Reads a file whose routes are `routes`, which begin in line 5.
    static func parseRoutes(_ routes: String) throws -> SettingsFile {
        try parse(head + routes)
    }

    /// What is wrong with `text`, a line each; empty when it is fine.
    static func mistakes(_ text: String) -> [String] {
        do {
            _ = try SettingsFile.parse(text, environment: environment)
            return []
        } catch {
            return error.all.map(\.description)
        }
    }

    static func mistakesOfRoutes(_ routes: String) -> [String] { mistakes(head + routes) }
}
