/// A value of a settings file with the place it stands at.
struct SettingsNode: Sendable {
    struct Position: Hashable, Sendable {
        var line: Int
        var column: Int
    }

    struct Member: Sendable {
        var key: String
        var position: Position
        var value: SettingsNode
    }

    indirect enum Content: Sendable {
        /// Text, and whether it stands without quotes, so that it may be a number, a boolean or null.
        case scalar(String, isPlain: Bool)
        case sequence([SettingsNode])
        /// In the order of the file, keys distinct.
        case mapping([Member])
    }

    var position: Position
    var content: Content

    /// Nothing at all, `~` or `null`.
    var isNull: Bool {
        if case .scalar(let text, isPlain: true) = content { return text.isEmpty || text == "~" || text == "null" }
        return false
    }

    /// `off`, or the boolean that says the same.
    var saysOff: Bool {
        if case .scalar(let text, let isPlain) = content { return text == "off" || isPlain && text == "false" }
        return false
    }

    /// The number of a list's elements.
    var count: Int {
        if case .sequence(let elements) = content { elements.count } else { 0 }
    }

    /// What it is, for messages.
    var kind: String {
        switch content {
        case .scalar: isNull ? "nothing" : "a single value"
        case .sequence: "a list"
        case .mapping: "a mapping"
        }
    }
}
