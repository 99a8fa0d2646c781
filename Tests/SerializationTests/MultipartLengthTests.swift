import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// A multipart body whose parts are copied has the length that was told of it, to the byte, from whatever moment on: heads are as
/// long as they came.
@Suite("Lengths of copied multipart bodies")
struct MultipartLengthTests {
    /// A part as clients write it: its headers, and the name, filename and type that are read of them.
    struct Part: CustomTestStringConvertible {
        let head: String
        let read: String
        var testDescription: String { read }

        init(_ head: String..., read: String) {
            self.head = head.joined(separator: "\r\n")
            self.read = read
        }
    }

    static let spellings: [Part] = [
        Part("Content-Disposition: form-data; name=\"a\"", read: "a"),
        Part("Content-Disposition: form-data; name=\"f\"; filename=\"a.bin\"", read: "f:a.bin"),
        Part(
            "Content-Disposition: form-data; name=\"f\"; filename=\"a.bin\"", "Content-Type: x/y", read: "f:a.bin:x/y"),
        Part("content-type: x/y", "content-disposition: form-data; filename=\"a\"; name=\"f\"", read: "f:a:x/y"),
        // Without quotes, as .NET writes them.
        Part(
            "Content-Type: text/plain; charset=utf-8", "Content-Disposition: form-data; name=a",
            read: "a:text/plain; charset=utf-8"),
        Part("Content-Disposition: form-data; name=a", read: "a"),
        Part("Content-Disposition: form-data; name=f; filename=a.bin", read: "f:a.bin"),
        Part("Content-Disposition: form-data; name=f; filename=a.bin; filename*=utf-8''a.bin", read: "f:a.bin"),
        // Without spaces.
        Part("Content-Disposition:form-data;name=\"a\"", read: "a"),
        Part("Content-Disposition:form-data;name=a", read: "a"),
        Part("Content-Disposition:form-data;name=f;filename=a", "Content-Type:x/y", read: "f:a:x/y"),
        // With more than is passed on.
        Part("Content-Disposition:   form-data ;  name=\"a\"", read: "a"),
        Part(
            "Content-Disposition: form-data; name=\"a\"; size=3; x=\"y\"", "Content-Length: 7",
            "Content-Transfer-Encoding: binary",
            read: "a"),
        Part("Content-Disposition: form-data; name=\"f\"; filename=\"C:\\d\\a.bin\"", read: "f:C:\\d\\a.bin"),
        Part("X-A: b", "Content-Disposition: form-data; name=\"a\"", "X-B:c", read: "a"),
        Part("Content-Disposition: form-data; name=\"a\"; x=\"" + String(repeating: "y", count: 700) + "\"", read: "a"),
        Part(
            "Content-Disposition: form-data; name=\"f\"; filename*=UTF-8''" + String(repeating: "%E8%AA%9E", count: 85),
            read: "f:" + String(repeating: "\u{8a9e}", count: 85)),
        // Names that are escaped, and written twice.
        Part("Content-Disposition: form-data; name=\"a\\\"b\"", read: "a\"b"),
        Part("Content-Disposition: form-data; name=\"a%22b\"", read: "a\"b"),
        Part("Content-Disposition: form-data; name=\"a%0D%0Ab\"", read: "a\r\nb"),
        Part(
            "Content-Disposition: form-data; name=\"\u{fc}\"; filename=\"\u{fc}\u{1f600}.bin\"",
            read: "\u{fc}:\u{fc}\u{1f600}.bin"),
        Part("Content-Disposition: form-data; name=\"f\"; filename*=UTF-8''%C3%BC.bin", read: "f:\u{fc}.bin"),
        Part(
            "Content-Disposition: form-data; name=\"f\"; filename=\"u.bin\"; filename*=UTF-8''%C3%BC.bin",
            read: "f:\u{fc}.bin"),
        Part("Content-Disposition: form-data; name=\"f\"; filename=\"\"", read: "f:"),
        Part("Content-Disposition: form-data; name=\"\"", read: ""),
    ]

