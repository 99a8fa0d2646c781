internal import Proxy

/// Reads what concerns the life of the process, at the top of the file.
struct LifecycleReader {
    private let context: ReadingContext

    init(_ context: ReadingContext) {
        self.context = context
    }

    /// Takes what the top of the file says.
    func read(_ section: SectionReader) -> LifecycleSettings {
        return LifecycleSettings()
    }
}
