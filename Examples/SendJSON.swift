import Serialization

private struct Order: Encodable {
    struct Line: Encodable {
        var sku: String
        var quantity: Int
    }
    var id: Int
    var lines: [Line]
    var note: String?
}

func sendJSON() throws {
    // Literals keep the order of the members.
    var serializer = JSONRequestSerializer()
    let literal = try serializer.request(
        method: .post, url: "https://example.com/orders",
        parameters: ["sku": "A-1", "price": 9.5, "path": "a/b", "note": nil])
    show("JSON", String(decoding: literal.bodyBytes ?? [], as: UTF8.self))

    // Your own types.
    let order = Order(id: 7, lines: [.init(sku: "A-1", quantity: 2)], note: nil)
    serializer.writingOptions = [.prettyPrinted, .withoutEscapingSlashes]
    let encoded = try serializer.request(method: .put, url: "https://example.com/orders/7", encoding: order)
    show("Encodable", String(decoding: encoded.bodyBytes ?? [], as: UTF8.self))

    // A nil is left out unless the encoder is told to write it.
    serializer.writingOptions = []
    serializer.encoder.nils = .null
    let whole = try serializer.request(method: .put, url: "https://example.com/orders/7", encoding: order)
    show("with nil", String(decoding: whole.bodyBytes ?? [], as: UTF8.self))

    // The bytes alone, without a request.
    let bytes = try ValueEncoder().encode(order, as: .json)
    show("bytes", String(decoding: bytes, as: UTF8.self))

    // Laid out for people, and in an order of its own.
    var options = DocumentOptions()
    options.jsonWriting = [.prettyPrinted, .sortedKeys]
    let pretty = try ValueEncoder().encode(["b": 1, "a": 2], as: .json, options: options)
    show("pretty", String(decoding: pretty, as: UTF8.self))

    // A value that comes from JSON keeps the text of its numbers.
    let price = try Value(decoding: #"{"price":19.90,"id":12345678901234567890}"#)
    let exact = try JSONRequestSerializer().request(method: .post, url: "https://example.com/", parameters: price)
    show("exact numbers", String(decoding: exact.bodyBytes ?? [], as: UTF8.self))

    // The same parameters as a property list.
    let list = PropertyListRequestSerializer(format: .xml)
    let plist = try list.request(
        method: .post, url: "https://example.com/", parameters: ["key": "value", "data": .data([1, 2, 3])])
    show("property list", String(decoding: plist.bodyBytes ?? [], as: UTF8.self))
}
