internal import Octets
internal import Transcoding

/// What is to be tried on the console, as its page writes it: an object of texts, and a list of headers.
public struct TrialRequest: Hashable, Sendable {
    /// The name of a route of the running settings.
    public var route: String?
    /// The YAML of a route; with `route`, name, match and upstream are that one's.
    public var definition: String?
    /// Whether the body is a response of the upstream.
    public var isResponse = false
    /// The response's; 200.
    public var status = 200
    /// The body's Content-Type; nil: the one that the route takes.
    public var type: String?
    public var path: String?
    public var query: String?
    /// `Name: value` each.
    public var headers: [String] = []
    public var body: [UInt8] = []

    /// Why the document is none of these: one sentence in lower case.
    public struct Fault: Error, Hashable, Sendable {
        public var reason: String
    }

    /// Headers at most.
    static let headerLimit = 100

    /// Reads the object. Members that it doesn't know are refused, so that a slip of the pen isn't heeded by silence.
    public init(json: [UInt8]) throws(Fault) {
        var sink = TrialSink()
        var limits = Limits()
        limits.depth = 2
        do throws(ConversionError) {
            try sink.take(json: json, limits: limits)
        } catch {
            throw Fault(reason: error.description)
        }
        var texts = sink.texts
        func take(_ name: String) throws(Fault) -> String? {
            guard let index = texts.firstIndex(where: { $0.name == name }) else { return nil }
            let text = texts.remove(at: index).text
            guard let string = String(validating: text, as: UTF8.self) else {
                throw Fault(reason: "\"\(name)\" is not UTF-8")
            }
            return string
        }
        route = try take("route")
        definition = try take("definition")
        guard route != nil || definition != nil else {
            throw Fault(reason: "name a \"route\", or write a \"definition\"")
        }
        switch try take("side") {
        case nil, "request": break
        case "response": isResponse = true
        default: throw Fault(reason: "\"side\" is request or response")
        }
        if let text = try take("status") {
            guard let number = Int(text), (200...599).contains(number) else {
                throw Fault(reason: "\"status\" is from 200 to 599")
            }
            status = number
        }
        type = try take("type")
        path = try take("path")
        query = try take("query")
        headers = sink.headers
        let text = texts.firstIndex { $0.name == "body" }.map { texts.remove(at: $0).text }
        let base64 = texts.firstIndex { $0.name == "base64" }.map { texts.remove(at: $0).text }
        if text != nil, base64 != nil { throw Fault(reason: "\"body\" and \"base64\" say the same: remove one") }
        if let base64 {
            guard let bytes = Base64Decoder.bytes(of: base64.span) else {
                throw Fault(reason: "\"base64\" can't be read")
            }
            body = bytes
        } else {
            body = text ?? []
        }
        if let other = texts.first {
            let hint = NearestWord.hint(for: other.name, among: Self.known)
            throw Fault(reason: "there is no \"\(other.name)\" here: \(hint)")
        }
    }

    private static let known = [
        "route", "definition", "side", "status", "type", "path", "query", "headers", "body", "base64",
    ]
}

/// Takes an object of texts and numbers, with one list of texts: `headers`. Nulls are members that aren't there.
private struct TrialSink: EventSink {
    var texts: [(name: String, text: [UInt8])] = []
    var headers: [String] = []
    private var name = ""
    private var text: [UInt8] = []
    private var isInObject = false
    private var isInList = false

    var isFull: Bool { false }

    private static func refuse(_ reason: String) -> ConversionError {
        ConversionError(.malformed, code: "trial", reason: reason)
    }

    private mutating func put(_ text: [UInt8]) throws(ConversionError) {
        guard isInObject else { throw Self.refuse("this is no object") }
        guard isInList else {
            guard name != "headers" else { throw Self.refuse("\"headers\" is a list of texts") }
            guard !texts.contains(where: { $0.name == name }) else { throw Self.refuse("a member stands there twice") }
            guard texts.count < 32 else { throw Self.refuse("there are too many members") }
            return texts.append((name, text))
        }
        guard headers.count < TrialRequest.headerLimit else {
            throw Self.refuse("there are more than \(TrialRequest.headerLimit) headers")
        }
        headers.append(String(decoding: text, as: UTF8.self))
    }

    mutating func beginObject() throws(ConversionError) {
        guard !isInObject else { throw Self.refuse("\"\(name)\" is no object") }
        isInObject = true
    }
    mutating func endObject() throws(ConversionError) {}
    mutating func beginArray() throws(ConversionError) {
        guard isInObject else { throw Self.refuse("this is no object") }
        guard name == "headers" else { throw Self.refuse("only \"headers\" is a list") }
        isInList = true
    }
    mutating func endArray() throws(ConversionError) { isInList = false }
    mutating func key(_ name: Span<UInt8>) throws(ConversionError) { self.name = name.lossyString() }
    mutating func string(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        text.append(contentsOf: piece)
        guard isLast else { return }
        let whole = text
        text = []
        try put(whole)
    }
    mutating func number(_ text: Span<UInt8>) throws(ConversionError) { try put(text.copied()) }
    mutating func bool(_ value: Bool) throws(ConversionError) {
        throw Self.refuse(isInObject ? "\"\(name)\" is a text" : "this is no object")
    }
    mutating func null() throws(ConversionError) {
        guard isInObject else { throw Self.refuse("this is no object") }
        guard !isInList else { throw Self.refuse("a header is a text") }
    }
    mutating func beginFile(_ head: borrowing PartHead) throws(ConversionError) {}
    mutating func fileContent(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {}
}
