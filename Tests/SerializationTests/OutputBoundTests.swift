import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// What is announced of a body before it is whole must be enough for what comes, and not much more.
@Suite("Bounds of output")
struct OutputBoundTests {
    /// The length that would have been announced after each slice of the input, and the one that came.
    struct Run {
        var announced: [Int] = []
        var length = 0
        var failure: ConversionError?
    }

    static func run(
        _ plan: ConversionPlan, _ body: [UInt8], slice: Int, type: String? = nil, sources: [[UInt8]] = []
    ) -> Run {
        var run = Run()
        do throws(ConversionError) {
            let type = type ?? ConversionRun.defaultType(plan.inputs[0])
            let conversion = try Conversion.make(plan: plan, contentType: Array(type.utf8).span, sources: sources)
            func look() {
                run.length += conversion.takeOutput().count
                if run.length > 0, let bound = conversion.outputBound(ofBody: body.count) {
                    run.announced.append(run.length + bound)
                }
            }
            var at = 0
            while at < body.count {
                let end = min(at + slice, body.count)
                at += try conversion.feed(body.span.extracting(at..<end))
                look()
            }
            while try !conversion.finish() { look() }
            run.length += conversion.takeOutput().count
        } catch {
            run.failure = error
        }
        return run
    }

    /// Bodies with as much structure, and as little text, as the limits take.
    static func repeated(
        _ part: (Int) -> String, count: Int, before: String = "", between: String = "", after: String = ""
    )
        -> String
    {
        before + (0..<count).map(part).joined(separator: between) + after
    }

    static let dense: [(BodyEncoding, String)] = [
        (.multipart, multipartOf(900) { "x\($0)=1" }),
        (.multipart, multipartOf(900) { "f\($0):a.bin=1" }),
        (.multipart, multipartOf(400) { "o\($0 % 7)[k\($0)]=\u{e4}\"" }),
        (.form, repeated({ "a\($0)=1" }, count: 900, between: "&")),
        (.form, repeated({ "o[\($0)][k]=%22" }, count: 300, between: "&")),
        (.json, repeated({ "\"k\($0)\":\($0)" }, count: 900, before: "{", between: ",", after: "}")),
        (.json, repeated({ "{\"k\":[\($0)]}" }, count: 900, before: "{\"list\":[", between: ",", after: "]}")),
        (
            .json,
            repeated(
                { _ in "\"\\n\\\"\\n\"" }, count: 900, before: "{\"some-name\":{\"list\":[", between: ",",
                after: "]}}")
        ),
    ]

    static func multipartOf(_ count: Int, _ part: (Int) -> String) -> String {
        let all = (0..<count).map { multipart(part($0)) }
        return all.map { $0.dropLast("--b--\r\n".count) }.joined() + "--b--\r\n"
    }

    @Test("no body is longer than what was announced at any moment", arguments: PipelineContractTests.rows)
    func rows(_ row: PipelineRow) {
        let body = Array(row.input.utf8)
        for slice in [1, 7, 64, 4096] {
            let run = Self.run(row.plan, body, slice: slice)
            #expect(run.failure == nil)
            #expect(run.announced.allSatisfy { $0 >= run.length })
        }
    }

    @Test(
        "nor is one that is all structure", arguments: 0..<dense.count, [BodyEncoding.json, .multipart, .xml, .plist])
    func structure(_ index: Int, _ output: BodyEncoding) {
        let (input, text) = Self.dense[index]
        let base = plan(input, output) {
            $0.limits.tree = 1 << 24
            $0.fieldEncoding.files = output == .multipart ? .stream : .base64
            $0.xmlDecoding.root = .drop
            $0.xmlEncoding.root = .wrap
        }
        let mapped = plan(input, output) {
            $0 = base
            $0.map.rename = [.init(from: path("x1"), to: path("a-much-longer-name-than-before"))]
            let made = AssignedValue.literal(.array([.string("x\"y"), .number("1"), .bool(true)]))
            $0.map.set = [.init(path: path("made"), value: made)]
        }
        let respelled = plan(input, output) {
            $0 = base
            $0.rewritesNames = true
            $0.fieldEncoding.arrays = .indices
        }
        for plan in [base, mapped, respelled] {
            let run = Self.run(plan, Array(text.utf8), slice: 999)
            #expect(run.failure == nil)
            #expect(run.announced.allSatisfy { $0 >= run.length })
        }
    }

