/// One thing that is wrong in a settings file or a conversion expression, and where.
public struct SettingsMistake: Hashable, Sendable {
    /// From 1.
    public var line: Int
    /// From 1, counted in Unicode scalars.
    public var column: Int
    /// One sentence in lower case without a full stop, which says what to do.
    public var message: String
    /// Stable: what reads the text can tell kinds of mistakes apart.
    public var code: Code
    /// The name of the route that it is in, where it is in one that has a name.
    public var route: String?

    /// A kind of mistake.
    public enum Code: String, Hashable, Sendable, CaseIterable {
        /// The file can't be read.
        case file
        /// The text is no YAML.
        case yaml
        /// A setting is not what it can be.
        case setting
        /// An example of a route doesn't give what it says.
        case example
    }

    public init(line: Int, column: Int, message: String, code: Code = .setting, route: String? = nil) {
        self.line = line
        self.column = column
        self.message = message
        self.code = code
        self.route = route
    }

    /// The end of the message that says what to write instead, where it ends with such; nil otherwise.
    public var hint: String? {
        for opening in [": did you mean ", ": known are ", ": only ", ": write ", ": put ", ": it stands "] {
            guard let found = message.firstRange(of: opening) else { continue }
            return String(message[message.index(found.lowerBound, offsetBy: 2)...])
        }
        return nil
    }
}

extension SettingsMistake: CustomStringConvertible {
    /// `line:column: message`.
    public var description: String { "\(line):\(column): \(message)" }
}

/// All that is wrong with a text, in the order of its lines; never empty.
public struct SettingsMistakes: Error, Hashable, Sendable {
    public let all: [SettingsMistake]

    init(_ mistakes: [SettingsMistake]) {
        precondition(!mistakes.isEmpty, "a refusal without a reason")
        all = mistakes.sorted { ($0.line, $0.column) < ($1.line, $1.column) }
    }
}
