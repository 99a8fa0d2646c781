internal import Proxy

/// Reads what a route says of heads, in the route or in "defaults".
struct ForwardingReader {
    private let context: ReadingContext

    init(_ context: ReadingContext) {
        self.context = context
    }

    /// Takes what `section` says and keeps the rest of `options`.
    func read(_ section: SectionReader, into options: inout ForwardingOptions) {
        section.notYet("expect_continue")
    }
}
