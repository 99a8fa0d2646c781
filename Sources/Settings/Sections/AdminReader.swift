internal import Proxy

/// Reads the port for operators, at the top of the file.
struct AdminReader {
    private let context: ReadingContext

    init(_ context: ReadingContext) {
        self.context = context
    }

    /// Takes what the top of the file says.
    func read(_ section: SectionReader) -> AdminSettings {
        section.notYet("admin")
        return AdminSettings()
    }
}
