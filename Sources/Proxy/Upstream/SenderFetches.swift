internal import EventLoop
internal import Gateway
internal import Signatures

/// What one worker fetches from senders' servers, and the certificates that it has from there.
///
/// Which location is fetched, whoever sends a request decides, though only on a host of the sender's. So there are few fetches at a
/// time, those of one location are one, and what failed is not tried again at once.
final class SenderFetches {
    /// Fetches at a time: 4.
    static let most = 4
    /// Certificates that are kept: 16, for a day; SNS and PayPal have one for months.
    private static let mostKept = 16
    private static let keepTime: UInt64 = 86_400 * 1_000_000_000
    /// Nanoseconds until a certificate that could not be had is tried again: 10 s.
    private static let failureTime: UInt64 = 10_000_000_000

    typealias Completion<Value> = (Result<Value, Fetch.Failure>) -> Void

    /// What becomes of a wish.
    enum Outcome<Value> {
        case known(Value)
        /// The completion comes later.
        case begun
        /// It failed a moment ago, or there are too many.
        case refused
    }

    /// A certificate is worth what the way is that it was fetched on: whom that trusts, and where it leads. So a route has those
    /// alone that were fetched as it says.
    private struct Key: Hashable {
        let location: SenderLocation
        let options: RequestVerification.Fetching
    }

    private struct Kept {
        let certificate: PinnedCertificate?
        let end: UInt64
    }

    private let loop: EventLoop
    private let resolver: Resolver
    private var kept: [Key: Kept] = [:]
    private var waiting: [Key: [Completion<PinnedCertificate>]] = [:]
    private var fetches: [Int: Fetch] = [:]
    private var nextNumber = 0
    /// By the options, whose digest of the authorities' file is another one once that has changed.
    private var contexts: [RequestVerification.Fetching: TLSClientContext] = [:]
    /// Contexts that are kept: 16, more than settings have ways of fetching; reloads leave old ones behind.
    private static let mostContexts = 16

    init(loop: EventLoop, resolver: Resolver) {
        self.loop = loop
        self.resolver = resolver
    }

    /// The certificate at a location; `completion` comes from the loop.
    func certificate(
        at location: SenderLocation, _ options: RequestVerification.Fetching,
        _ completion: @escaping Completion<PinnedCertificate>
    ) -> Outcome<PinnedCertificate> {
        let key = Key(location: location, options: options)
        if let known = kept[key], known.end > loop.now {
            return known.certificate.map { .known($0) } ?? .refused
        }
        if waiting[key] != nil {
            waiting[key]?.append(completion)
            return .begun
        }
        let isBegun = begin(location, options) { [unowned self] result in
            let found = result.flatMap { bytes in
                PinnedCertificate(pem: bytes).map { .success($0) } ?? .failure(.badResponse)
            }
            keep(try? found.get(), of: key)
            for completion in waiting.removeValue(forKey: key) ?? [] { completion(found) }
        }
        guard isBegun else { return .refused }
        waiting[key] = [completion]
        return .begun
    }

    /// Asks for a page, whose content is of no interest. Returns false where there are too many fetches.
    func page(
        at location: SenderLocation, _ options: RequestVerification.Fetching, _ completion: @escaping Completion<Void>
    ) -> Bool {
        begin(location, options) { completion($0.map { _ in }) }
    }

    private func begin(
        _ location: SenderLocation, _ options: RequestVerification.Fetching, _ completion: @escaping Completion<[UInt8]>
    ) -> Bool {
        guard fetches.count < Self.most, let context = context(options) else { return false }
        let number = nextNumber
        nextNumber += 1
        fetches[number] = Fetch(location, at: options.address, loop: loop, resolver: resolver, context: context) {
            [unowned self] result in
            fetches[number] = nil
            completion(result)
        }
        return true
    }

    private func keep(_ certificate: PinnedCertificate?, of key: Key) {
        if kept.count >= Self.mostKept { kept = kept.filter { $0.value.end > loop.now && $0.value.certificate != nil } }
        if kept.count >= Self.mostKept { kept.removeAll() }
        kept[key] = Kept(
            certificate: certificate, end: loop.now + (certificate == nil ? Self.failureTime : Self.keepTime))
    }

    /// The TLS of such fetches; nil where its files can't be loaded, though they could when the settings were read.
    private func context(_ options: RequestVerification.Fetching) -> TLSClientContext? {
        if let context = contexts[options] { return context }
        if contexts.count >= Self.mostContexts { contexts.removeAll() }
        var client = TLSClientOptions()
        client.authorities = options.authorities
        let context = try? TLSClientContext(client)
        contexts[options] = context
        return context
    }
}
