import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

@Suite("Multipart.Decoder")
struct MultipartDecoderTests {
    typealias Part = FieldRecorder.Part

    static let disposition = "Content-Disposition: form-data; name=\"a\""

    // MARK: Delimiters

    @Test("Content ends at the delimiter only, for every content of up to six bytes that could be mistaken for one")
    func everyContent() {
        let alphabet: [UInt8] = [0x0D, 0x0A, 0x2D, 0x62, 0x78]
        let start = Array("--b\r\n\(Self.disposition); filename=f\r\n\r\n".utf8)
        let end = Array("\r\n--b--".utf8)
        var decoder = Multipart.Decoder(boundary: Multipart.b, options: .init(), limits: .init())
        var contents: [[UInt8]] = [[]]
        var refused = 0
        let longest = triesTenth ? 5 : 6
        while let content = contents.popLast() {
            let body = start + content + end
            // The content and the line end in front of it must not hold the delimiter before its own.
            let text = [0x0D, 0x0A] + content + end
            let hasDelimiter = (0..<content.count + 2).contains {
                text[$0...].starts(with: [0x0D, 0x0A, 0x2D, 0x2D, 0x62])
            }
            for cut in [Cut.whole(body), .every(1, of: body), .every(3, of: body)] {
                decoder.reset(boundary: Multipart.b)
                let recording = FieldRecorder.record(cut, with: &decoder)
                if hasDelimiter {
                    // `--b--` at the end of such a content ends the body, and what follows is the epilogue.
                    guard recording.failure == nil else { continue }
                    #expect(recording.parts.count == 1 && recording.parts[0].content.bytes.count < content.count)
                } else {
                    #expect(recording.failure == nil)
                    #expect(recording.parts.map(\.content.bytes) == [content])
                }
            }
            refused += hasDelimiter ? 1 : 0
            if content.count < longest { contents += alphabet.map { content + [$0] } }
        }
        #expect(refused > tries(50))
    }

    @Test("A preamble is discarded unless it holds the boundary, for every preamble of up to six bytes")
    func everyPreamble() {
        let alphabet: [UInt8] = [0x0D, 0x0A, 0x2D, 0x62]
        let rest = Array(("\r\n" + Multipart.body(headers: Self.disposition)).utf8)
        var decoder = Multipart.Decoder(boundary: Multipart.b, options: .init(), limits: .init())
        var preambles: [[UInt8]] = [[]]
        var refused = 0
        while let preamble = preambles.popLast() {
            let holdsBoundary = preamble.indices.contains { preamble[$0...].starts(with: [0x2D, 0x2D, 0x62]) }
            let body = preamble + rest
            for cut in [Cut.whole(body), .every(1, of: body), .every(3, of: body)] {
                decoder.reset(boundary: Multipart.b)
                let recording = FieldRecorder.record(cut, with: &decoder)
                #expect((recording.failure != nil) == holdsBoundary)
                #expect(recording.parts == (holdsBoundary ? [] : [Part(name: "a", content: "v")]))
            }
            refused += holdsBoundary ? 1 : 0
            if preamble.count < 6 { preambles += alphabet.map { preamble + [$0] } }
        }
        #expect(refused > 50)
    }

    @Test("A boundary that repeats its own beginning is found in the preamble wherever it begins")
    func overlappingBoundary() throws {
        let boundary = try Multipart.boundary("multipart/form-data; boundary=--b--b")
        let head = "\r\n\(Self.disposition)\r\n\r\nv\r\n----b--b--"
        for (body, code) in [
            ("----b--b", nil), ("--\r\n----b--b", nil), ("----b--\r\n----b--b", nil),
            ("------b--b", "multipart_boundary_in_line"), ("----b----b--b", "multipart_boundary_in_line"),
        ] {
            let recording = Multipart.decode(Array((body + head).utf8), boundary: boundary)
            #expect(recording.failure?.code == code, "\(body)")
            #expect(recording.parts.count == (code == nil ? 1 : 0), "\(body)")
        }
    }

