import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// What holds for every pair of encodings, whatever way the input is cut and the output is taken.
@Suite("Contract of conversions")
struct PipelineContractTests {
    static let long = String(repeating: "0123456789 äöü+&=%\\\"", count: 20)
    static let form =
        "a=1&b%5Bc%5D=%C3%A4%26&b%5Bd%5D%5B%5D=x+y&e%5B1%5D=2&e%5B0%5D=1&a=3&k&long="
        + String(repeating: "%41b+", count: 40)
    static let json =
        #"{"n":"p\u00e4.jpg","a":[1.50,true],"l":[{"x":true},{"y":"1"}],"long":""#
        + String(repeating: #"\u0041b\n"#, count: 40)
        + #"","f":"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ","z":{"y":null,"s":"t"}}"#
    static let body = multipart(
        "a=1", "b[c]=\u{e4}&", "f:p.png:image/png=\u{1}\r\n--\r\n-b\r\n--c PNG", "p[]:x=A", "p[]:y=", "e[1]=2",
        "e[0]=1",
        "long=" + String(repeating: "line\r\n", count: 30))

    static let plist =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<plist version=\"1.0\"><dict><key>a</key><integer>1</integer>"
        + "<key>b</key><dict><key>c</key><string>\u{e4}&amp;&#65;</string><key>d</key><string/></dict>"
        + "<key>e</key><array><string>2</string>"
        + "<string>1</string></array><key>r</key><real>1.5</real><key>z</key><dict><key>y</key><true/><key>w</key><integer>1</integer></dict><key>d</key>"
        + "<date>2001-01-01T00:00:00Z</date><key>x</key><data>\n aGVs\n bG8=</data></dict></plist>"

    static let xml =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<r><a>1</a><b><c>\u{e4}&amp;&#65;</c><d/></b><e>2</e><e>1</e>"
        + "<!-- - --><t x=\"y\"><![CDATA[a<b]]></t><z><y>true</y><w>1</w></z></r>"

    static let rows: [PipelineRow] = {
        var rows: [PipelineRow] = []
        let inputs: [BodyEncoding: String] = [
            .form: form, .json: json, .multipart: body,
            .plist: plist, .xml: xml, .text: long, .raw: body,
        ]
        for from in BodyEncoding.structured + [.text, .raw] {
            for to in BodyEncoding.structured {
                func add(_ change: (inout ConversionPlan) -> Void) {
                    rows.append(
                        PipelineRow(from, to, inputs[from]!, "") { plan in
                            plan.fieldEncoding.files = to == .multipart ? .stream : .base64
                            plan.propertyListEncoding.nulls = .omit
                            plan.xmlDecoding.root = .drop
                            plan.xmlEncoding.root = .wrap
                            if from == .text || from == .raw { plan.inputField = "whole" }
                            change(&plan)
                        })
                }
                add { _ in }
                add { plan in
                    plan.map.remove = [path("b.c"), path("z.y")]
                    plan.map.rename = [.init(from: path("a"), to: path("renamed"))]
                    plan.map.set = [.init(path: path("s"), value: .literal(.string("x")))]
                }
                add { plan in
                    plan.types = [TypeRule(path: path("e[*]"), type: .integer)]
                    plan.rewritesNames = true
                    plan.fieldEncoding.arrays = .indices
                }
                if from == .json, to == .multipart {
                    add { $0.files = [FileRule(path: path("f"), policy: .base64, filename: .field(path("n")))] }
                    add {
                        $0.files = [FileRule(path: path("f"), policy: .base64, filename: .field(path("n")))]
                        $0.types = [TypeRule(path: path("z"), type: .object)]
                    }
                }
            }
        }
        return rows
    }()

    @Test("the bytes are the same however the input is cut and the output taken", arguments: rows)
    func recut(_ row: PipelineRow) {
        let input = Array(row.input.utf8)
        let whole = ConversionRun.run(row.plan, .whole(input))
        #expect(whole.failure == nil && !whole.output.bytes.isEmpty && whole.violations.isEmpty)
        // Formats that are read into a tree as a whole have tests of their own for every cut.
        let isFlat = [.form, .json, .multipart].contains(row.plan.inputs[0])
        for cut in Recut.cuts(of: input, splits: isFlat ? 300 : 30) {
            for watermark in [1, OutputBuffer.defaultHighWatermark] {
                let run = ConversionRun.run(row.plan, cut, highWatermark: watermark)
                #expect(run == whole, "\(cut), watermark \(watermark)")
                if run != whole { return }
            }
        }
    }

    /// A text and raw bytes have no end of their own: the message's framing tells whether they are whole.
    static let endingRows = rows.filter { ![.text, .raw].contains($0.plan.inputs[0]) }

    @Test("an input that is cut off gives an error and no whole output", arguments: endingRows)
    func truncation(_ row: PipelineRow) {
        let input = Array(row.input.utf8)
        let whole = ConversionRun.run(row.plan, .whole(input))
        for count in stride(from: 0, to: input.count, by: triesTenth ? 7 : 1) {
            // A form may end anywhere. A multipart body may end behind its final boundary, whatever follows.
            if row.plan.inputs == [.form] { break }
            let isWhole = row.plan.inputs == [.multipart] && count >= input.count - 2
            let run = ConversionRun.run(row.plan, .whole(Array(input[..<count])), highWatermark: 1)
            guard !isWhole else { continue }
            #expect(run.failure != nil, "\(count) bytes of \(input.count)")
            #expect(run.violations.isEmpty, "\(run.violations)")
            #expect(
                !isComplete(run.output.bytes, row.plan.output) || run.output.bytes.isEmpty, "\(count): \(run.output)")
            // A form has no end that could be missing; whoever passes it on must not end the message.
            #expect(row.plan.output == .form || run.output.bytes.count < whole.output.bytes.count)
        }
    }

