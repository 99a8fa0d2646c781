internal import HTTPWire
internal import Octets

/// A whole request to the admin port.
struct AdminRequest {
    var method = Method.get
    var path = ""
    /// Names and values of the query, in their order, decoded.
    var query: [(name: String, value: String)] = []
    var contentType: String?
    var wantsJSON = false
    /// Whether a page in a browser sent it: such a page is no operator.
    var isFromPage = false
    var body: [UInt8] = []

    init(_ head: borrowing MessageHead, body: [UInt8]) {
        method = head.methodKind
        path = head.path.lossyString()
        if let text = head.query { query = Self.pairs(text) }
        if let line = head.first(.contentType) { contentType = head.value(line).lossyString() }
        if let line = head.first(.accept) { wantsJSON = head.value(line).lossyString().contains("application/json") }
        isFromPage = head.contains(.origin)
        self.body = body
    }

    /// The first value of that name.
    func value(_ name: String) -> String? { query.first { $0.name == name }?.value }

    private static func pairs(_ text: Span<UInt8>) -> [(name: String, value: String)] {
        var pairs: [(name: String, value: String)] = []
        var start = 0
        while start < text.count {
            let parameter = text.extracting(QueryText.nextParameter(text, &start))
            guard !parameter.isEmpty else { continue }
            let equals = Scan.firstIndex(of: UInt8(ascii: "="), in: parameter, from: 0) ?? parameter.count
            let value = parameter.extracting(min(equals + 1, parameter.count)..<parameter.count)
            pairs.append((decoded(parameter.extracting(0..<equals)), decoded(value)))
        }
        return pairs
    }

    private static func decoded(_ text: Span<UInt8>) -> String {
        var bytes: [UInt8] = []
        PercentText.decode(text, plusIsSpace: true, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// An answer of the admin port.
struct AdminResponse {
    var status = 200
    var contentType: StaticString
    var body: OutputBuffer
    /// The methods that would be taken, for a 405.
    var allow: StaticString?

    static func json(_ value: AdminValue, status: Int = 200) -> AdminResponse {
        AdminResponse(status: status, contentType: "application/json", body: value.document)
    }

    static func text(_ text: String, status: Int = 200) -> AdminResponse {
        var body = OutputBuffer()
        body.append(text: text)
        return AdminResponse(status: status, contentType: "text/plain; charset=utf-8", body: body)
    }

    /// One line that says what is wrong.
    static func fault(_ status: Int, _ reason: String) -> AdminResponse {
        .json(.object([("status", .number(status)), ("error", .text(reason))]), status: status)
    }
}