    static let framingRows: [(body: String, code: String?, offset: Int?, parts: Int)] = [
        ("", "multipart_boundary_not_found", 0, 0),
        ("\r\n", "multipart_boundary_not_found", 2, 0),
        ("--b--", nil, nil, 0),
        ("\r\n\r\n--b--", nil, nil, 0),
        ("--b--\r\nepilogue -- \r\n--\r\n", nil, nil, 0),
        ("--b--\nx", nil, nil, 0), ("--b-- \t\r\n", nil, nil, 0), ("--b--\r", nil, nil, 0),
        ("--b--x", "multipart_delimiter", 5, 0), ("--b---", "multipart_delimiter", 5, 0),
        ("--b--\0", "multipart_delimiter", 5, 0), ("--b-x", "multipart_delimiter", 4, 0),
        ("--b\r\n\(disposition)\r\n\r\nv\r\n--b--foo\r\nw\r\n--b--", "multipart_delimiter", 57, 1),
        ("x\r\n--b--", "multipart_end_after_preamble", 7, 0),
        ("\n--b--", "multipart_boundary_in_line", 1, 0),
        ("x--b\r\n\(disposition)\r\n\r\nv\r\n--b--", "multipart_boundary_in_line", 1, 0),
        ("--b--\r\n--b\r\n\(disposition)\r\n\r\nv\r\n--b--", "multipart_part_after_end", 7, 0),
        ("--b--\n--b", "multipart_part_after_end", 6, 0),
        ("--b\r\n\(disposition)\r\n\r\nv\r\n--b--\r\n--b\r\n\(disposition)\r\n\r\nw\r\n--b--", nil, nil, 1),
        ("--b                \r\n\(disposition)\r\n\r\nv\r\n--b \t \r\n\(disposition)\r\n\r\nv\r\n--b--", nil, nil, 2),
        ("--b                 \r\n", "multipart_delimiter", 19, 0),
        ("--b --", "multipart_delimiter", 4, 0),
        ("--b\n\(disposition)\n\nv\n--b--", "multipart_delimiter", 3, 0),
        ("--b\r\n\(disposition)\r\n\r\n--b\r\n", "multipart_delimiter_glued", 49, 0),
        ("--b\r\n\(disposition)\r\n\r\n--bX", "multipart_delimiter_glued", 49, 0),
        ("--b\r\n\(disposition)\r\n\r\n\r\n--b--", nil, nil, 1),
        ("--b\r\n\(disposition)\r\n\r\nv\n--b--", "multipart_truncated", 56, 0),
        ("--b\r\n\(disposition)\r\n\r\nv\r\n--b", "multipart_truncated", 55, 1),
        ("--b\r\n\(disposition)\r\n\r\nv\r\n--b-", "multipart_truncated", 56, 1),
        ("--b\r\n\(disposition)\r\n\r\nv\r\n--bx", "multipart_delimiter", 55, 1),
        ("--b\r\n\(disposition)\r\n--b: x\r\n\r\nv\r\n--b--", "multipart_delimiter_in_headers", 47, 0),
    ]

