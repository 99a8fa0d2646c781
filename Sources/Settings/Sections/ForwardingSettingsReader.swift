internal import Proxy

/// Reads what holds for the heads of all routes, at the top of the file.
struct ForwardingSettingsReader {
    private let context: ReadingContext

    init(_ context: ReadingContext) {
        self.context = context
    }

    /// Takes what the top of the file says.
    func read(_ section: SectionReader) -> ForwardingSettings {
        return ForwardingSettings()
    }
}
