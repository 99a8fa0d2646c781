import Serialization

/// Hears of the parts of an upload as they arrive, and keeps no byte of their content.
private struct Inventory: FieldSink {
    private(set) var lines: [String] = []
    private var name = ""
    private var count = 0

    /// True stops the decoder behind the event that it has just sent, until it is fed again.
    var isFull: Bool { false }

    mutating func beginPart(_ head: borrowing PartHead) {
        name = head.filenameText.map { "\(head.nameText), file \($0)" } ?? head.nameText
        count = 0
    }

    mutating func content(_ piece: Span<UInt8>, isLast: Bool) {
        count += piece.count
        if isLast { lines.append("\(name): \(count) bytes") }
    }
}

private struct Profile: Decodable {
    var name: String
    var age: Int
    var tags: [String]
    var photo: [UInt8]
}

func readUpload() throws {
    // An upload, as it comes from elsewhere.
    var form = try MultipartFormData(boundary: "example-boundary")
    try form.append("Ada", name: "user")
    try form.append(Array(repeating: 0, count: 100_000), name: "scan", fileName: "scan.raw", mimeType: "image/x-raw")
    let arriving = try form.makeStream()

    // The body goes through in pieces, and memory doesn't grow with it.
    let boundary = try Multipart.Boundary(contentType: form.contentType.utf8Span.span, limits: Limits())
    var decoder = Multipart.Decoder(boundary: boundary, options: FieldDecodingOptions(), limits: Limits())
    var inventory = Inventory()
    while arriving.hasBytesAvailable {
        let piece = try arriving.read(upTo: 16 * 1024)
        _ = try decoder.feed(piece.span, into: &inventory)
    }
    try decoder.finish(into: &inventory)
    for line in inventory.lines { show("part", line) }

    // A whole upload as a type of yours, by way of JSON.
    var filled = try MultipartFormData(boundary: "example-boundary")
    try filled.append("Ada", name: "name")
    try filled.append("36", name: "age")
    try filled.append("new", name: "tags[]")
    try filled.append([1, 2, 3], name: "photo", fileName: "photo.raw", mimeType: "image/x-raw")
    var plan = ConversionPlan(inputs: [.multipart], output: .json)
    plan.fieldDecoding.files = .base64
    let json = try plan.convert(filled.encode(), contentType: filled.contentType)
    let profile = try ValueDecoder(reading: .recast).decode(Profile.self, from: json.body, as: .json)
    show("own type", "\(profile.name) \(profile.age) \(profile.tags) \(profile.photo)")
}
