internal import Proxy

/// Reads what a route says of retries, in the route or in "defaults".
struct RetryReader {
    private let context: ReadingContext

    init(_ context: ReadingContext) {
        self.context = context
    }

    /// Takes what `section` says and keeps the rest of `options`.
    func read(_ section: SectionReader, into options: inout RetryOptions) {
        section.notYet("retry")
    }
}
