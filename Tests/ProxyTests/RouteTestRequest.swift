import Octets
import Proxy

/// A request's head for the tables: `GET`, `/path?query`, a host, and fields.
struct RouteTestRequest: RouteSubject {
    private var bytes: [UInt8] = []
    private var methodRange = 0..<0
    private var pathRange = 0..<0
    private var queryRange: Range<Int>?
    private var hostRange = 0..<0
    private var fields: [(name: Range<Int>, value: Range<Int>)] = []

    init(_ target: String) {
        self.init("GET", target)
    }

    init(_ method: String, _ target: String, host: String = "shop.example", fields: [(String, String)] = []) {
        methodRange = store(method)
        let halves = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        pathRange = store(String(halves[0]))
        queryRange = halves.count > 1 ? store(String(halves[1])) : nil
        hostRange = store(host)
        self.fields = fields.map { (store($0.0), store($0.1)) }
    }

    private mutating func store(_ text: String) -> Range<Int> {
        let start = bytes.count
        bytes.append(contentsOf: text.utf8)
        return start..<bytes.count
    }

    @_lifetime(borrow self)
    private func span(_ range: Range<Int>) -> Span<UInt8> {
        // SAFETY: the span points into `bytes`, which self owns; the borrow keeps self unchanged while the span lives.
        unsafe _overrideLifetime(bytes.span.extracting(range), borrowing: self)
    }

    var method: Span<UInt8> {
        @_lifetime(borrow self)
        get { span(methodRange) }
    }
    var path: Span<UInt8> {
        @_lifetime(borrow self)
        get { span(pathRange) }
    }
    var query: Span<UInt8>? {
        @_lifetime(borrow self)
        get {
            guard let queryRange else { return nil }
            return span(queryRange)
        }
    }
    var host: Span<UInt8> {
        @_lifetime(borrow self)
        get { span(hostRange) }
    }
    var fieldCount: Int { fields.count }
    @_lifetime(borrow self)
    func name(_ index: Int) -> Span<UInt8> { span(fields[index].name) }
    @_lifetime(borrow self)
    func value(_ index: Int) -> Span<UInt8> { span(fields[index].value) }

    /// The text of a range of the path.
    func text(_ range: Range<Int>) -> String { path.extracting(range).lossyString() }
}
