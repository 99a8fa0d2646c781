internal import Gateway
internal import Proxy

/// Reads what a route, or "defaults", can say besides matching and converting.
struct RouteOptionsReader {
    let context: ReadingContext

    /// Takes what `section` says and keeps the rest of `options`.
    func read(_ section: SectionReader, into options: inout RouteOptions) {
        ForwardingReader(context: context).read(section, into: &options.forwarding)
        CodingReader(context: context).read(section, into: &options.coding)
        RetryReader(context: context).read(section, into: &options.retry)
        RateReader(context: context).read(section, into: &options.rate)
    }
}
