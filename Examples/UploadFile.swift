import Foundation
import Serialization

func uploadFile() async throws {
    // A file to send, in a folder of its own. `Data`, `URL` and `FileManager` are Foundation's.
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("recast-example-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let photo = folder.appendingPathComponent("photo.jpg").path
    try Data("not really a photo".utf8).write(to: URL(fileURLWithPath: photo))

    // Parameters first, then the parts. The length is known before anything is read.
    let serializer = HTTPRequestSerializer()
    let request = try serializer.multipartRequest(
        url: "https://example.com/upload", parameters: ["album": 7], boundary: "example-boundary"
    ) { form in
        try form.append(fileAt: photo, name: "photo")
        try form.append(Array("hello".utf8), name: "note", fileName: "note.txt", mimeType: "text/plain")
    }
    show("upload", request.head.headerFields[.contentType] ?? "", request.head.headerFields[.contentLength] ?? "")

    // Pull the body in pieces of any size, and give each to the connection.
    let stream = try request.multipart!.makeStream()
    var sent: [UInt8] = []
    while stream.hasBytesAvailable {
        let piece = try stream.read(upTo: 4096)
        sent += piece
    }
    show("body", String(decoding: sent, as: UTF8.self))

    // A retry takes a new stream: parts from memory and from files start again.
    let retry = try stream.copy()
    show("retry", "\(retry.contentLength == sent.count)")

    // A part that is pulled from somewhere, with its length known.
    var form = MultipartFormData()
    let chunks = ["stre", "amed"]
    try form.append(
        .restartable {
            var rest = chunks[...]
            return { _ in rest.popFirst().map { Array($0.utf8) } ?? [] }
        }, length: 8, name: "log", fileName: "log.txt", mimeType: "text/plain")

    // A part that comes once only, as from a socket or a pipe.
    var lines = ["first\n", "last\n"][...]
    var piped = MultipartFormData()
    try piped.append(
        .once { _ in lines.popFirst().map { Array($0.utf8) } ?? [] },
        length: 11, name: "lines", fileName: nil, mimeType: "text/plain")
    show("once", "\(try piped.encode().count == piped.contentLength)")

    // Slowly: packets of 16 bytes with a wait after each.
    form.throttle(packetSize: 16, delay: .milliseconds(1))
    let slow = try form.makeStream()
    var packets = 0
    while try await slow.pacedBytes() != nil { packets += 1 }
    show("throttled", "\(packets == (form.contentLength + 15) / 16)")

    // Into a file, for programs that upload files.
    let file = folder.appendingPathComponent("body").path
    try form.write(toFile: file)
    show("file", "\(try Data(contentsOf: URL(fileURLWithPath: file)).count == form.contentLength)")
}