    /// Whether a receiver would take the bytes for a whole body. A form, a text and raw bytes have no end of their own.
    private func isComplete(_ bytes: [UInt8], _ encoding: BodyEncoding) -> Bool {
        switch encoding {
        case .form, .text, .raw: return false
        case .multipart: return !summary(ofMultipart: bytes).hasPrefix("unreadable")
        default: return readingFailure(bytes, of: encoding) == nil
        }
    }

    @Test("a conversion that is restarted, also after an error, gives what a new one gives", arguments: rows)
    func restart(_ row: PipelineRow) throws {
        let type = Array(ConversionRun.defaultType(row.plan.inputs[0]).utf8)
        let input = Array(row.input.utf8)
        let whole = ConversionRun.run(row.plan, .whole(input))
        let conversion = try Conversion.make(plan: row.plan, contentType: type.span)
        for end in [input.count, input.count / 2, input.count, 0, input.count / 3] {
            _ = ConversionRun.run(conversion, .whole(Array(input[..<end])))
            try conversion.restart(contentType: type.span, sources: [])
            #expect(conversion.outputCount == 0)
        }
        #expect(ConversionRun.run(conversion, .every(7, of: input)) == whole)
    }

    @Test("what came in and was not removed has gone out", arguments: endingRows)
    func accounting(_ row: PipelineRow) {
        guard row.plan.output == .multipart else { return }
        let run = ConversionRun.run(row.plan, .whole(Array(row.input.utf8)))
        let added = row.plan.map.set.count
        let type = Array("multipart/form-data; boundary=BOUNDARY".utf8)
        guard let boundary = try? Multipart.Boundary(contentType: type.span, limits: .init()) else { return }
        var decoder = Multipart.Decoder(boundary: boundary, options: .init(), limits: .init())
        let parts = FieldRecorder.record(.whole(run.output.bytes), with: &decoder).parts
        #expect(parts.count == run.accounting.parts - run.accounting.removed + added)
        #expect(parts.filter(\.isFile).count == run.accounting.files)
        // Only the property list and the XML have both of the fields that the map removes.
        let removed = row.plan.inputs == [.plist] || row.plan.inputs == [.xml] ? 2 : 1
        #expect(run.accounting.removed == (row.plan.map.isEmpty ? 0 : removed))
    }

    // MARK: Limits

