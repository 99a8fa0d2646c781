import Serialization

func followProgress() throws {
    // A body of two files.
    var form = MultipartFormData()
    try form.append(Array("a text of some length".utf8), name: "note", fileName: "a.txt", mimeType: "text/plain")
    try form.append(Array("another text in a file".utf8), name: "note", fileName: "b.txt", mimeType: "text/plain")

    // The length is known before the first byte, so each piece is a part of a known whole.
    let stream = try form.makeStream()
    var percent = 0
    while stream.hasBytesAvailable {
        let piece = try stream.read(upTo: 64)
        // Send the piece here, then say how far the body has come.
        percent = 100 * stream.bytesRead / stream.contentLength
        precondition(!piece.isEmpty || percent == 100)
    }
    show("progress", "\(percent) %")

    // The phase says which part the next byte belongs to.
    let again = try stream.copy()
    var parts: [Int] = []
    while again.hasBytesAvailable {
        if case .body(let part) = again.phase, parts.last != part { parts.append(part) }
        _ = try again.read(upTo: 16)
    }
    show("parts", "\(parts)")
}
