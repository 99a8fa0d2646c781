import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// The rows of `afn-vectors.json` that are about query strings, forms and the names of multipart parts: what AFNetworking and
/// Alamofire write. The other areas are tested with the parts that they are about.
@Suite("AFNetworking vectors: queries and forms")
struct AFNQueryVectorTests {
    /// The options of a row; nil where a setting has no counterpart.
    private func options(_ row: FormTestDocument) -> FieldEncodingOptions? {
        let settings = row["options"]!
        let isOlder = settings["encoding"]?.text == "URLEncoding"
        // Alamofire's older encoder sorts keys and keeps arrays, as AFNetworking does.
        let isAlamofire = row["source"]!.text == "Alamofire" && !isOlder
        var options = FieldEncodingOptions(dialect: isAlamofire ? .alamofire : .afnetworking)
        for name in settings.memberNames {
            switch (name, settings[name]!.canonical) {
            case ("encoder", _), ("encoding", _), ("function", #""percent_escape""#): break
            // Where the text goes is not the encoder's business.
            case ("method", _), ("url", _), ("methods_in_uri", _), ("request_headers", _), ("destination", _): break
            case ("boundary", _): break
            case ("alphabetize", "false"): options.order = .input
            case ("array", #""index_in_brackets""#): options.arrays = .indices
            case ("array", #""no_brackets""#): options.arrays = .repeated
            case ("bool", #""literal""#): options.booleans = .literal
            case ("key_path", #""dots""#): options.nesting = .dots
            case ("nil", #""null""#): options.nulls = .literal
            case ("nil", #""drop_value""#): options.nulls = .empty
            case ("nil", #""drop_key""#): options.nulls = .omit
            case ("space", #""plus""#): options.spaces = .plus
            default: return nil
            }
        }
        return options
    }

    /// The text that a row expects to be sent, wherever to; nil where it is about something else.
    private func expected(_ row: FormTestDocument) -> String? {
        let expect = row["expect"]!
        if let text = expect["query"]?.text { return text }
        if let text = expect["escaped"]?.text { return "=" + text }
        if expect["error"]?["type"]?.text == "invalidRootObject" { return "root_not_object" }
        if let text = expect["body"]?.text { return text }
        // What stands behind the URL of the request.
        guard let url = expect["url"]?.text, let before = row["options"]?["url"]?.text, url.hasPrefix(before) else {
            return nil
        }
        return String(url.dropFirst(before.count + 1))
    }

    private static let notFollowed: [String: [String]] = [
        "no document has unordered sets": ["afn-q-026", "afn-q-027", "afn-q-028", "afn-q-055"],
        "a block or closure of the caller's": ["afn-u-017", "afn-u-018", "afn-u-019", "alf-f-012"],
        "bodies are UTF-8": ["afn-u-020", "afn-u-021"],
        "header fields, not bodies": ["afn-h-001", "afn-h-002", "afn-h-003", "afn-h-004", "afn-h-007"],
        "dates in a style of the caller's": ["alf-f-017", "alf-f-018", "alf-f-019"],
        "bytes as a list of numbers, which Alamofire then sorts": ["alf-f-015"],
        "other names than the document's; a map can give them": [
            "alf-f-022", "alf-f-024", "alf-f-025", "alf-f-056", "alf-f-057", "alf-f-058",
        ],
        "a URL's query, not the encoder's text": ["alf-u-004", "alf-u-009"],
        "the description of a null object, <null>": ["alf-u-010"],
        "compression": ["alf-c-001", "alf-c-002", "alf-c-003"],
    ]

    @Test("a row is written alike, or stands in a list with the reason")
    func rows() {
        var alike = 0
        var others: Set<String> = []
        for row in formVectors("afn-vectors.json") where ["query", "form"].contains(row["area"]!.text!) {
            guard let options = options(row), let expected = expected(row), let input = row["input"],
                outcome(encodeForm(input.untagged, options)) == expected
            else {
                others.insert(row["id"]!.text!)
                continue
            }
            alike += 1
        }
        #expect(alike == 83)
        #expect(others == Set(Self.notFollowed.values.joined()))
        #expect(alike + others.count == 114)
    }

    private func outcome(_ result: Result<String, ConversionError>) -> String {
        switch result {
        case .success(let form): form
        case .failure(let error): error.code
        }
    }

    @Test(
        "parameters become parts with AFNetworking's names, order and texts",
        arguments: ["afn-m-001", "afn-m-002", "afn-m-004", "afn-m-006"])
    func parameters(id: String) throws {
        let row = formVectors("afn-vectors.json").first { $0["id"]!.text == id }!
        let options = FieldEncodingOptions(dialect: .afnetworking)
        let type = row["expect"]!["headers"]!["Content-Type"]!.bytes!
        let boundary = try Multipart.Boundary(contentType: type.span, limits: Limits())
        var flattener = Flattener(
            target: Multipart.Encoder(boundary: boundary, options: options), options: options, limits: Limits())
        try row["input"]!["parameters"]!.send(into: &flattener)
        try flattener.target.finish()
        #expect(flattener.target.output.span.lossyString() == row["expect"]!["body"]!.text)
    }

    @Test("a null is an empty part, however AFNetworking writes it in a form")
    func nullPart() throws {
        let options = FieldEncodingOptions(dialect: .afnetworking)
        let type = Array("multipart/form-data; boundary=b".utf8)
        let boundary = try Multipart.Boundary(contentType: type.span, limits: Limits())
        var flattener = Flattener(
            target: Multipart.Encoder(boundary: boundary, options: options), options: options, limits: Limits())
        try FormTestDocument(#"{"n":null}"#).send(into: &flattener)
        try flattener.target.finish()
        let expected = "--b\r\nContent-Disposition: form-data; name=\"n\"\r\n\r\n\r\n--b--\r\n"
        #expect(flattener.target.output.span.lossyString() == expected)
    }
}