    /// A limit, a body that needs exactly `size` of it, and the code beyond.
    static let limits: [(name: String, row: PipelineRow, size: Int, set: @Sendable (inout Limits, Int) -> Void)] = [
        ("limit_tree", PipelineRow(.form, .json, "a=12&b=345", ""), 3 * Tree.nodeCost + 7, { $0.tree = $1 }),
        (
            "limit_tree",
            PipelineRow(.json, .json, #"{"a":[12,"345"]}"#, "") {
                $0.types = [TypeRule(path: path("x"), type: .string)]
            },
            4 * Tree.nodeCost + 6, { $0.tree = $1 }
        ),
        ("limit_field", PipelineRow(.form, .json, "a=12345", ""), 5, { $0.field = $1 }),
        ("limit_field", PipelineRow(.multipart, .json, multipart("a=12345"), ""), 5, { $0.field = $1 }),
        ("limit_fields", PipelineRow(.form, .json, "a=1&b=2&c=3", ""), 3, { $0.fields = $1 }),
        ("limit_fields", PipelineRow(.form, .multipart, "a=1&b=2&c=3", ""), 3, { $0.fields = $1 }),
        ("limit_fields", PipelineRow(.multipart, .json, multipart("a=1", "b=2", "c=3"), ""), 3, { $0.fields = $1 }),
        (
            "limit_parts", PipelineRow(.multipart, .multipart, multipart("a=1", "f:x=2", "c=3"), ""), 3,
            { $0.parts = $1 }
        ),
        ("limit_key_depth", PipelineRow(.form, .json, "a[b][c]=1", ""), 2, { $0.keyDepth = $1 }),
        ("limit_depth", PipelineRow(.json, .json, "[[[1]]]", ""), 3, { $0.depth = $1 }),
        ("limit_body", PipelineRow(.json, .form, #"{"a":1}"#, ""), 7, { $0.body = $1 }),
        ("limit_body", PipelineRow(.form, .form, "a=1&b=2", ""), 7, { $0.body = $1 }),
    ]

    @Test("each limit lets n through and refuses n + 1 with 413, however the input is cut", arguments: limits.indices)
    func limit(_ index: Int) {
        let (name, row, size, set) = Self.limits[index]
        for bound in [size - 1, size, size + 1] {
            var plan = row.plan
            set(&plan.limits, bound)
            for cut in [Cut.whole(Array(row.input.utf8)), Cut.every(1, of: Array(row.input.utf8))] {
                let run = ConversionRun.run(plan, cut)
                #expect(run.failure?.code == (bound < size ? name : nil), "\(bound), \(cut)")
                #expect(run.failure == nil || run.failure?.kind == .limit)
            }
        }
    }

    @Test("a text field that doesn't enter the tree is bounded by the body alone")
    func streamedField() {
        let value = String(repeating: "x", count: 200_000)
        #expect(convert(plan(.form, .form), "a=" + value) == "a=" + value)
        #expect(convert(plan(.form, .json), "a=" + value) == "!limit_field a")
    }

    @Test("thousands of members in one object are found by hash, and none of them is lost")
    func manyMembers() {
        let names = (0..<1000).map { "k\($0 * 7919 % 1000)" }
        let input = names.map { "o[\($0)]=\($0)" }.joined(separator: "&")
        let expected = "{\"o\":{" + names.map { "\"\($0)\":\"\($0)\"" }.joined(separator: ",") + "}}"
        #expect(convert(plan(.form, .json), input) == expected)
        let indices = (0..<1000).map { $0 * 7919 % 1000 }
        let array = "[" + (0..<1000).map { "\"v\($0)\"" }.joined(separator: ",") + "]"
        #expect(
            convert(plan(.form, .json), indices.map { "a[\($0)]=v\($0)" }.joined(separator: "&")) == "{\"a\":\(array)}")
        let many = (0..<12).map { "k\($0)=1" } + ["k3=2", "k3=3", "k11=2"]
        #expect(
            convert(plan(.form, .json), many.joined(separator: "&"))
                == "{"
                + (0..<12).map { "\"k\($0)\":" + ($0 == 3 ? #"["1","2","3"]"# : $0 == 11 ? #"["1","2"]"# : #""1""#) }
                .joined(separator: ",") + "}")
        let again = names.map { "\"\($0)\":1" }.joined(separator: ",")
        let last = plan(.json, .json) { $0.jsonDuplicates = .last }
        #expect(convert(last, "{" + again + "," + again + "}") == "{" + again + "}")
    }

    // MARK: Content types

    static let contentTypes: [(inputs: [BodyEncoding], type: String, expected: String)] = [
        ([.json], "application/json", "json"), ([.json], "Application/JSON; charset=UTF-8", "json"),
        ([.json], "application/problem+json", "json"), ([.json], "text/json ; charset=\"utf-8\"", "json"),
        ([.json], "", "json"), ([.json, .form], "", "!unsupported_media_type"),
        ([.multipart], "", "!unsupported_media_type"), ([.json], "text/plain", "!unsupported_media_type"),
        ([.json], "application/json; charset=utf-16", "!unsupported_charset"),
        ([.form], "application/x-www-form-urlencoded; charset=iso-8859-1", "!unsupported_charset"),
        ([.form], "application/x-www-form-urlencoded;charset=us-ascii;", "form"),
        ([.json], "application/x-www-form-urlencoded", "!unsupported_media_type"),
        ([.form, .json, .multipart], "application/x-www-form-urlencoded", "form"),
        ([.form, .json, .multipart], "multipart/form-data; boundary=\"a charset=x\"", "multipart"),
        ([.multipart], "multipart/mixed; boundary=b", "!unsupported_media_type"),
        ([.json], "application", "!unsupported_media_type"),
        ([.json], "application/json, text/plain", "!unsupported_media_type"),
        ([.json], "application/json; charset", "!unsupported_media_type"),
        ([.json], "/json", "!unsupported_media_type"),
    ]

    @Test("the Content-Type chooses the input, and what isn't taken is 415", arguments: contentTypes.indices)
    func contentType(_ index: Int) {
        let (inputs, type, expected) = Self.contentTypes[index]
        let plan = ConversionPlan(inputs: inputs, output: .json)
        do throws(ConversionError) {
            let conversion = try Conversion.make(plan: plan, contentType: Array(type.utf8).span)
            #expect(conversion.inputEncoding.rawValue == expected)
        } catch {
            #expect("!" + error.code == expected)
            #expect(error.kind == .unsupported)
        }
    }

    @Test(
        "a type that is accepted is read as the one input, and no other is",
        arguments: [
            ([BodyEncoding.json], "text/plain; charset=UTF-8", "json"), ([.json], "text/plain", "json"),
            ([.json], "TEXT/Plain", "json"), ([.json], "text/html", "!unsupported_media_type"),
            ([.json], "image/png", "json"), ([.json], "application/json", "json"),
            ([.json], "text/plain; charset=utf-16", "!unsupported_charset"), ([.form], "text/plain", "form"),
            ([.text], "text/plain", "text"), ([.raw], "text/plain", "raw"),
        ])
    func acceptedType(inputs: [BodyEncoding], type: String, expected: String) {
        var plan = ConversionPlan(inputs: inputs, output: .json)
        plan.acceptedTypes = [MediaPattern("text/plain")!, MediaPattern("image/*")!]
        do throws(ConversionError) {
            let encoding = try plan.inputEncoding(for: Array(type.utf8).span)
            #expect(encoding.rawValue == expected)
        } catch {
            #expect("!" + error.code == expected)
        }
    }

    @Test("a charset that isn't taken is told beside those that are, each once")
    func charsets() {
        func reason(_ charsets: [Charset]) -> String? {
            var plan = ConversionPlan(inputs: [.form], output: .json)
            plan.fieldDecoding.charsets = charsets
            let type = Array("application/x-www-form-urlencoded; charset=koi8-r".utf8)
            do throws(ConversionError) {
                _ = try plan.inputEncoding(for: type.span)
                return nil
            } catch {
                return error.reason
            }
        }
        let latin = Charset(label: "windows-1252")!
        #expect(reason([]) == "the body's charset must be utf-8" && reason([.utf8]) == reason([]))
        #expect(reason([latin]) == "the body's charset is none of utf-8, windows-1252")
        #expect(reason([.utf8, latin]) == reason([latin]))
    }

    @Test("the output says what it is, and each multipart body has a boundary of its own")
    func outputType() throws {
        #expect(ConversionRun.run(plan(.form, .json), .whole([])).contentType == "application/json")
        #expect(
            ConversionRun.run(plan(.json, .form), .whole(Array("{}".utf8))).contentType
                == "application/x-www-form-urlencoded")
        let type = Array("multipart/form-data; boundary=b".utf8)
        let conversion = try Conversion.make(plan: plan(.multipart, .multipart), contentType: type.span)
        let first = conversion.contentType
        try conversion.restart(contentType: type.span, sources: [])
        #expect(first != conversion.contentType && first.count > type.count)
        #expect(throws: ConversionError.self) {
            try conversion.restart(contentType: Array("application/json".utf8).span, sources: [])
        }
    }

