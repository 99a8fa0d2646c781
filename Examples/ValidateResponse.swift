import Serialization

private struct User: Decodable {
    var id: Int
    var name: String
}

func validateResponse() throws {
    // What came back: its head and the bytes of its body.
    var response = HTTPResponse(status: .ok)
    response.headerFields[.contentType] = "application/json; charset=utf-8"
    let body = Array(#"{"id":7,"name":"Ada","email":null}"#.utf8)

    // The object, or the error.
    let serializer = JSONResponseSerializer(nullRemoval: .deep)
    let value = try serializer.serialize(response, body: body).get()
    show("document", "\(value ?? .null)")

    // Your own type.
    let user = try value?.decode(User.self)
    show("type", user?.name ?? "")

    // A 404 with a body that can be read gives both.
    response.status = .notFound
    let result = serializer.serialize(response, body: Array(#"{"error":"no such user"}"#.utf8))
    show("both", result.value?["error"]?.string ?? "", "\(result.error?.code ?? 0)")

    // A body of another type is not read: the status's error is outside, the type's beneath.
    response.headerFields[.contentType] = "text/html"
    let page = serializer.serialize(response, body: Array("<p>".utf8))
    show("neither", "\(page.error!.kind)", "\(page.error!.underlyingError!.kind)")

    // Types as `application/problem+json`, where you ask for them.
    var lenient = JSONResponseSerializer()
    lenient.validation.matchesSuffixes = true
    lenient.acceptableStatusCodes = nil
    response.headerFields[.contentType] = "application/problem+json"
    let problem = try lenient.serialize(response, body: Array(#"{"status":404}"#.utf8)).get()
    show("suffix", "\(problem?["status"]?.int ?? 0)")

    // An image's format and size, without decoding it.
    var image = HTTPResponse(status: .ok)
    image.headerFields[.contentType] = "image/gif"
    let gif: [UInt8] = Array("GIF89a".utf8) + [64, 1, 200, 0, 0, 0, 0]
    let header = try ImageResponseSerializer().serialize(image, body: gif).get()
    show("image", "\(header!.format) \(header!.width) x \(header!.height)")

    // Several kinds of bodies at once: the first serializer that makes an object wins.
    let any = CompoundResponseSerializer([
        JSONResponseSerializer(), XMLDocumentResponseSerializer(), ImageResponseSerializer(),
    ])
    switch any.serialize(image, body: gif).value {
    case .document(let value): show("compound", "\(value)")
    case .image(let image): show("compound", "\(image.format)")
    case .bytes(let bytes): show("compound", "\(bytes.count) bytes")
    case .text, .xmlParser, .other, nil: show("compound", "something else")
    }
}