    @Test("Framing is strict, and the error says where", arguments: framingRows)
    func framing(body: String, code: String?, offset: Int?, parts: Int) {
        let recording = Multipart.decode(body)
        #expect(recording.failure?.code == code)
        #expect(recording.failure?.offset == offset)
        #expect(recording.parts.count == parts)
        if code != nil { #expect(recording.failure?.kind == .malformed) }
    }

    // MARK: Headers

    static let refusedHeadersRows: [(headers: String, code: String, kind: ConversionError.Kind)] = [
        (" \(disposition)", "multipart_header_fold", .malformed),
        ("X-A : x\r\n\(disposition)", "multipart_header_name", .malformed),
        ("X A: x\r\n\(disposition)", "multipart_header_name", .malformed),
        ("X-A\r\n\(disposition)", "multipart_header_name", .malformed),
        ("\(disposition)\r\nX-A\r\n : x", "multipart_header_name", .malformed),
        ("\(disposition)\r\nX-A: a\u{7F}b", "multipart_header_control", .malformed),
        ("\(disposition)\r\nX-A: a\u{1B}b", "multipart_header_control", .malformed),
        ("\(disposition)\r\nX-A: a\rb", "multipart_header_line_end", .malformed),
        ("\(disposition)\r\n\rX: y", "multipart_header_line_end", .malformed),
        ("Content-Disposition: inline; name=\"a\"", "multipart_disposition_type", .malformed),
        ("Content-Disposition: attachment", "multipart_name_missing", .malformed),
        ("Content-Disposition: form-data; name*=UTF-8''a; name*=UTF-8''a", "multipart_parameter_repeated", .malformed),
        ("Content-Disposition: form-data; name*=koi8-r''a", "multipart_parameter_extended", .malformed),
        ("Content-Disposition: form-data; name*0=a", "multipart_parameter_extended", .malformed),
        ("Content-Disposition: form-datax; name=\"a\"", "multipart_disposition_type", .malformed),
        ("Content-Disposition:", "multipart_disposition_type", .malformed),
        ("Content-Disposition: form-data name=a", "multipart_parameters", .malformed),
        ("Content-Disposition: form-data", "multipart_name_missing", .malformed),
        ("Content-Disposition: form-data; name", "multipart_parameters", .malformed),
        ("Content-Disposition: form-data; name=", "multipart_parameters", .malformed),
        ("Content-Disposition: form-data; =a", "multipart_parameters", .malformed),
        ("Content-Disposition: form-data; name=é", "multipart_parameters", .malformed),
        ("Content-Disposition: form-data; name=\"a\\\"", "multipart_parameters", .malformed),
        ("Content-Disposition: form-data; name=\"a\"b", "multipart_parameters", .malformed),
        ("\(disposition); filename=x y.txt", "multipart_parameters", .malformed),
        ("\(disposition); filename=x; filename=y", "multipart_parameter_repeated", .malformed),
        ("\(disposition); NAME=x", "multipart_parameter_repeated", .malformed),
        ("\(disposition); filename*=UTF-8''x; filename*=UTF-8''x", "multipart_parameter_repeated", .malformed),
        ("\(disposition); filename*=\"UTF-8''x\"", "multipart_parameter_extended", .malformed),
        ("\(disposition); filename*=UTF-8'x", "multipart_parameter_extended", .malformed),
        ("\(disposition); filename*=koi8-r''x", "multipart_parameter_extended", .malformed),
        ("\(disposition); filename*=UTF-8''%FF", "multipart_parameter_extended", .malformed),
        ("\(disposition); filename*=UTF-8''a%2", "multipart_parameter_extended", .malformed),
        ("\(disposition); filename*=UTF-8''a*b", "multipart_parameter_extended", .malformed),
        ("\(disposition); filename*=UTF-8'e+n'a", "multipart_parameter_extended", .malformed),
        ("\(disposition); filename*=UTF-8''a%00b", "multipart_name_control", .malformed),
        ("\(disposition); filename*0*=UTF-8''a", "multipart_parameter_extended", .malformed),
        (
            "\(disposition)\r\nContent-Type: text/plain\r\ncontent-type: text/plain", "multipart_header_repeated",
            .malformed
        ),
        ("\(disposition)\r\nContent-Type: text", "multipart_part_content_type", .malformed),
        ("\(disposition)\r\nContent-Type: text/plain; charset", "multipart_part_content_type", .malformed),
        ("\(disposition)\r\nContent-Type: text/plain; charset=\"klingon\"", "multipart_charset", .unsupported),
        ("\(disposition)\r\nContent-Transfer-Encoding: quoted-printable", "multipart_transfer_encoding", .malformed),
        ("\(disposition)\r\nContent-Transfer-Encoding:", "multipart_transfer_encoding", .malformed),
        (
            "\(disposition); filename=f\r\nContent-Transfer-Encoding: base64", "multipart_transfer_encoding", .malformed
        ),
    ]

    @Test("A part whose headers can be read in two ways is refused", arguments: refusedHeadersRows)
    func refusedHeaders(headers: String, code: String, kind: ConversionError.Kind) {
        let recording = Multipart.decode(Multipart.body(headers: headers))
        #expect(recording.failure?.code == code)
        #expect(recording.failure?.kind == kind)
        #expect(recording.failure?.offset != nil)
        #expect(recording.parts.isEmpty)
    }

    static let headsRows: [(headers: String, part: Part)] = [
        ("content-disposition:FORM-DATA;name=a", Part(name: "a")),
        ("Content-Disposition: form-data ; ; name = a ;;", Part(name: "a")),
        ("Content-Disposition: form-data;\r\n \t name=\"a\r\n b\"", Part(name: "a b")),
        ("Content-Disposition: form-data; \r\n\tname=a", Part(name: "a")),
        ("Content-Disposition: form-data; name=\"a%22%0D%0A%0d%41%\"", Part(name: "a\"\r\n%0d%41%")),
        ("Content-Disposition: form-data; name=a%22b", Part(name: "a%22b")),
        ("Content-Disposition: form-data; name=\"a\\\"b\\\\c\\d%22\"", Part(name: "a\"b\\c\\d%22")),
        ("Content-Disposition: form-data; name=\"a\\\\\"", Part(name: "a\\\\")),
        ("Content-Disposition: form-data; name=\"\"; filename=\"\"", Part(name: "", isFile: true, filename: "")),
        ("\(disposition); filename=\"a/b\\c/\"", Part(name: "a", isFile: true, filename: "a/b\\c/")),
        ("\(disposition); filename=\"é/ü\"", Part(name: "a", isFile: true, filename: "é/ü")),
        ("\(disposition); filename=\"a\\\"\tb\"", Part(name: "a", isFile: true, filename: "a\"\tb")),
        ("Content-Disposition: form-data; name=\"a\tb\"", Part(name: "a\tb")),
        ("Content-Disposition: form-data; name*=utf-8''%C3%A4", Part(name: "ä")),
        ("Content-Disposition: form-data; name*=utf-8''%C3%A4; name=\"x\"", Part(name: "ä")),
        ("Content-Disposition: attachment; name=a; filename=b", Part(name: "a", isFile: true, filename: "b")),
        (
            "\(disposition); filename=\"=?utf-8?B?w6Q=?=\"; filename*=utf-8''%C3%A4",
            Part(name: "a", isFile: true, filename: "ä")
        ),
        ("\(disposition); filename*=UTF-8''%C3%A4; filename=\"x\"", Part(name: "a", isFile: true, filename: "ä")),
        ("\(disposition); filename*=iso-8859-1'de'%E9t%e9", Part(name: "a", isFile: true, filename: "été")),
        ("\(disposition); filename*=utf-8''..%2F%E2%82%AC", Part(name: "a", isFile: true, filename: "../€")),
        ("\(disposition); filename*=utf-8''", Part(name: "a", isFile: true, filename: "")),
        (
            "X-B: 1\r\n\(disposition)\r\nContent-Type:  application/json \r\nContent-Length: 7\r\nX-A:\r\nX-B: 2",
            Part(
                name: "a", mediaType: "application/json",
                otherFields: [.init("X-B", "1"), .init("X-A", ""), .init("X-B", "2")])
        ),
        (
            "\(disposition)\r\nContent-Type: text/plain; x=\"a;b\"; Charset=\"UTF-8\"",
            Part(name: "a", mediaType: "text/plain; x=\"a;b\"; Charset=\"UTF-8\"")
        ),
        (
            "\(disposition)\r\nContent-Type: text/plain;charset=us-ascii",
            Part(name: "a", mediaType: "text/plain;charset=us-ascii")
        ),
        ("\(disposition)\r\nContent-Type:", Part(name: "a")),
        (
            "\(disposition); filename=f\r\nContent-Type: text/plain; charset=koi8-r; x",
            Part(name: "a", isFile: true, filename: "f", mediaType: "text/plain; charset=koi8-r; x")
        ),
        (
            "\(disposition)\r\nContent-Transfer-Encoding: 8BIT",
            Part(name: "a", otherFields: [.init("Content-Transfer-Encoding", "8BIT")])
        ),
    ]

    @Test("Names, filenames and headers read as they are meant", arguments: headsRows)
    func heads(headers: String, part: Part) {
        var expected = part
        expected.content = "v"
        let recording = Multipart.decode(Multipart.body(headers: headers))
        #expect(recording == FieldRecording([expected]))
    }

    // MARK: Text

    static let textRows: [(content: [UInt8], policy: InvalidUTF8Policy, result: ByteString?, fault: Int)] = [
        (Array("é€𐐷".utf8), .reject, "é€𐐷", 0),
        ([0x61, 0xE9, 0x62], .reject, nil, 2),
        ([0x61, 0xE9], .reject, nil, 2),
        ([0xE2, 0x82, 0x0D, 0x0A], .reject, nil, 2),
        ([0x61, 0xE2, 0x82], .replace, "a\u{FFFD}", 0),
        ([0x61, 0xE2, 0x82, 0x62, 0xFF], .replace, "a\u{FFFD}b\u{FFFD}", 0),
        ([0x61, 0xE9, 0x0D, 0x0A, 0x2D], .latin1, "aé\r\n-", 0),
    ]

    @Test("Text that is not UTF-8 is treated by invalid_utf8", arguments: textRows)
    func text(content: [UInt8], policy: InvalidUTF8Policy, result: ByteString?, fault: Int) {
        var options = FieldDecodingOptions()
        options.invalidUTF8 = policy
        let start = Array("--b\r\n\(Self.disposition)\r\n\r\n".utf8)
        let recording = Multipart.decode(start + content + Array("\r\n--b--".utf8), options: options)
        if let result {
            #expect(recording == FieldRecording([Part(name: "a", content: result)]))
        } else {
            #expect(recording.failure?.code == "multipart_invalid_utf8")
            #expect(recording.failure?.offset == start.count + fault)
            #expect(recording.failure?.field == "a")
            #expect(recording.failure?.setting == "invalid_utf8")
        }
    }

    static let baseRows: [(filename: String, base: String?)] = [
        ("a.txt", "a.txt"), ("dir/sub/a.txt", "a.txt"), ("dir\\a.txt", "a.txt"), ("dir/", "dir"), ("a/b\\c//", "c"),
        ("", ""),
        ("/", nil), ("/\\/", nil), ("..", nil), (".", nil), ("dir/..", nil), ("dir\\.", nil), ("../", nil),
        ("a/./", nil),
        ("...", "..."), (".a", ".a"), ("../.a.", ".a."), ("a..", "a.."),
    ]

    @Test("filenames: base keeps the last component, and never makes an empty name", arguments: baseRows)
    func base(filename: String, base: String?) {
        var options = FieldDecodingOptions()
        options.filenames = .base
        let body = Multipart.body(headers: "\(Self.disposition); filename=\"\(filename)\"")
        let recording = Multipart.decode(Array(body.utf8), options: options)
        #expect(recording.parts.first?.filename == base.map { ByteString($0) })
        #expect(recording.failure?.code == (base == nil ? "multipart_filename_empty" : nil))
    }

    @Test("A name that is not UTF-8 is treated by invalid_utf8, and so is a filename")
    func names() {
        let headers = Array(
            "--b\r\nContent-Disposition: form-data; name=\"\u{1}\"; filename=\"x\u{1}\"\r\n\r\n\r\n--b--".utf8)
        let body = headers.flatMap { $0 == 1 ? [0xE9, 0x21] : [$0] }
        var options = FieldDecodingOptions()
        #expect(Multipart.decode(body, options: options).failure?.code == "multipart_invalid_utf8")
        options.invalidUTF8 = .replace
        #expect(
            Multipart.decode(body, options: options).parts == [
                Part(name: "\u{FFFD}!", isFile: true, filename: "x\u{FFFD}!")
            ])
        options.invalidUTF8 = .latin1
        #expect(Multipart.decode(body, options: options).parts == [Part(name: "é!", isFile: true, filename: "xé!")])
    }

