import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

@Suite("Multipart.Encoder")
struct MultipartEncoderTests {
    typealias Part = FieldRecorder.Part

    static let writtenRows: [(part: Part, text: ByteString)] = [
        (Part(name: "a", content: "1"), "Content-Disposition: form-data; name=\"a\"\r\n\r\n1"),
        (Part(name: ""), "Content-Disposition: form-data; name=\"\"\r\n\r\n"),
        (
            Part(name: "a", mediaType: "application/json"),
            "Content-Disposition: form-data; name=\"a\"\r\nContent-Type: application/json\r\n\r\n"
        ),
        (
            Part(name: "f", content: "\r\n", isFile: true, filename: "x.png", mediaType: "image/png"),
            "Content-Disposition: form-data; name=\"f\"; filename=\"x.png\"\r\nContent-Type: image/png\r\n\r\n\r\n"
        ),
        (
            Part(name: "f", isFile: true, filename: ""),
            "Content-Disposition: form-data; name=\"f\"; filename=\"\"\r\n"
                + "Content-Type: application/octet-stream\r\n\r\n"
        ),
        (
            Part(name: "f", isFile: true),
            "Content-Disposition: form-data; name=\"f\"; filename=\"blob\"\r\n"
                + "Content-Type: application/octet-stream\r\n\r\n"
        ),
        (
            Part(name: "f", isFile: true, filename: "d/ü'%.txt", mediaType: "a/b"),
            "Content-Disposition: form-data; name=\"f\"; filename=\"d/ü'%.txt\"; "
                + "filename*=UTF-8''d%2F%C3%BC%27%25.txt\r\nContent-Type: a/b\r\n\r\n"
        ),
        (
            Part(name: "f", isFile: true, filename: "ü\r\n\".txt", mediaType: "a/b"),
            "Content-Disposition: form-data; name=\"f\"; filename=\"ü%0D%0A%22.txt\"\r\nContent-Type: a/b\r\n\r\n"
        ),
        (
            Part(name: "f", isFile: true, filename: "ü\t", mediaType: "a/b"),
            "Content-Disposition: form-data; name=\"f\"; filename=\"ü\t\"; filename*=UTF-8''%C3%BC%09\r\nContent-Type: a/b\r\n\r\n"
        ),
        (Part(name: "a\tb"), "Content-Disposition: form-data; name=\"a\tb\"\r\n\r\n"),
        (
            Part(
                name: "a",
                otherFields: [
                    .init("X-A", "1"), .init("Content-Transfer-Encoding", "Binary"), .init("content-length", "9"),
                    .init("Content-Type", "text/html"), .init("Content-Disposition", "x"), .init("x-b", ""),
                ]),
            "Content-Disposition: form-data; name=\"a\"\r\nX-A: 1\r\nx-b: \r\n\r\n"
        ),
    ]

    @Test(
        "A part is its disposition, its type, its other headers and its content, however that is cut",
        arguments: writtenRows)
    func written(part: Part, text: ByteString) throws {
        for size in [1, 3, Int.max] {
            let bytes = try Multipart.encode([part], pieceSize: size)
            #expect(ByteString(bytes) == "--b\r\n" + text + "\r\n--b--\r\n")
        }
    }

    @Test(
        "Whose clients write no filename* gets none, unless filenames says otherwise",
        arguments: Dialect.allCases, [nil] + FilenameStyle.allCases)
    func extended(dialect: Dialect, style: FilenameStyle?) throws {
        var options = FieldEncodingOptions(dialect: dialect)
        if let style { options.filenames = style }
        var encoder = Multipart.Encoder(
            boundary: try Multipart.boundary("multipart/form-data; boundary=b"), options: options)
        var head = PartHead(name: ByteString("f").bytes.span)
        head.setFilename(ByteString("ü").bytes.span)
        try encoder.beginPart(head)
        let text = ByteString(encoder.output.span.copied()).bytes
        let isPlain = style.map { $0 == .plain } ?? [.afnetworking, .alamofire, .whatwg].contains(dialect)
        #expect(String(decoding: text, as: UTF8.self).contains("filename=\"ü\""))
        #expect(String(decoding: text, as: UTF8.self).contains("; filename*=UTF-8''%C3%BC\r\n") == !isPlain)
    }

    @Test("A body without parts is the final boundary")
    func empty() throws {
        let bytes = try Multipart.encode([])
        #expect(ByteString(bytes) == "--b--\r\n")
        #expect(Multipart.decode(bytes) == FieldRecording([]))
    }

