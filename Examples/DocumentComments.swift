import Foundation
import Serialization

private struct DateBeyondYear9999: Error {}

/// The snippets of the sources' own comments.
func documentComments() throws {
    let body = Array(#"{"id":7,"tags":["new"]}"#.utf8)
    // ValueDecoder
    struct Reply: Decodable { var id: Int; var tags: [String] }
    let reply = try ValueDecoder().decode(Reply.self, from: body, as: .json)
    show("reply", "\(reply.id) \(reply.tags)")

    try ofTexts()
    try ofOrder()
    try ofDates()
    try ofUpload()
}

private func ofTexts() throws {
    let decoder = ValueDecoder(reading: .php)
    show("texts", "\(try decoder.decode([String: Bool].self, from: "a=1&b=0", as: .form).count)")
}

private func ofOrder() throws {
    // ValueEncoder
    struct Order: Encodable { var sku: String; var quantity: Int; var note: String? }
    let body = try ValueEncoder().encode(Order(sku: "A", quantity: 2, note: nil), as: .json)
    show("order", String(decoding: body, as: UTF8.self))
}

private func ofDates() throws {
    var encoder = ValueEncoder()
    encoder.transform = { value in
        guard let date = value as? Date else { return nil }
        guard let time = Timestamp(secondsSince1970: date.timeIntervalSince1970) else { throw DateBeyondYear9999() }
        return .date(time)
    }
    let written = try encoder.encode(["at": Date(timeIntervalSince1970: 0)], as: .json)
    var decoder = ValueDecoder()
    let times = decoder
    decoder.transform = { value, type in
        guard type == Date.self, let time = try? times.decode(Timestamp.self, from: value) else { return nil }
        return Date(timeIntervalSince1970: time.secondsSince1970)
    }
    let read = try decoder.decode([String: Date].self, from: written, as: .json)
    show("dates", String(decoding: written, as: UTF8.self), "\(read["at"]?.timeIntervalSince1970 ?? -1)")
}

private func ofUpload() throws {
    let serializer = HTTPRequestSerializer()
    let url = "https://example.com/upload"
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("recast-\(UUID().uuidString).jpg").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    try Data("not really a photo".utf8).write(to: URL(fileURLWithPath: path))
    let upload = try serializer.multipartRequest(url: url, parameters: ["album": 7]) { form in
        try form.append(fileAt: path, name: "photo")
    }
    show("photo", "\(upload.multipart?.count ?? 0) parts")
}
