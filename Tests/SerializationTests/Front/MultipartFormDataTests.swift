import Foundation
import HTTPTypes
import Serialization
import Synchronization
import Testing
import Transcoding

/// A multipart form for programs: lengths, streams, throttling, files, retries.
@Suite("Multipart form data")
struct MultipartFormDataTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A form with every kind of part, an empty one among them.
    private func form() throws -> MultipartFormData {
        var form = try MultipartFormData(boundary: "B")
        try form.append("value", name: "key")
        try form.append([], name: "empty")
        try form.append([1, 2, 3], name: "data", fileName: "a.bin", mimeType: "application/octet-stream")
        try form.append(fileAt: try folder.file("note.txt", Array("from a file".utf8)), name: "file")
        try form.append(source("from a stream"), length: 13, name: "stream", fileName: "s", mimeType: "a/b")
        form.append(headers: [.contentType: "x/y", .contentLanguage: "en"], body: [9])
        return form
    }

    private func source(_ text: String) -> BodySource {
        .restartable {
            let queue = ByteQueue(text)
            return { queue.take(min($0, 4)) }
        }
    }

    private static let text = """
        --B\r
        Content-Disposition: form-data; name="key"\r
        \r
        value\r
        --B\r
        Content-Disposition: form-data; name="empty"\r
        \r
        \r
        --B\r
        Content-Disposition: form-data; name="data"; filename="a.bin"\r
        Content-Type: application/octet-stream\r
        \r
        \u{1}\u{2}\u{3}\r
        --B\r
        Content-Disposition: form-data; name="file"; filename="note.txt"\r
        Content-Type: text/plain\r
        \r
        from a file\r
        --B\r
        Content-Disposition: form-data; name="stream"; filename="s"\r
        Content-Type: a/b\r
        \r
        from a stream\r
        --B\r
        Content-Type: x/y\r
        Content-Language: en\r
        \r
        \u{9}\r
        --B--\r

        """

    @Test("A body is the same for every size of the reader's buffer, and as long as announced")
    func bufferSizes() throws {
        let form = try form()
        let whole = Array(Self.text.utf8)
        #expect(form.contentLength == whole.count)
        for size in 1...whole.count + 1 {
            let stream = try form.makeStream()
            #expect(stream.contentLength == whole.count)
            var body: [UInt8] = []
            while stream.hasBytesAvailable {
                let piece = try stream.read(upTo: size)
                if piece.isEmpty { break }
                #expect(piece.count == size || !stream.hasBytesAvailable)
                body += piece
            }
            #expect(body == whole, "buffer of \(size)")
            #expect(stream.bytesRead == whole.count)
            #expect(try stream.read(upTo: size).isEmpty)
            #expect(stream.phase == .done)
        }
        #expect(try form.encode() == whole)
    }

    @Test("A loop that reads while there are bytes hears of a fault", arguments: [1, 7, 100, 4096])
    func faultInLoop(size: Int) throws {
        for gives in [0, 3] {
            var form = try MultipartFormData(boundary: "b")
            try form.append("hello", name: "a")
            var left = gives
            let source = BodySource.once { count in
                let given = min(count, left)
                left -= given
                return Array(repeating: 0x78, count: given)
            }
            try form.append(source, length: 5, name: "x", fileName: nil, mimeType: "text/plain")
            let stream = try form.makeStream()
            var count = 0
            let error = #expect(throws: SerializationError.self) {
                while stream.hasBytesAvailable { count += try stream.read(upTo: size).count }
            }
            #expect(error?.kind == .lengthMismatch)
            #expect(count == stream.bytesRead && count < stream.contentLength)
            #expect(!stream.hasBytesAvailable)
        }
    }

    @Test("A reader may ask for as much as there is, and for nothing")
    func extremeSizes() throws {
        let stream = try form().makeStream()
        #expect(try stream.read(upTo: 0).isEmpty)
        #expect(try stream.read(upTo: -1).isEmpty)
        #expect(try stream.read(upTo: 3) == Array("--B".utf8))
        #expect(try stream.read(upTo: .max).count == Self.text.utf8.count - 3)
    }

    @Test("A length that can't be is refused", arguments: [-1, Int.min, Int.max])
    func impossibleLengths(length: Int) throws {
        var form = MultipartFormData()
        #expect(throws: SerializationError.self) {
            try form.append(source("x"), length: length, name: "f", fileName: nil, mimeType: "a/b")
        }
        for _ in 0..<3 {
            try? form.append(source("x"), length: Int.max / 5, name: "f", fileName: nil, mimeType: "a/b")
        }
        #expect(form.count == 1)
        #expect(form.contentLength > Int.max / 5)
        // A file counts as a source does, with what is there before it: of sparse files a few would do.
        let folder = try TemporaryFolder()
        let file = try folder.file("f", [1])
        var full = MultipartFormData()
        try full.append(source("x"), length: Int.max / 4, name: "f", fileName: nil, mimeType: "a/b")
        let error = #expect(throws: SerializationError.self) { try full.append(fileAt: file, name: "g") }
        #expect(error?.kind == .invalidPart)
        #expect(full.bodyLength == Int.max / 4)
        // Without bytes it fits.
        try full.append(fileAt: folder.file("empty", []), name: "g")
        #expect(full.count == 2)
    }

    @Test("The lengths of a form are those of its parts, however they came and wherever they went")
    func lengths() throws {
        var form = try MultipartFormData(boundary: "B")
        #expect(try form.contentLength == form.encode().count)
        form.append(headers: [.contentType: "a/b"], body: [1, 2])
        try form.append("\u{E9}", name: "a")
        try form.append(parameters: ["b": [1, 22], "c": .data([3])], encoding: FieldEncodingOptions(dialect: .recast))
        let copy = form
        try form.append(source("xyz"), length: 3, name: "s", fileName: "s", mimeType: "a/b")
        #expect(throws: SerializationError.self) { try form.append("x", name: "\0") }
        for (form, length) in [(copy, 8), (form, 11)] {
            #expect(form.bodyLength == length)
            #expect(try form.contentLength == form.encode().count)
        }
    }

    @Test("A buffer is filled in place")
    func fillsOutputSpan() throws {
        let form = try form()
        let stream = try form.makeStream()
        var body: [UInt8] = []
        while stream.hasBytesAvailable {
            body += try [UInt8](capacity: 7) { span in _ = try stream.read(into: &span) }
        }
        #expect(body == Array(Self.text.utf8))
    }

    @Test("The stream goes from boundary to header to body, part by part, to the final boundary")
    func phases() throws {
        var form = try MultipartFormData(boundary: "B")
        try form.append("x", name: "a")
        try form.append("y", name: "b")
        let stream = try form.makeStream()
        var phases = [stream.phase]
        while stream.hasBytesAvailable {
            _ = try stream.read(upTo: 1)
            if phases.last != stream.phase { phases.append(stream.phase) }
        }
        #expect(
            phases == [
                .boundary(part: 0), .header(part: 0), .body(part: 0), .boundary(part: 1), .header(part: 1),
                .body(part: 1), .finalBoundary, .done,
            ])
    }

    @Test("A form without parts is the final boundary")
    func emptyForm() throws {
        let form = try MultipartFormData(boundary: "B")
        #expect(try form.encode() == Array("--B--\r\n".utf8))
        #expect(form.contentLength == 7)
    }

    @Test("Throttled packets have their size, and ask for their delay but after the last")
    func throttling() async throws {
        var form = try form()
        form.throttle(packetSize: 10, delay: .milliseconds(200))
        let stream = try form.makeStream()
        var sizes: [Int] = []
        var delays: [Duration] = []
        while let packet = try stream.nextPacket() {
            sizes.append(packet.bytes.count)
            delays.append(packet.delay)
        }
        #expect(sizes.dropLast().allSatisfy { $0 == 10 })
        #expect(sizes.reduce(0, +) == form.contentLength)
        #expect(delays.dropLast().allSatisfy { $0 == .milliseconds(200) })
        #expect(delays.last == .zero)
        #expect(try form.makeStream().read(upTo: 100).count == 10)

        let clock = CountingClock()
        let paced = try form.makeStream()
        var count = 0
        while let bytes = try await paced.pacedBytes(on: clock) { count += bytes.count }
        #expect(count == form.contentLength)
        #expect(clock.slept == .milliseconds(200) * (sizes.count - 1))
    }

    @Test("A source that gives fewer or more bytes than announced ends the stream", arguments: [3, 5])
    func lengthMismatch(length: Int) throws {
        var form = try MultipartFormData(boundary: "B")
        try form.append(source("four"), length: length, name: "f", fileName: nil, mimeType: "a/b")
        try form.append("next", name: "n")
        for size in [1, 5, 1000] {
            let stream = try form.makeStream()
            var body: [UInt8] = []
            let error = #expect(throws: SerializationError.self) {
                while true {
                    let piece = try stream.read(upTo: size)
                    if piece.isEmpty { break }
                    body += piece
                }
            }
            #expect(error?.kind == .lengthMismatch)
            let found = length == 3 ? "more bytes" : "4 bytes"
            #expect(error?.reason == "the body of part 0, counted from 0, has \(found) where \(length) were announced")
            // What came out is no more than was announced, and lacks the final boundary.
            #expect(body.text.hasSuffix("four".prefix(length)))
            #expect(!stream.hasBytesAvailable)
            #expect(throws: SerializationError.self) { try stream.read(upTo: 1) }
        }
        #expect(throws: SerializationError.self) { try form.encode() }
    }

    @Test("A file that has changed its size ends the stream")
    func changedFile() throws {
        let path = try folder.file("f", [1, 2, 3])
        var form = try MultipartFormData(boundary: "B")
        try form.append(fileAt: path, name: "f")
        for bytes in [[1, 2], [1, 2, 3, 4]] as [[UInt8]] {
            _ = try folder.file("f", bytes)
            let error = #expect(throws: SerializationError.self) { try form.encode() }
            #expect(error?.kind == .lengthMismatch && error?.path == path)
        }
        try folder.remove("f")
        let error = #expect(throws: SerializationError.self) { try form.encode() }
        #expect(error?.kind == .fileUnreachable && error?.path == path)
    }

    @Test("A source's own error is beneath the stream's")
    func failingSource() throws {
        struct Broken: Error {}
        var form = try MultipartFormData(boundary: "B")
        try form.append(.once { _ in throw Broken() }, length: 3, name: "f", fileName: nil, mimeType: "a/b")
        let error = #expect(throws: SerializationError.self) { try form.encode() }
        #expect(error?.kind == .bodyUnreadable)
        #expect(error?.underlying is Broken)
    }

    @Test("A source may give more than it was asked for at a time")
    func generousSource() throws {
        var form = try MultipartFormData(boundary: "B")
        let bytes = Array(repeating: UInt8(7), count: 1000)
        try form.append(
            .restartable {
                let queue = ByteQueue(bytes.text)
                return { _ in queue.take(300) }
            }, length: 1000, name: "f", fileName: nil, mimeType: "a/b")
        for size in [1, 299, 300, 301, 5000] {
            let stream = try form.makeStream()
            var body: [UInt8] = []
            while true {
                let piece = try stream.read(upTo: size)
                if piece.isEmpty { break }
                body += piece
            }
            #expect(body.count == form.contentLength)
            #expect(body.count { $0 == 7 } == 1000)
        }
    }

    @Test("A retry starts again; a stream that can be read once is an error then, not silence")
    func retries() throws {
        let form = try form()
        let stream = try form.makeStream()
        _ = try stream.read(upTo: 200)
        let again = try stream.copy()
        var body: [UInt8] = []
        while let packet = try again.nextPacket() { body += packet.bytes }
        #expect(body == Array(Self.text.utf8))

        var once = form
        let queue = ByteQueue("abc")
        try once.append(.once { queue.take($0) }, length: 3, name: "o", fileName: nil, mimeType: "a/b")
        // Not read yet: a stream that never came to the part has not used it up.
        _ = try once.makeStream().read(upTo: 1)
        #expect(try once.encode().count == once.contentLength)
        let error = #expect(throws: SerializationError.self) { try once.makeStream() }
        #expect(error?.kind == .streamConsumed)
    }

    @Test("A source that is read once may change variables of its own")
    func ownedVariables() throws {
        var form = try MultipartFormData(boundary: "B")
        var rest = ["ab", "", "c"][...]
        try form.append(
            .once { _ in
                while let piece = rest.popFirst() {
                    if !piece.isEmpty { return Array(piece.utf8) }
                }
                return []
            }, length: 3, name: "o", fileName: nil, mimeType: "a/b")
        #expect(String(decoding: try form.encode(), as: UTF8.self).contains("\r\n\r\nabc\r\n--B--"))
    }

    @Test("Two streams at once share no source that can be read once")
    func sharedSource() throws {
        var form = try MultipartFormData(boundary: "B")
        let queue = ByteQueue("abcdef")
        try form.append(.once { queue.take($0) }, length: 6, name: "o", fileName: nil, mimeType: "a/b")
        let (first, second) = (try form.makeStream(), try form.makeStream())
        _ = try first.read(upTo: form.contentLength)
        let error = #expect(throws: SerializationError.self) {
            while !(try second.read(upTo: 1000)).isEmpty {}
        }
        #expect(error?.kind == .streamConsumed)
    }

    @Test("A form is written into a file, which stands there whole or not at all")
    func writesToFile() throws {
        let form = try form()
        _ = try folder.file("body", Array("before".utf8))
        try form.write(toFile: folder.path("body"))
        #expect(try folder.contents("body") == Array(Self.text.utf8))

        var broken = form
        try broken.append(source("x"), length: 2, name: "f", fileName: nil, mimeType: "a/b")
        let names = folder.names
        #expect(throws: SerializationError.self) { try broken.write(toFile: folder.path("body")) }
        #expect(throws: SerializationError.self) { try broken.write(toFile: folder.path("other")) }
        #expect(folder.names == names)
        #expect(try folder.contents("body") == Array(Self.text.utf8))
        let error = #expect(throws: SerializationError.self) { try form.write(toFile: folder.path("no/where")) }
        #expect(error?.kind == .fileUnwritable)
        #expect(error?.path == folder.path("no/where"))
        #expect(
            error?.description == "the file can't be written [\(folder.path("no/where"))]: No such file or directory")
    }

    @Test("A body that can't be written into a file names it")
    func unwritableBody() throws {
        let request = try JSONRequestSerializer().request(method: .post, url: "/", parameters: ["a": 1])
        for path in [folder.path, folder.path("no/where"), "", "a\0b"] {
            let error = #expect(throws: SerializationError.self) { try request.writeBody(toFile: path) }
            #expect(error?.kind == .fileUnwritable && error?.path == path && error?.systemError != nil)
        }
    }

    @Test("A request's body is written into a file and its head keeps type and length")
    func requestToFile() throws {
        let serializer = HTTPRequestSerializer()
        let request = try serializer.multipartRequest(url: "http://h/", parameters: ["a": 1], boundary: "B")
        let head = try request.writeBody(toFile: folder.path("body"))
        #expect(head.headerFields[.contentType] == "multipart/form-data; boundary=B")
        #expect(head.headerFields[.contentLength] == String(try folder.contents("body").count))
        _ = try serializer.request(method: .post, url: "/", parameters: ["a": 1]).writeBody(toFile: folder.path("form"))
        #expect(try folder.contents("form") == Array("a=1".utf8))
    }

    @Test(
        "Names and filenames can't get out of their quotes",
        arguments: [
            ("a\"b", "a%22b"), ("x\r\nX-Evil: 1", "x%0D%0AX-Evil: 1"), ("x\nX: 1", "x%0D%0AX: 1"), ("日本", "日本"),
        ])
    func quoting(name: String, written: String) throws {
        var form = try MultipartFormData(boundary: "B")
        try form.append("v", name: name)
        #expect(
            try form.encode().text == "--B\r\nContent-Disposition: form-data; name=\"\(written)\"\r\n\r\nv\r\n--B--\r\n"
        )
    }

    @Test(
        "A filename that isn't ASCII is written as the dialect or `filenames` says", arguments: FilenameStyle.allCases)
    func filenames(style: FilenameStyle) throws {
        var serializer = HTTPRequestSerializer(dialect: .recast)
        serializer.encoding.filenames = style
        let request = try serializer.multipartRequest(url: "http://h/", boundary: "B") { form in
            #expect(form.filenames == style)
            try form.append([1], name: "f", fileName: "\u{fc}", mimeType: "a/b")
            form.filenames = .both
            try form.append([2], name: "g", fileName: "\u{fc}", mimeType: "a/b")
        }
        _ = try request.writeBody(toFile: folder.path("filenames"))
        let text = String(decoding: try folder.contents("filenames"), as: UTF8.self)
        let second = "; filename*=UTF-8''%C3%BC"
        #expect(text.contains("name=\"f\"; filename=\"\u{fc}\"\(style == .both ? second : "")\r\n"))
        #expect(text.contains("name=\"g\"; filename=\"\u{fc}\"\(second)\r\n"))
        #expect(MultipartFormData(dialect: .alamofire).filenames == .plain)
    }

    @Test(
        "Names, filenames and types with controls are refused",
        arguments: [
            ("a\0", "f", "a/b"), ("a", "f\0", "a/b"), ("a", "f", "a/b\r\nX: 1"), ("a", "f\u{7F}", "a/b"),
        ])
    func refusedHeads(name: String, fileName: String, mimeType: String) throws {
        var form = MultipartFormData()
        let error = #expect(throws: SerializationError.self) {
            try form.append([1], name: name, fileName: fileName, mimeType: mimeType)
        }
        #expect(error?.kind == .invalidPart)
        #expect(form.isEmpty)
    }

    @Test(
        "Names that are one to the receiver are refused, but where a library sends both", arguments: Dialect.allCases)
    func collapsedNames(dialect: Dialect) throws {
        let sendsBoth = dialect == .afnetworking || dialect == .alamofire
        let escapesQuotes = [.php, .qs, .rack].contains(dialect)
        for (first, second, isOne) in [
            ("a\"", "a%22", !escapesQuotes), ("a%22", "a\"", !escapesQuotes), ("a\n", "a%0d%0a", true),
            ("a\n", "a\r\n", true),
            ("a\"", "a\"", false), ("a", "a%22", false), ("a%22", "a%22", false), ("a%20", "a ", false),
        ] {
            let isFine = !isOne || sendsBoth
            var form = MultipartFormData(dialect: dialect)
            try form.append("1", name: first)
            try form.append("x", name: "between")
            let files = form
            if isFine {
                try form.append("2", name: second)
                #expect(form.count == 3)
            } else {
                let error = #expect(throws: SerializationError.self) { try form.append("2", name: second) }
                #expect(error?.kind == .invalidPart && error?.conversion?.code == "multipart_name_collapsed")
                #expect(form.count == 2)
            }
            form = files
            let result = Result { try form.append([1], name: second, fileName: "f", mimeType: "a/b") }
            #expect(((try? result.get()) != nil) == isFine)
            let parameters = Value.object(
                Value.Object([.init(key: first, value: 1), .init(key: second, value: 2)]))
            let error: SerializationError?
            do throws(SerializationError) {
                var options = FieldEncodingOptions(dialect: dialect)
                options.nesting = .flat
                form = MultipartFormData(dialect: dialect)
                try form.append(parameters: parameters, encoding: options)
                error = nil
            } catch let thrown {
                error = thrown
            }
            #expect(error?.conversion?.code == (isFine ? nil : "multipart_name_collapsed"))
        }
    }

    @Test("A boundary is legal, and in no part in memory")
    func boundaries() throws {
        for text in ["", "a\r\nb", "a\"b", "é", "a ", " x", " ", String(repeating: "x", count: 71)] {
            let error = #expect(throws: SerializationError.self) { try MultipartFormData(boundary: text) }
            #expect(error?.kind == .invalidBoundary)
        }
        #expect(try MultipartFormData(boundary: "a b").contentType == #"multipart/form-data; boundary="a b""#)
        #expect(try MultipartFormData(boundary: String(repeating: "x", count: 70)).boundary.count == 70)
        for (text, isHeld) in [("--B", true), ("x\r\n--Bc", true), ("x--B", false), ("\r\n-B", false)] {
            var form = try MultipartFormData(boundary: "B")
            try form.append(text, name: "n")
            #expect((try? form.makeStream()) == nil || !isHeld)
            #expect((try? form.makeStream()) != nil || isHeld)
        }
    }

    @Test("A boundary is random, in the form of the dialect")
    func randomBoundaries() {
        for (dialect, pattern) in [
            (Dialect.afnetworking, #"Boundary\+[0-9A-F]{16}"#), (.alamofire, #"alamofire\.boundary\.[0-9a-f]{16}"#),
            (.recast, #"[A-Za-z0-9_-]{22}"#),
        ] {
            let forms = (0..<50).map { _ in MultipartFormData(dialect: dialect).boundary }
            #expect(Set(forms).count == 50)
            for boundary in forms { #expect(boundary.wholeMatch(of: try! Regex(pattern)) != nil, "\(boundary)") }
        }
    }

    @Test("The files of a form are regular ones that can be read")
    func files() throws {
        var form = MultipartFormData()
        let loop = folder.path("loop")
        try FileManager.default.createSymbolicLink(atPath: loop, withDestinationPath: loop)
        let cases: [(String, SerializationError.Kind, String)] = [
            (folder.path, .notRegularFile, ""), (folder.path("none"), .fileUnreachable, ": No such file or directory"),
            ("/dev/null", .notRegularFile, ""), ("a\0b", .fileUnreachable, ": No such file or directory"),
            (loop, .fileUnreachable, ": Too many levels of symbolic links"),
        ]
        for (path, kind, cause) in cases {
            let error = #expect(throws: SerializationError.self) { try form.append(fileAt: path, name: "f") }
            #expect(error?.kind == kind && error?.path == path)
            #expect(error?.description.hasSuffix("[\(path)]\(cause)") == true, "\(error as Any)")
        }
        for url in ["http://x/y.png", "file:relative", "file://host/p", "/tmp/x", "file:///a%zz", "file:///a%00b", ""] {
            let error = #expect(throws: SerializationError.self) { try form.append(fileURL: url, name: "f") }
            #expect(error?.kind == .notFileURL)
        }
        let path = try folder.file("a b.cer", [1])
        try form.append(fileURL: "file://" + path.replacing(" ", with: "%20"), name: "f")
        try form.append(fileAt: path, name: "g", fileName: "other", mimeType: "x/y")
        let text = try form.encode().text
        #expect(text.contains("filename=\"a b.cer\"\r\nContent-Type: application/x-x509-ca-cert"))
        #expect(text.contains("filename=\"other\"\r\nContent-Type: x/y"))
    }

    @Test(
        "Media types go by the extension",
        arguments: [
            ("a.JPG", "image/jpeg"), ("a.tar.gz", "application/gzip"), ("a", "application/octet-stream"),
            (".png", "application/octet-stream"), ("a.", "application/octet-stream"),
            ("é.cer", "application/x-x509-ca-cert"),
        ])
    func mediaTypes(name: String, type: String) {
        #expect(MediaTypeTable.mediaType(forFileName: name) == type)
    }

    @Test("Parameters are fields in front of the parts, bytes among them as they are")
    func parameters() throws {
        let parameters: Value = ["b": .data([0xFF, 0]), "n": nil, "a": ["x": [true, 1]]]
        let request = try HTTPRequestSerializer().multipartRequest(url: "/", parameters: parameters, boundary: "B") {
            try $0.append("last", name: "z")
        }
        let head = "--B\r\nContent-Disposition: form-data; name="
        var expected = Array("\(head)\"a[x][]\"\r\n\r\n1\r\n\(head)\"a[x][]\"\r\n\r\n1\r\n\(head)\"b\"\r\n\r\n".utf8)
        expected += [0xFF, 0] + Array("\r\n\(head)\"n\"\r\n\r\n\r\n\(head)\"z\"\r\n\r\nlast\r\n--B--\r\n".utf8)
        #expect(try request.multipart?.encode() == expected)
        #expect(request.contentLength == expected.count)
    }

    @Test("Parameters that fields can't carry are refused")
    func unwritableParameters() {
        let error = #expect(throws: SerializationError.self) {
            try HTTPRequestSerializer(dialect: .recast).multipartRequest(url: "/", parameters: ["a": ["b": []]])
        }
        #expect(error?.kind == .invalidParameters)
    }

    @Test("The type and length of a multipart request are the form's")
    func fields() throws {
        let request = try HTTPRequestSerializer().multipartRequest(
            url: "/", parameters: ["a": 1], headerFields: [.contentType: "x/y", .contentLength: "1", .accept: "z"])
        #expect(request.head.headerFields[.contentType] == request.multipart?.contentType)
        #expect(request.head.headerFields[.contentLength] == request.multipart.map { String($0.contentLength) })
        #expect(request.head.headerFields[.accept] == "z")
    }

    @Test("An empty form is sent as such but under AFNetworking's dialect")
    func emptyRequests() throws {
        let request = try HTTPRequestSerializer(dialect: .recast).multipartRequest(url: "/")
        #expect(request.multipart?.isEmpty == true)
        #expect(request.head.headerFields[.contentLength] == String(request.contentLength!))
    }
}

/// A clock that doesn't wait and knows how long it was asked to.
private final class CountingClock: Clock {
    struct Instant: InstantProtocol {
        var offset = Duration.zero
        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private let state = Mutex(Duration.zero)

    var slept: Duration { state.withLock { $0 } }
    var now: Instant { Instant(offset: slept) }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        state.withLock { $0 = max($0, deadline.offset) }
    }
}