    static let roundTripsRows: [[Part]] = [
        [Part(name: "a", content: "1"), Part(name: "a", content: "2"), Part(name: "b")],
        [
            Part(name: "", content: "\r\n"), Part(name: "a[b][]", content: "\r\n--\r\n-"),
            Part(name: "c", content: " --b\n--b--"),
        ],
        [Part(name: "a\"b\\c%41 é\r\nd; name=\"x\"", content: "é€𐐷")],
        [Part(name: "\r\n\r\n\r\n"), Part(name: "\"; filename=\"x"), Part(name: "a\\\\"), Part(name: "\\\"")],
        [Part(name: "f", content: [0, 0xFF, 0x0D], isFile: true, filename: "a\"b;c=d é.txt", mediaType: "image/png")],
        [
            Part(
                name: "f", isFile: true, filename: "\r\nX: y\r\n\r\n", mediaType: "a/b; c=\"d\"",
                otherFields: [.init("X-A", "1 \t é"), .init("X-A", "")])
        ],
        [
            Part(name: "f", isFile: true, filename: "é\r\nX: y\n", mediaType: "a/b"),
            Part(name: "\r\n", isFile: true, filename: "é\r"),
        ],
        [Part(name: "j", content: "{\"a\":1}", mediaType: "application/json; charset=utf-8")],
    ]

    @Test("What is written reads back the same", arguments: roundTripsRows)
    func roundTrip(parts: [Part]) throws {
        let expected = parts.map { part in
            var part = part
            if part.isFile, part.mediaType == nil { part.mediaType = "application/octet-stream" }
            return part
        }
        let random = Multipart.Boundary.random()
        for boundary in [Multipart.b, random] {
            let body = try Multipart.encode(parts, boundary: boundary)
            #expect(Multipart.decode(body, boundary: boundary) == FieldRecording(expected))
            // And a second passage gives the same bytes.
            #expect(try Multipart.encode(expected, boundary: boundary) == body)
        }
    }

    static let hostileRows: [ByteString] = [
        "a\"; filename=\"evil.sh", "a\r\nContent-Type: text/html", "a\"\r\n\r\nbody\r\n--b--\r\n", "a\r\n\r\n--b\r\n",
        "\n--b--", "a%22; filename=x", "\"", "\"\"\"", "a;b", "=?utf-8?B?YQ==?=",
    ]

    @Test("A name or filename can't begin a header, a parameter or a part", arguments: hostileRows)
    func injection(text: ByteString) throws {
        let parts = [
            Part(name: text, content: "1"), Part(name: "f", content: "2", isFile: true, filename: text),
            Part(name: "z", content: "3"),
        ]
        let body = try Multipart.encode(parts)
        let lines = String(decoding: body, as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: false)
        #expect(lines.filter { $0.hasPrefix("--b") }.count == 4)
        #expect(lines.filter { $0.lowercased().hasPrefix("content-type") }.count == 1)
        #expect(lines.filter { $0.contains("; filename=\"") }.count == 1)
        let recording = Multipart.decode(body)
        #expect(recording.failure == nil)
        #expect(recording.parts.map(\.content) == ["1", "2", "3"])
        #expect(recording.parts.map(\.isFile) == [false, true, false])
    }

    static let alike: [(String, String)] = [
        ("a\"b", "a%22b"), ("\r", "\n"), ("x\r\n", "x\n"), ("x\ny", "x%0D%0Ay"), ("x\ny", "x%0d%0ay"), ("%0a", "%0A"),
        ("\"%22", "%22\""),
    ]

    @Test(
        "Two names that are written alike can't stand in one body, in whatever order and however far apart",
        arguments: alike)
    func collapsed(first: String, second: String) throws {
        for (first, second) in [(first, second), (second, first)] {
            let between = (0..<50).map { Part(name: ByteString("%22\($0)"), content: "") }
            let parts =
                [Part(name: ByteString(first), content: "1"), Part(name: ByteString(first), content: "2")] + between
            #expect(throws: Never.self) { try Multipart.encode(parts) }
            do {
                _ = try Multipart.encode(parts + [Part(name: ByteString(second), content: "3")])
                Issue.record("\(first) and \(second) are both written")
            } catch {
                #expect(error.code == "multipart_name_collapsed" && error.kind == .unrepresentable)
            }
            // From JSON, where names without escapes are written in blocks.
            let members = [first, "b", second].map { name in
                "\""
                    + name.replacing("\"", with: "\\\"").replacing("\r\n", with: "\\r\\n").replacing("\r", with: "\\r")
                    .replacing("\n", with: "\\n")
                    + "\":\"v\""
            }
            let document = "{" + members.joined(separator: ",") + "}"
            #expect(convert(plan(.json, .multipart), document).hasPrefix("!multipart_name_collapsed"))
        }
    }

    @Test("What only looks like another name's escapes is written")
    func apart() throws {
        let names = [
            "a\"", "a%2", "a%222", "%41", "A", "%0A", "\n", "%", "%%22%", "a%0B",
            "a\u{b}".replacing("\u{b}", with: "%0b"),
        ]
        #expect(throws: Never.self) { try Multipart.encode(names.map { Part(name: ByteString($0), content: "") }) }
    }

