/// Names of what gives access: logs and the console show no value of a field or a variable that is called so.
public enum SecretName {
    /// Words that such names hold, whatever their case and the signs between are: `token` is in `access_token` and `hookToken`.
    public static let words = [
        "authorization", "cookie", "password", "passwd", "secret", "token", "api_key", "signature",
    ]

    /// Whether the name of a path's variable holds one of them.
    static func isHeld(in name: String) -> Bool {
        let name = letters(of: name)
        return words.contains { name.contains(letters(of: $0)) }
    }

    private static func letters(of name: String) -> String { name.lowercased().filter { $0 != "_" } }
}