    struct Made {
        var output: [UInt8] = []
        /// What was told, and when.
        var told: Int?
        var type = ""
        var isExact = false
    }

    /// Converts `body` in slices, and asks for the length once so many bytes of it were fed.
    static func make(_ plan: ConversionPlan, _ body: String, boundary: String, slice: Int, asking moment: Int?) throws
        -> Made
    {
        let bytes = Array(body.utf8)
        let conversion = try Conversion.make(plan: plan, contentType: "multipart/form-data; boundary=\(boundary)")
        var made = Made()
        var at = 0
        while at < bytes.count {
            let next = moment.map { made.told == nil && at < $0 ? min($0, at + slice) : at + slice } ?? at + slice
            at += try conversion.feed(bytes.span.extracting(at..<min(bytes.count, next)))
            made.output += conversion.takeOutput()
            if let moment, at >= moment, made.told == nil {
                made.told = conversion.outputBound(ofBody: bytes.count).map { $0 + made.output.count }
                made.isExact = conversion.hasExactLength
            }
        }
        made.output += try conversion.convertEnd()
        made.type = String(decoding: conversion.contentType, as: UTF8.self)
        return made
    }

    static func body(_ parts: [Part], boundary: String, content: String = "1", end: String = "\r\n") -> String {
        parts.map { "--\(boundary)\r\n\($0.head)\r\n\r\n\(content)\r\n" }.joined() + "--\(boundary)--\(end)"
    }

    /// Names, filenames, types and contents.
    static func read(_ made: Made) throws -> [String] {
        let boundary = try Multipart.Boundary(contentType: Array(made.type.utf8).span, limits: .init())
        var decoder = Multipart.Decoder(boundary: boundary, options: .init(), limits: .init())
        let recording = FieldRecorder.record(.whole(made.output), with: &decoder)
        #expect(recording.failure == nil)
        func text(_ bytes: ByteString) -> String { String(decoding: bytes.bytes, as: UTF8.self) }
        return recording.parts.map { part in
            let head = [text(part.name), part.filename.map(text), part.mediaType.map(text)].compactMap(\.self)
            return head.joined(separator: ":") + "=" + text(part.content)
        }
    }

    /// That of browsers.
    static let usual = "----WebKitFormBoundaryAbCdEfGhIjKlMnOp"

    @Test(
        "each part has the length that it came with, whenever that is told", arguments: spellings, ["\r\n", "", "\n"])
    func spelled(_ part: Part, end: String) throws {
        let plan = plan(.multipart, .multipart)
        let first = Self.spellings[0]
        let body = Self.body([first, part, first, part], boundary: Self.usual, end: end)
        let expected = ["a=1", "\(part.read)=1", "a=1", "\(part.read)=1"]
        #expect(try Self.read(Self.make(plan, body, boundary: Self.usual, slice: 1000, asking: nil)) == expected)
        for (slice, step) in [(1, 17), (7, 5), (1000, 1)] {
            for moment in stride(from: 1, through: body.utf8.count, by: step) {
                let made = try Self.make(plan, body, boundary: Self.usual, slice: slice, asking: moment)
                #expect(try Self.read(made) == expected)
                guard made.isExact else {
                    // Before the first delimiter has come nothing is known of what stands in front of it.
                    #expect(moment < Self.usual.utf8.count + 2)
                    continue
                }
                #expect(made.told == made.output.count, "at \(moment)")
            }
        }
    }