    static let refusedRows: [(part: Part, code: String)] = [
        (Part(name: "a\u{0}b"), "multipart_name_unwritable"),
        (Part(name: "a\u{7F}"), "multipart_name_unwritable"),
        (Part(name: "a", isFile: true, filename: "x\u{0}"), "multipart_name_unwritable"),
        (Part(name: "a", mediaType: "text/plain\r\nX: y"), "multipart_media_type_unwritable"),
        (Part(name: "a", mediaType: "text/plain\n"), "multipart_media_type_unwritable"),
        (Part(name: "a", isFile: true, filename: "x", mediaType: "a/b\u{0}"), "multipart_media_type_unwritable"),
        (Part(name: "a", otherFields: [.init("X-A", "1\r\nX-B: 2")]), "multipart_header_unwritable"),
        (Part(name: "a", otherFields: [.init("X-A", "1\u{0}")]), "multipart_header_unwritable"),
        (Part(name: "a", otherFields: [.init("X-A: b\r\nX", "1")]), "multipart_header_unwritable"),
        (Part(name: "a", otherFields: [.init("", "1")]), "multipart_header_unwritable"),
        (Part(name: "a", otherFields: [.init("Content-Transfer-Encoding", "base64")]), "multipart_header_unwritable"),
    ]

    @Test(
        "What headers can't carry is refused with the part's name, and nothing of it is written", arguments: refusedRows
    )
    func refused(part: Part, code: String) throws {
        var encoder = Multipart.Encoder(boundary: Multipart.b, options: .init())
        var head = PartHead(name: part.name.bytes.span)
        if let filename = part.filename { head.setFilename(filename.bytes.span) }
        if let mediaType = part.mediaType { head.setMediaType(mediaType.bytes.span) }
        for field in part.otherFields { head.addField(name: field.name.bytes.span, value: field.value.bytes.span) }
        do throws(ConversionError) {
            try encoder.beginPart(head)
            Issue.record("accepted")
        } catch {
            #expect(error.code == code)
            #expect(error.kind == .unrepresentable)
            #expect(error.field == head.name.lossyString())
        }
        let count = encoder.output.count
        #expect(count == 0)
    }

    // MARK: Files

    @Test("files: base64 writes a file as a text part, whatever its head says")
    func base64() throws {
        var options = FieldEncodingOptions()
        options.files = .base64
        let parts = [
            Part(
                name: "f", content: "foob", isFile: true, filename: "x\u{0}", mediaType: "image/png",
                otherFields: [.init("X-A", "1")]),
            Part(name: "a", content: "1"), Part(name: "g", isFile: true),
        ]
        for size in [1, 2, Int.max] {
            let body = try Multipart.encode(parts, options: options, pieceSize: size)
            #expect(
                Multipart.decode(body)
                    == FieldRecording([
                        Part(name: "f", content: "Zm9vYg=="), Part(name: "a", content: "1"), Part(name: "g"),
                    ]))
        }
    }

    @Test("files: reject refuses a file by name; files: drop leaves it out; text passes under both")
    func rejectAndDrop() throws {
        let parts = [Part(name: "a", content: "1"), Part(name: "f", content: "x", isFile: true), Part(name: "b")]
        var options = FieldEncodingOptions()
        options.files = .drop
        #expect(Multipart.decode(try Multipart.encode(parts, options: options)).parts == [parts[0], parts[2]])
        options.files = .reject
        do throws(ConversionError) {
            _ = try Multipart.encode(parts, options: options)
            Issue.record("accepted")
        } catch {
            #expect(error.code == "multipart_file")
            #expect(error.kind == .unrepresentable)
            #expect(error.field == "f")
            #expect(error.setting == "files")
        }
    }

    // MARK: Output

    @Test("Line ends of text become CRLF on request only, and a file's never")
    func lineEnds() throws {
        let text: ByteString = "\na\rb\r\nc\n\rd\r\r\n\n\r"
        let joined: ByteString = "\r\na\r\nb\r\nc\r\n\r\nd\r\n\r\n\r\n\r\n"
        for size in [1, 2, 3, Int.max] {
            let parts = [Part(name: "a", content: text), Part(name: "f", content: text, isFile: true, filename: "f")]
            let copied = Multipart.decode(.whole(try Multipart.encode(parts, pieceSize: size)))
            #expect(copied.parts.map(\.content) == [text, text])
            let changed = try Multipart.encode(parts + parts, normalizesLineEnds: true, pieceSize: size)
            #expect(Multipart.decode(.whole(changed)).parts.map(\.content) == [joined, text, joined, text])
        }
    }

    @Test("The encoder is full when its output is, and as new after reset")
    func fullAndReset() throws {
        var encoder = Multipart.Encoder(boundary: Multipart.b, options: .init())
        encoder.output.highWatermark = 100
        var full: [Bool] = [encoder.isFull]
        try encoder.beginPart(PartHead(name: [0x61].span))
        full.append(encoder.isFull)
        try encoder.content([UInt8](repeating: 0x78, count: 100).span, isLast: false)
        full.append(encoder.isFull)
        #expect(full == [false, false, true])
        let other = try Multipart.boundary("multipart/form-data; boundary=other")
        encoder.reset(boundary: other)
        try encoder.beginPart(PartHead(name: [0x61].span))
        try encoder.content([0x31].span, isLast: true)
        try encoder.finish()
        let body = encoder.output.span.copied()
        #expect(encoder.boundary == other)
        #expect(Multipart.decode(body, boundary: other) == FieldRecording([Part(name: "a", content: "1")]))
    }
}