    @Test("A file's bytes are not looked at")
    func fileBytes() {
        let content = (0...255).map { UInt8($0) } + [0xFF, 0xFE, 0x0D]
        let body = Array("--b\r\n\(Self.disposition); filename=f\r\n\r\n".utf8) + content + Array("\r\n--b--".utf8)
        #expect(
            Multipart.decode(body)
                == FieldRecording([Part(name: "a", content: ByteString(content), isFile: true, filename: "f")]))
    }

    // MARK: Pieces

    /// Counts content bytes that lie in the slice that is fed, and the others.
    private struct PlaceRecorder: FieldSink {
        var slice: Range<UInt> = 0..<0
        var inPlace = 0
        var copied = 0
        var isFull: Bool { false }

        mutating func beginPart(_ head: borrowing PartHead) {}
        mutating func content(_ piece: Span<UInt8>, isLast: Bool) {
            let address = Self.address(piece)
            if piece.isEmpty || slice.contains(address) { inPlace += piece.count } else { copied += piece.count }
        }

        static func address(_ bytes: Span<UInt8>) -> UInt {
            // SAFETY: only the address is taken; nothing is read through it.
            unsafe bytes.withUnsafeBufferPointer { buffer in UInt(bitPattern: buffer.baseAddress) }
        }
    }

    @Test("Content is handed on where it lies; only the start of a delimiter is held back over a slice's end")
    func zeroCopy() throws {
        let content = Array(String(repeating: "0123456789\r\n--x\r\r\n-", count: 200).utf8)
        let body = Array("--b\r\n\(Self.disposition)\r\n\r\n".utf8) + content + Array("\r\n--b--".utf8)
        for size in [1, 7, 100, body.count] {
            var decoder = Multipart.Decoder(boundary: Multipart.b, options: .init(), limits: .init())
            var recorder = PlaceRecorder()
            let slices = Cut.every(size, of: body).slices
            for slice in slices {
                let address = PlaceRecorder.address(slice.span)
                recorder.slice = address..<address + UInt(slice.count)
                let consumed = try decoder.feed(slice.span, into: &recorder)
                #expect(consumed == slice.count)
            }
            try decoder.finish(into: &recorder)
            #expect(recorder.inPlace + recorder.copied == content.count)
            #expect(recorder.copied <= (slices.count - 1) * "\r\n--".utf8.count)
        }
    }

    // MARK: Limits

    static let limitsRows:
        [(path: any WritableKeyPath<Limits, Int> & Sendable, name: String, value: Int, body: String)] = [
            (\.preamble, "preamble", 5, "abc\r\n" + Multipart.body(headers: disposition)),
            (\.parts, "parts", 1, Multipart.body(headers: disposition + "; filename=f")),
            (\.fields, "fields", 1, Multipart.body(headers: disposition)),
            (\.key, "key", 4, Multipart.body(headers: "Content-Disposition: form-data; name=\"éa%22\"")),
            (\.partHeaders, "part_headers", 3, Multipart.body(headers: "\(disposition)\r\nX-A: 1\r\n 2")),
            (
                \.partHeaderLine, "part_header_line", 45,
                Multipart.body(headers: "X-A: 1\r\n\(disposition); x=1\r\nX-B: 2")
            ),
            (\.partHeaderBytes, "part_header_bytes", 51, Multipart.body(headers: "X-A: 1\r\n\(disposition)\r\n ;x=y")),
        ]

    @Test("Each limit lets n pass and refuses n + 1 by its name", arguments: limitsRows)
    func limits(path: any WritableKeyPath<Limits, Int> & Sendable, name: String, value: Int, body: String) {
        for allowed in [value + 1, value] {
            var limits = Limits()
            limits[keyPath: path] = allowed
            #expect(Multipart.decode(body, limits: limits).failure == nil)
        }
        var limits = Limits()
        limits[keyPath: path] = value - 1
        let failure = Multipart.decode(body, limits: limits).failure
        #expect(failure?.kind == .limit)
        #expect(failure?.code == "limit_\(name)")
        #expect(failure?.setting == "limits.\(name)")
        #expect(failure?.offset != nil)
    }

    @Test("Files count as parts, and only text counts as fields")
    func countedLimits() {
        let file = "--b\r\n\(Self.disposition); filename=f\r\n\r\nv\r\n"
        let field = "--b\r\n\(Self.disposition)\r\n\r\nv\r\n"
        var limits = Limits()
        limits.fields = 2
        limits.parts = 5
        #expect(Multipart.decode(file + field + file + field + file + "--b--", limits: limits).parts.count == 5)
        let third = Multipart.decode(field + file + field + field + "--b--", limits: limits)
        #expect(third.failure?.code == "limit_fields")
        #expect(third.failure?.field == "a")
        #expect(third.parts.count == 3)
        let sixth = Multipart.decode(file + file + file + file + file + file + "--b--", limits: limits)
        #expect(sixth.failure?.code == "limit_parts")
        #expect(sixth.parts.count == 5)
    }

    @Test("A Content-Disposition has at most 16 parameters")
    func parameterLimit() {
        for count in 15...17 {
            let extra = (1..<count).map { "; x\($0)=y" }.joined()
            let recording = Multipart.decode(Multipart.body(headers: Self.disposition + extra))
            #expect(recording.failure?.code == (count <= 16 ? nil : "multipart_parameter_count"))
            #expect(recording.failure?.kind == (count <= 16 ? nil : .limit))
        }
    }

    @Test("A line without an end is refused as soon as it is too long, not at its end")
    func endlessLine() {
        var decoder = Multipart.Decoder(boundary: Multipart.b, options: .init(), limits: .init())
        var recorder = FieldRecorder()
        let body = Array("--b\r\nX: ".utf8) + [UInt8](repeating: 0x78, count: 8 * 1024)
        #expect(throws: ConversionError.self) { _ = try decoder.feed(body.span, into: &recorder) }
    }

    // MARK: Errors

    @Test("After an error every call throws it again, until reset")
    func errorStays() throws {
        var decoder = Multipart.Decoder(boundary: Multipart.b, options: .init(), limits: .init())
        var recorder = FieldRecorder()
        let good = Array(Multipart.body(headers: Self.disposition).utf8)
        let bad = Array("--bad".utf8)
        var errors: [ConversionError] = []
        for slice in [bad, good] {
            do throws(ConversionError) { _ = try decoder.feed(slice.span, into: &recorder) } catch {
                errors.append(error)
            }
        }
        do throws(ConversionError) { try decoder.finish(into: &recorder) } catch { errors.append(error) }
        #expect(errors.map(\.code) == ["multipart_delimiter", "multipart_delimiter", "multipart_delimiter"])
        #expect(errors.map(\.offset) == [3, 3, 3])
        decoder.reset(boundary: try Multipart.boundary("multipart/form-data; boundary=bad"))
        let other = Array(Multipart.body(headers: Self.disposition).utf8)
        #expect(FieldRecorder.record(.whole(other), with: &decoder).failure?.code == "multipart_boundary_not_found")
        decoder.reset(boundary: Multipart.b)
        #expect(FieldRecorder.record(.whole(good), with: &decoder).parts == [Part(name: "a", content: "v")])
    }

    @Test("An error in a part's content or behind it names the part")
    func errorsNameThePart() {
        let start = "--b\r\nContent-Disposition: form-data; name=\"a[b]\"\r\n\r\n"
        for rest in ["v", "v\r\n--bx", "--b", "v\r\n--b"] {
            #expect(Multipart.decode(start + rest).failure?.field == "a[b]", "\(rest)")
        }
        #expect(Multipart.decode(start + "v\r\n--b\r\nX").failure?.field == nil)
        #expect(Multipart.decode(start + "v\r\n--b\r\nX").failure?.code == "multipart_truncated")
    }
}