    @Test(
        "a head with a byte too many leaves no half of a line end behind the last delimiter",
        arguments: [
            ("Content-Disposition: form-data; name=\"a%0Ab\"", "a\r\nb=1"),
            ("Content-Disposition:form-data;name=\"x y\";filename=\"a\\\"b=c\"", "x y:a\"b=c=1"),
            ("Content-Disposition: form-data; name=\"a%0A\"", "a\r\n=1"),
        ], ["\r\n", "\r\n\r\n", "\n"])
    func lastByte(_ row: (head: String, read: String), end: String) throws {
        let part = Part(row.head, read: row.read)
        for tail in [[part], [part, part], [Self.spellings[0], part]] where end.utf8.count > 1 || tail.count != 2 {
            let parts = [Self.spellings[0]] + tail
            let body = Self.body(parts, boundary: Self.usual, end: end)
            for moment in stride(from: Self.usual.utf8.count + 2, to: body.utf8.count, by: 3) {
                let made = try Self.make(
                    plan(.multipart, .multipart), body, boundary: Self.usual, slice: 1000, asking: moment)
                let text = String(decoding: made.output, as: UTF8.self)
                #expect(try made.isExact && Self.read(made).last == row.read)
                #expect(text.hasSuffix("--\r\n") || text.hasSuffix("--") || text.hasSuffix("-- "), "at \(moment)")
                #expect(made.told.map { $0 >= made.output.count } ?? false)
                if end.utf8.count <= 2 { #expect(made.told == made.output.count, "at \(moment)") }
            }
        }
    }

    @Test("what is left out in front of a head is not made up for in it, beyond some spaces")
    func spacesOfOthers() throws {
        let large = Part("Content-Disposition: form-data; name=\"big\"", read: "big")
        let body =
            Self.body([Self.spellings[0]], boundary: Self.usual, end: "x").dropLast(Self.usual.utf8.count + 5)
            + Self.body([large], boundary: Self.usual, content: String(repeating: "x", count: 5000), end: "x").dropLast(
                Self.usual.utf8.count + 5) + Self.body([Self.spellings[1]], boundary: Self.usual)
        let removing = plan(.multipart, .multipart) { $0.map.remove = [path("big")] }
        let made = try Self.make(removing, String(body), boundary: Self.usual, slice: 1000, asking: 60)
        let heads = String(decoding: made.output, as: UTF8.self).split(separator: "\r\n")
        #expect(try Self.read(made) == ["a=1", "f:a.bin=1"])
        #expect(heads.allSatisfy { $0.utf8.count <= 256 + 80 })
        #expect(made.told.map { $0 - made.output.count > 4000 } ?? false)
    }

    @Test("all of them together, in any order, around long contents", arguments: [1, 100, 5000])
    func together(_ length: Int) throws {
        var random = SplitMix(state: 7)
        let plan = plan(.multipart, .multipart)
        for _ in 0..<40 {
            // One spelling of a name is in a body.
            let parts = Self.spellings.filter { !$0.head.contains("%22") }.shuffled(
                using: &random)
            let body = Self.body(parts, boundary: Self.usual, content: String(repeating: "x\r\n-", count: length / 4))
            let moment = Int.random(in: Self.usual.utf8.count + 2..<body.utf8.count, using: &random)
            let made = try Self.make(
                plan, body, boundary: Self.usual, slice: Int.random(in: 1...300, using: &random), asking: moment)
            #expect(made.isExact && made.told == made.output.count, "at \(moment)")
            #expect(try Self.read(made).count == parts.count)
        }
    }

    @Test("a client's boundary is as long as ours from 22 characters on", arguments: [1, 21, 22, 23, 50, 69, 70])
    func boundaries(_ length: Int) throws {
        let boundary = String(repeating: "b", count: length)
        let body = Self.body([Self.spellings[0], Self.spellings[2], Self.spellings[4]], boundary: boundary)
        let made = try Self.make(plan(.multipart, .multipart), body, boundary: boundary, slice: 9, asking: 100)
        #expect(made.isExact == (length >= 22))
        #expect(made.type.utf8.count == "multipart/form-data; boundary=".utf8.count + max(22, length))
        if made.isExact { #expect(made.told == made.output.count) }
        #expect(made.told.map { $0 >= made.output.count } ?? false)
    }

    @Test("what stands around the parts is left out, and what stands behind them is missing at the end")
    func around() throws {
        let body = Self.body([Self.spellings[0], Self.spellings[1]], boundary: Self.usual)
        for (before, behind) in [("\r\n", ""), ("a preamble\r\n", ""), ("", "\r\nan epilogue"), ("x\r\n", "\n")] {
            let whole = before + body + behind
            let made = try Self.make(
                plan(.multipart, .multipart), whole, boundary: Self.usual, slice: 5, asking: before.utf8.count + 90)
            #expect(made.isExact && made.told == made.output.count + behind.utf8.count)
        }
    }

    @Test("what the map leaves out is missing, and what it puts in is known")
    func mapped() throws {
        let body = Self.body(
            [Self.spellings[0], Self.spellings[1], Self.spellings[2], Self.spellings[0]], boundary: Self.usual,
            content: "12345")
        let renamed = plan(.multipart, .multipart) { $0.map.rename = [.init(from: path("f"), to: path("g"))] }
        let longer = plan(.multipart, .multipart) { $0.map.rename = [.init(from: path("f"), to: path("gg"))] }
        let removed = plan(.multipart, .multipart) { $0.map.remove = [path("f")] }
        let added = plan(.multipart, .multipart) {
            $0.map.set = [.init(path: path("b"), value: .literal(.string("a value")))]
        }
        for moment in [50, 150, body.utf8.count - 90, body.utf8.count - 1] {
            for (plan, isExact, isEqual) in [
                (renamed, true, true), (longer, false, false), (removed, false, false), (added, false, true),
            ] {
                let made = try Self.make(plan, body, boundary: Self.usual, slice: 11, asking: moment)
                #expect(made.isExact == isExact)
                if isEqual { #expect(made.told == made.output.count) }
                #expect(made.told.map { $0 >= made.output.count } ?? false)
            }
        }
    }

    @Test("of the second of two bodies the length is told anew")
    func restarted() throws {
        let first = Array(Self.body([Self.spellings[1], Self.spellings[3]], boundary: Self.usual).utf8)
        let short = Array(Self.body([Self.spellings[1], Self.spellings[3]], boundary: "b").utf8)
        let conversion = try Conversion.make(
            plan: plan(.multipart, .multipart), contentType: "multipart/form-data; boundary=\(Self.usual)")
        for (boundary, body) in [(Self.usual, first), ("b", short), (Self.usual, first)] {
            try conversion.restart(
                contentType: Array("multipart/form-data; boundary=\(boundary)".utf8).span, sources: [])
            #expect(!conversion.hasExactLength)
            var output = try conversion.convert(Array(body[..<80]))
            let told = try #require(conversion.outputBound(ofBody: body.count)) + output.count
            #expect(conversion.hasExactLength == (boundary != "b"))
            output += try conversion.convert(Array(body[80...])) + conversion.convertEnd()
            #expect(boundary == "b" ? told >= output.count : told == output.count)
        }
    }

    @Test("a head that comes longer than it is read has spaces in front of its value, up to the limit of its line")
    func spaces() throws {
        let head = "Content-Disposition: form-data; name=\"a\""
        let long = Part(head, "Content-Transfer-Encoding: binary", "Content-Length: 1", read: "a")
        let body = Self.body([Self.spellings[0], long, Self.spellings[0]], boundary: Self.usual)
        let made = try Self.make(plan(.multipart, .multipart), body, boundary: Self.usual, slice: 1000, asking: 60)
        let text = String(decoding: made.output, as: UTF8.self)
        let spaces = "\r\nContent-Transfer-Encoding: binary\r\nContent-Length: 1".utf8.count
        #expect(
            text.contains(
                "\r\nContent-Disposition:" + String(repeating: " ", count: spaces + 1) + "form-data; name=\"a\""))
        #expect(made.told == made.output.count)
        for room in [0, 1, spaces - 1, spaces, spaces + 1] {
            let plan = plan(.multipart, .multipart) { $0.limits.partHeaderLine = head.utf8.count + room }
            let made = try Self.make(plan, body, boundary: Self.usual, slice: 1000, asking: 60)
            let longest = String(decoding: made.output, as: UTF8.self).split(separator: "\r\n").map(\.utf8.count).max()
            #expect((longest ?? 0) <= max(head.utf8.count + room, Self.usual.utf8.count + 4))
        }
    }
}
