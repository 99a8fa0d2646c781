/// Differences that are meant, each with its reason.
enum Explained {
    /// What only we refuse, by our code.
    static let us: [String: String] = [:]
    /// What only NIO refuses, by its error.
    static let them: [String: String] = [:]
}
