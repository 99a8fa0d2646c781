/// One thing that is wrong in a settings file or a conversion expression, and where.
public struct SettingsMistake: Hashable, Sendable {
    /// From 1.
    public var line: Int
    /// From 1, counted in Unicode scalars.
    public var column: Int
    /// One sentence in lower case without a full stop, which says what to do.
    public var message: String

    public init(line: Int, column: Int, message: String) {
        self.line = line
        self.column = column
        self.message = message
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