    @Test("text in another charset is copied to multipart as it is, with its type, and becomes UTF-8 where it is read")
    func otherCharsets() {
        func body(_ second: String) -> [UInt8] {
            let start = "--b\r\nContent-Disposition: form-data; name=\"a\"\r\nContent-Type: text/plain; charset="
            let middle = "\r\n--b\r\nContent-Disposition: form-data; name=\"c\"\(second)\r\n\r\n"
            return Array("\(start)iso-8859-1\r\n\r\n".utf8) + [0xE9] + Array(middle.utf8) + [0xE8]
                + Array("\r\n--b--\r\n".utf8)
        }
        let input = body("\r\nContent-Type: text/plain; charset=latin1")
        let copied = plan(.multipart, .multipart) { $0.map.rename = [.init(from: path("c"), to: path("d"))] }
        for cut in Recut.cuts(of: input) {
            let run = ConversionRun.run(copied, cut)
            #expect(run.failure == nil && run.violations.isEmpty)
            let parts = input.dropFirst(3).split(separator: 0x0A).filter { $0.contains(0xE9) || $0.contains(0xE8) }
            let written = run.output.bytes.split(separator: 0x0A).filter { $0.contains(0xE9) || $0.contains(0xE8) }
            #expect(written == parts)
            #expect(String(decoding: run.output.bytes, as: UTF8.self).contains("charset=latin1"))
        }
        // What declares no charset is UTF-8, also behind one that does.
        #expect(ConversionRun.run(copied, .whole(body(""))).result == "!multipart_invalid_utf8 c")
        #expect(ConversionRun.run(plan(.multipart, .form), .whole(input)).result == "a=%C3%A9&c=%C3%A8")
        #expect(ConversionRun.run(plan(.multipart, .json), .whole(input)).result == #"{"a":"é","c":"è"}"#)
        // A text that somebody reads, as a tree does, goes on with the type that it then has.
        let inTree = plan(.multipart, .multipart) { $0.rewritesNames = true }
        func parts(_ plan: ConversionPlan) -> String {
            summary(ofMultipart: ConversionRun.run(plan, .whole(input)).output.bytes)
        }
        #expect(parts(inTree) == "a:text/plain; charset=utf-8=é|c:text/plain; charset=utf-8=è")
        let named = plan(.multipart, .multipart) {
            $0.files = [FileRule(path: path("f"), policy: .stream, filename: .field(path("a")))]
        }
        #expect(parts(named) == "a:text/plain; charset=utf-8=é|c:text/plain; charset=utf-8=è")
        let unknown = Array(String(decoding: body(""), as: UTF8.self).replacing("iso-8859-1", with: "klingon").utf8)
        #expect(ConversionRun.run(plan(.multipart, .json), .whole(unknown)).result == "!multipart_charset a")
    }

    @Test("an error is one line with field, offset and the setting that would help")
    func errorTexts() {
        let duplicate = plan(.form, .json) { $0.fieldDecoding.duplicates = .reject }
        #expect(
            ConversionRun.run(duplicate, .whole(Array("a=1&a=2".utf8))).failure?.description
                == "the field is there more than once, field \"a\", setting duplicates [form_duplicate]")
        let control = plan(.json, .multipart)
        let text = ConversionRun.run(control, .whole(Array(#"{"a\u0000\n":1}"#.utf8))).failure?.description ?? ""
        #expect(text.contains(#"field "a\0\n""#))
        let large = plan(.json, .json) { $0.limits.body = 1 }
        #expect(
            ConversionRun.run(large, .whole(Array("12".utf8))).failure?.description
                == "the body passes the limit of 1 (limits.body), at byte 1 [limit_body]")
    }
}