    @Test("an upload's bound is close: less than 60,000 bytes more, or what its fields may become")
    func close() throws {
        let file = String(repeating: "0123456789abcdef", count: 1 << 17)
        for (output, factor) in [(BodyEncoding.multipart, 1.0), (.json, 4.0 / 3)] {
            let plan = plan(.multipart, output) { $0.fieldEncoding.files = output == .json ? .base64 : .stream }
            let body = Array(multipart("a=1", "f:a.bin:x/y=\(file)", "b=2").utf8)
            let run = Self.run(plan, body, slice: 64 * 1024)
            let first = try #require(run.announced.first)
            #expect(first >= run.length)
            #expect(first - run.length <= (output == .json ? body.count / 32 + 100 * 1024 : 60_000))
            #expect(abs(Double(run.length) - factor * Double(body.count)) < 1024)
        }
    }

    @Test(
        "behind a multipart body stand fewer bytes than Werkzeug takes, however long it is",
        arguments: [BodyEncoding.multipart, .form, .json], [14, 16, 40, 100, 4096])
    func epilogue(input: BodyEncoding, mebibytes: Int) throws {
        let types: [BodyEncoding: String] = [
            .multipart: "multipart/form-data; boundary=b", .form: "application/x-www-form-urlencoded",
            .json: "application/json",
        ]
        let made = try Conversion.make(plan: plan(input, .multipart), contentType: types[input, default: ""])
        let length = mebibytes << 20
        let more = try #require(made.outputBound(ofBody: length)) - length
        #expect(more > 0 && more < 500_000 - 65_536)
        // As few as a body has of whatever length, where no names are made.
        if input == .multipart { #expect(more < 60_000) }
    }

    @Test(
        "there is none for what can't be padded, nor for texts in charsets that grow",
        arguments: [BodyEncoding.form, .text, .raw, .bplist])
    func unbounded(_ output: BodyEncoding) throws {
        let conversion = try Conversion.make(plan: plan(.json, output), contentType: "application/json")
        #expect(conversion.padding == nil && conversion.outputBound(ofBody: 1 << 20) == nil)
        let latin = plan(.multipart, .json) { $0.fieldDecoding.invalidUTF8 = .latin1 }
        let other = try Conversion.make(plan: latin, contentType: "multipart/form-data; boundary=b")
        #expect(other.padding == .spaces && other.outputBound(ofBody: 1 << 20) == nil)
    }

    @Test("many fields have a bound as long as their structure is worth it")
    func worth() throws {
        let few = try Conversion.make(plan: plan(.json, .multipart), contentType: "application/json")
        #expect(few.outputBound(ofBody: 300 * 1024) != nil)
        let many = plan(.json, .multipart) { $0.limits.fields = 100_000 }
        let conversion = try Conversion.make(plan: many, contentType: "application/json")
        #expect(conversion.outputBound(ofBody: 300 * 1024) == nil)
        // A hundred thousand fields are a small part of a gigabyte.
        #expect(conversion.outputBound(ofBody: 1 << 30) != nil)
        let lifted = plan(.json, .multipart) { $0.limits.fields = .max }
        #expect(try Conversion.make(plan: lifted, contentType: "application/json").outputBound(ofBody: 1 << 20) == nil)
    }

    @Test("filenames that are written twice are in the bound, however many parts have one")
    func filenames() throws {
        // 30 bytes each, which become 30, 19 and 90.
        let name = String(repeating: "\u{e4}", count: 15)
        for output in [BodyEncoding.multipart, .json] {
            let plan = plan(.multipart, output) { $0.fieldEncoding.files = output == .json ? .base64 : .stream }
            let run = Self.run(plan, Array(Self.multipartOf(400) { "f\($0):\(name)=1" }.utf8), slice: 999)
            #expect(run.failure == nil && !run.announced.isEmpty)
            #expect(run.announced.allSatisfy { $0 >= run.length })
        }
        // The default limits leave an upload of 300 KiB its bound, without a rule for files and with one.
        let plain = try Conversion.make(
            plan: plan(.multipart, .multipart), contentType: "multipart/form-data; boundary=b")
        #expect(plain.outputBound(ofBody: 300 * 1024) != nil)
        let ruled = plan(.multipart, .multipart) {
            $0.files = [FileRule(path: path("f"), policy: .stream, filename: .field(path("name")))]
        }
        let conversion = try Conversion.make(plan: ruled, contentType: "multipart/form-data; boundary=b")
        #expect(conversion.outputBound(ofBody: 300 * 1024) != nil)
    }

    @Test("an upload that begins with long filenames has room for more like them", arguments: [600, 900])
    func longFilenames(_ count: Int) throws {
        let name = String(repeating: "\u{e4}", count: 120) + ".txt"
        let content = String(repeating: "x", count: 2048)
        let body = Array(Self.multipartOf(count) { "f\($0):\(name)=\(content)" }.utf8)
        for output in [BodyEncoding.multipart, .json] {
            let plan = plan(.multipart, output) { $0.fieldEncoding.files = output == .json ? .base64 : .stream }
            let run = Self.run(plan, body, slice: 64 * 1024)
            #expect(run.failure == nil && !run.announced.isEmpty)
            #expect(run.announced.allSatisfy { $0 >= run.length })
            #expect(run.announced.allSatisfy { $0 - run.length <= body.count / 3 })
        }
    }

    @Test("one long filename before a large file costs its upload nothing", arguments: [1 << 20, 1 << 23])
    func oneFilename(_ length: Int) throws {
        let name = String(repeating: "\u{e4}", count: 100)
        let content = String(repeating: "x", count: length)
        func first(_ name: String) throws -> Int {
            let run = Self.run(
                plan(.multipart, .multipart), Array(multipart("f:\(name)=\(content)").utf8), slice: 64 * 1024)
            return try #require(run.announced.first) - run.length
        }
        #expect(abs(try first(name) - first("a.txt")) <= 1024)
    }

    @Test(
        "of filenames that come 180 count, at n - 1, n and n + 1, by the parts that may come and by the bytes that are left"
    )
    func countedFilenames() throws {
        func bound(parts: Int, body: Int, _ style: FilenameStyle = .both) throws -> Int {
            let plan = plan(.multipart, .multipart) {
                $0.limits.parts = parts
                $0.fieldEncoding.filenames = style
            }
            let made = try Conversion.make(plan: plan, contentType: "multipart/form-data; boundary=b")
            return try #require(made.outputBound(ofBody: body)) - body
        }
        // One more than may come is counted: the one that is being read.
        let growth = 19 + 3 * 40
        for parts in [1, 177, 178, 179, 180, 181] {
            let more = try bound(parts: parts + 1, body: 300_000) - bound(parts: parts, body: 300_000)
            #expect(more == (parts + 1 < 180 ? growth : 0), "\(parts)")
        }
        for count in [1, 177, 178, 179, 180] {
            let more = try bound(parts: 1000, body: 45 * (count + 1)) - bound(parts: 1000, body: 45 * count)
            #expect(more == (count + 1 < 180 ? growth : 0), "\(count)")
        }
        // Some 24 KiB, whatever more may come.
        let (most, least) = (try bound(parts: 700, body: 300_000), try bound(parts: 0, body: 300_000))
        #expect(most - least == 179 * growth)
        // A style that writes them once counts none, not even the one that is being read.
        #expect(try bound(parts: 700, body: 300_000, .plain) == least - growth)
    }

    @Test("a rule's filename counts as it is written", arguments: [15, 200], FilenameStyle.allCases)
    func ruledFilenames(_ count: Int, _ style: FilenameStyle) throws {
        let name = String(repeating: "\u{e4}", count: count) + ".txt"
        let body = Self.repeated({ _ in "\"eA==\"" }, count: 900, before: "{\"list\":[", between: ",", after: "]}")
        for isSet in [false, true] {
            let plan = plan(.json, .multipart) {
                $0.fieldEncoding.filenames = style
                let filename: FileRule.Filename = isSet ? .field(path("k")) : .literal(name)
                $0.files = [FileRule(path: path("list[*]"), policy: .stream, source: .base64, filename: filename)]
                if isSet { $0.map.set = [.init(path: path("k"), value: .source(0))] }
            }
            let run = Self.run(plan, Array(body.utf8), slice: 999, sources: [Array(name.utf8)])
            #expect(run.failure == nil)
            #expect(run.announced.allSatisfy { $0 >= run.length }, "\(isSet)")
        }
    }

    @Test("a filename that set writes has room where parts pass, too")
    func filenamesOfSet() throws {
        let plan = plan(.multipart, .multipart) {
            $0.files = [FileRule(path: path("f"), policy: .stream, filename: .field(path("k")))]
            $0.map.set = [.init(path: path("k"), value: .source(0))]
        }
        let content = String(repeating: "x", count: 30_000)
        // A longer one in front lets expect fewer.
        let body = Array(Self.multipartOf(60) { "f:a=\(content)" + ($0 == 0 ? content.prefix(15_000) : "") }.utf8)
        let name = Array(String(repeating: "\u{65e5}", count: 250).utf8)
        let run = Self.run(plan, body, slice: 64 * 1024, sources: [name])
        #expect(run.failure == nil && !run.announced.isEmpty)
        #expect(run.announced.allSatisfy { $0 >= run.length })
    }

    @Test("a filename that a field gives takes 255 bytes, however it is written")
    func filenamesOfFields() throws {
        func bound(_ filename: FileRule.Filename?, _ style: FilenameStyle) throws -> Int {
            let plan = plan(.json, .multipart) {
                $0.fieldEncoding.filenames = style
                $0.files = [FileRule(path: path("f"), policy: .stream, source: .base64, filename: filename)]
            }
            let made = try Conversion.make(plan: plan, contentType: "application/json")
            return try #require(made.outputBound(ofBody: 1000))
        }
        // Of a document of 1000 bytes 500 members may come, and one is being read.
        for style in FilenameStyle.allCases {
            #expect(try bound(.field(path("k")), style) - bound(nil, style) == 501 * 255)
        }
    }

    static let headRules: [@Sendable (ConversionPlan) -> ConversionPlan] = [
        { $0.renaming("title", to: "the_long_title_of_it_and_of_all_that_is_like_it_and_more") },
        { $0.with(FileRule(path: path("f"), policy: .stream, filename: .literal("\u{65e5}\u{672c}\u{8a9e}.bin"))) },
        { $0.with(FileRule(path: path("f"), policy: .stream, filename: .field(path("title")))) },
        { $0.with(FileRule(path: path("f"), policy: .stream, filename: .literal("x.bin"), mediaType: "image/png")) },
        { $0.with(FileRule(path: path("f"), policy: .stream, types: [MediaPattern("*/*")!])) },
    ]

    @Test(
        "where heads become longer less than 60,000 bytes are left, however long the body is",
        arguments: 0..<5)
    func longerHeads(_ index: Int) throws {
        let plan = Self.headRules[index](plan(.multipart, .multipart))
        let boundary = "----WebKitFormBoundaryAbCdEfGhIjKlMnOp"
        func body(_ parts: String...) -> [UInt8] {
            let head = "\r\nContent-Disposition: form-data; name="
            return Array((parts.map { "--\(boundary)\(head)\($0)\r\n" }.joined() + "--\(boundary)--\r\n").utf8)
        }
        for size in [300_000, 2_000_000] {
            let long = String(repeating: "x", count: size)
            for whole in [
                body("\"title\"\r\n\r\na", "\"f\"; filename=\"a\"\r\n\r\n\(long)"),
                body("\"title\"\r\n\r\na", "\"g\"\r\n\r\n\(long)", "\"f\"; filename=\"a\"\r\n\r\n1"),
            ] {
                let run = Self.run(plan, whole, slice: 64 * 1024, type: "multipart/form-data; boundary=\(boundary)")
                #expect(run.failure == nil && run.length >= whole.count)
                #expect(run.announced.allSatisfy { run.length <= $0 && $0 < run.length + 60_000 })
            }
        }
    }

    static let dataNames = ["f", "a[b]", "a[b][c][d]", "a[0][b][c][d][e]", "a[b][c][d][e][f][g][h][i][j]"]

    @Test("data of a property list has room for its lines, or no bound, however deep it stands", arguments: dataNames)
    func dataLines(_ name: String) throws {
        for length in [300_000, 2_000_000] {
            let file = String(repeating: "x", count: length)
            let body = Array(multipart("a=1", "\(name):a.bin=\(file)", "g:b.bin=1").utf8)
            for policy in [FilePolicy.base64, .object] {
                let nested = plan(.multipart, .plist) { $0.fieldEncoding.files = policy }
                let flat = plan(.multipart, .plist) {
                    $0.fieldEncoding.files = policy
                    $0.fieldDecoding.nesting = .flat
                }
                let limited = plan(.multipart, .plist) {
                    $0.fieldEncoding.files = policy
                    $0.limits.keyDepth = 2
                }
                for (plan, isKnown) in [(nested, length < 1_000_000), (flat, true), (limited, true)] {
                    let made = try Conversion.make(plan: plan, contentType: "multipart/form-data; boundary=b")
                    // Where names can lead deep, nobody knows how deep those to come do.
                    #expect((made.outputBound(ofBody: body.count) != nil) == isKnown, "\(length) \(policy)")
                    let run = Self.run(plan, body, slice: 64 * 1024)
                    #expect(run.announced.allSatisfy { $0 >= run.length }, "\(length) \(policy)")
                }
                let run = Self.run(flat, body, slice: 64 * 1024)
                let first = try #require(run.announced.first)
                #expect(run.failure == nil && first - run.length <= body.count / 16 + 100 * 1024)
            }
        }
    }

    @Test("so has the one file of a raw body", arguments: ["f", "a[b]", "a[b][c][d]", "a[b][c][d][e][f][g][h][i][j]"])
    func dataOfRaw(_ field: String) {
        for length in [300_000, 2_000_000] {
            let body = [UInt8](repeating: 1, count: length)
            let moved = plan(.raw, .plist) {
                $0.inputField = field
                $0.fieldEncoding.files = .base64
                $0.map.rename = [.init(from: path("f"), to: path("x.y.z"))]
            }
            let run = Self.run(moved, body, slice: 64 * 1024)
            #expect(run.failure == nil)
            #expect(run.announced.allSatisfy { $0 >= run.length }, "\(length)")
            #expect(!run.announced.isEmpty || field.utf8.count > 10)
        }
    }

    @Test("files that go into parts as base64 have room", arguments: [20_000, 500_000])
    func base64Parts(_ length: Int) {
        let general = plan(.multipart, .multipart) { $0.fieldEncoding.files = .base64 }
        let ruled = plan(.multipart, .multipart).with(FileRule(path: path("f"), policy: .base64))
        let file = String(repeating: "x", count: length)
        for plan in [general, ruled] {
            for body in [multipart("f:a.bin=\(file)"), multipart("a=1", "f:a=\(file)", "f:b=\(file)", "b=2")] {
                let run = Self.run(plan, Array(body.utf8), slice: 48 * 1024)
                #expect(run.failure == nil && !run.announced.isEmpty)
                #expect(run.announced.allSatisfy { $0 >= run.length })
            }
        }
    }

    @Test("files whose heads a rule makes longer have room, however many", arguments: 0..<5)
    func manyLongerHeads(_ index: Int) {
        let plan = Self.headRules[index](plan(.multipart, .multipart))
        for (count, content) in [(20, 30_000), (300, 2000), (900, 600), (900, 1)] {
            let text = String(repeating: "x", count: content)
            let run = Self.run(
                plan, Array(Self.multipartOf(count) { $0 == 0 ? "title=a" : "f:a=\(text)" }.utf8), slice: 999)
            #expect(run.failure == nil && !run.announced.isEmpty)
            #expect(run.announced.allSatisfy { $0 >= run.length }, "\(count)")
        }
    }

    @Test("a bound is loose where values of a document become files, and there aren't many of them")
    func loose() throws {
        let photo = FileRule(path: path("photo"), policy: .stream, source: .base64)
        let types: [BodyEncoding: String] = [
            .multipart: "multipart/form-data; boundary=b", .form: "application/x-www-form-urlencoded",
            .json: "application/json",
        ]
        func isLoose(_ input: BodyEncoding, files: [FileRule], beginning: String = "") throws -> Bool {
            let made = try Conversion.make(
                plan: plan(input, .multipart) { $0.files = files }, contentType: types[input, default: ""])
            _ = try made.feed(Array(beginning.utf8).span)
            return made.hasLooseBound(ofBody: 1 << 20)
        }
        #expect(try isLoose(.json, files: [photo]))
        #expect(try isLoose(.json, files: [photo], beginning: #"{"photo":"QUJD"#))
        #expect(try isLoose(.form, files: [photo]))
        #expect(try !isLoose(.json, files: []))
        #expect(try !isLoose(.multipart, files: [photo]))
        #expect(try !isLoose(.json, files: [photo], beginning: "{\"l\":[" + String(repeating: "1,", count: 3000)))
    }

    @Test("a plan says whether a body may go out without a length")
    func notes() {
        let changes: [(isPadded: Bool, (inout ConversionPlan) -> Void)] = [
            (false, { _ in }), (false, { $0.map.rename = [.init(from: path("a"), to: path("b"))] }),
            (false, { $0.files = [FileRule(path: path("f"), policy: .stream)] }),
            (false, { ($0.fieldDecoding.dialect, $0.fieldEncoding.dialect) = (.whatwg, .whatwg) }),
            (true, { ($0.fieldDecoding.dialect, $0.fieldEncoding.dialect) = (.php, .php) }),
            (true, { $0.fieldEncoding.dialect = .php }), (true, { $0.fieldEncoding.dialect = .rack }),
            (true, { $0.map.rename = [.init(from: path("a"), to: path("bb"))] }),
            (false, { $0.map.rename = [.init(from: path("a[b]"), to: path("c[d]"))] }),
            (true, { $0.map.rename = [.init(from: path("a.b.c.d"), to: path("a234567890"))] }),
            (true, { $0.map.rename = [.init(from: path("abcdef"), to: FieldPath([.key(Array("a\"b".utf8))]))] }),
            (true, { $0.map.remove = [path("a")] }),
            (true, { $0.fieldDecoding.transferEncoding = .decode }),
            (true, { $0.map.set = [.init(path: path("a"), value: .literal(.string("b")))] }),
            (true, { $0.files = [FileRule(path: path("f"), policy: .drop)] }),
            (true, { $0.files = [FileRule(path: path("f"), policy: .stream, filename: .literal("b"))] }),
            (false, { $0.files = [FileRule(path: path("f"), policy: .stream, types: [MediaPattern("image/*")!])] }),
            // A file without a type is taken for application/octet-stream, and told so.
            (true, { $0.files = [FileRule(path: path("f"), policy: .stream, types: [MediaPattern("*/*")!])] }),
            (true, { $0.fieldEncoding.files = .drop }), (true, { $0.fieldDecoding.mixed = .flatten }),
            (true, { $0.fieldDecoding.invalidUTF8 = .replace }),
            // Texts that are replaced become longer, as the dialect has it; else its length is known.
            (true, { $0.fieldDecoding = .init(dialect: .whatwg) }),
            (
                false,
                {
                    $0.fieldDecoding = .init(dialect: .whatwg)
                    $0.fieldDecoding.invalidUTF8 = .reject
                    $0.fieldEncoding = .init(dialect: .whatwg)
                }
            ),
        ]
        for (index, change) in changes.enumerated() {
            let note = plan(.multipart, .multipart, change.1).framingNote
            #expect(note?.code == (change.isPadded ? "framing_padded" : nil), "\(index)")
        }
        let photo = FileRule(path: path("photo"), policy: .stream, source: .base64)
        #expect(plan(.json, .multipart) { $0.files = [photo] }.framingNote == nil)
        #expect(plan(.form, .multipart).framingNote == nil)
        #expect(plan(.multipart, .json) { $0.fieldEncoding.files = .base64 }.framingNote == nil)
        #expect(plan(.json, .json).framingNote == nil)
        #expect(plan(.json, .multipart).framingNote == nil)
        #expect(plan(.form, .json).framingNote == nil)
        #expect(plan(.xml, .json).framingNote == nil)
        #expect(plan(.json, .form) { $0.types = [TypeRule(path: path("a"), type: .integer)] }.framingNote == nil)
        #expect(plan(.json, .form).framingNote?.code == "framing_chunked")
        #expect(plan(.multipart, .raw).framingNote?.code == "framing_chunked")
        #expect(plan(.multipart, .plist) { $0.fieldEncoding.files = .base64 }.framingNote?.code == "framing_chunked")
        #expect(plan(.multipart, .plist) { $0.fieldEncoding.files = .drop }.framingNote == nil)
        #expect(plan(.multipart, .plist) { $0.fieldDecoding.nesting = .flat }.framingNote == nil)
        #expect(plan(.json, .multipart) { $0.limits.fields = 10_000 }.framingNote?.code == "framing_chunked")
        #expect(plan(.xml, .form) { $0.limits.tree = 64 << 20 }.framingNote?.code == "framing_chunked")
    }
}

extension ConversionPlan {
    fileprivate func renaming(_ name: String, to other: String) -> ConversionPlan {
        var plan = self
        plan.map.rename = [.init(from: path(name), to: path(other))]
        return plan
    }

    fileprivate func with(_ rule: FileRule) -> ConversionPlan {
        var plan = self
        plan.files = [rule]
        return plan
    }
}
