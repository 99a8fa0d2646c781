import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// What is declared of single files: what makes a text or an object one, its name, type and size.
@Suite("File rules")
struct FileRuleTests {
    static func row(
        _ from: BodyEncoding, _ to: BodyEncoding, _ input: String, _ expected: String, _ rules: FileRule...,
        change: (inout ConversionPlan) -> Void = { _ in }
    ) -> PipelineRow {
        PipelineRow(from, to, input, expected) { plan in
            plan.files = rules
            change(&plan)
        }
    }

    static func rule(_ text: String, _ source: FileSource, _ change: (inout FileRule) -> Void = { _ in }) -> FileRule {
        var rule = FileRule(path: path(text), policy: .stream, source: source)
        change(&rule)
        return rule
    }

    static let f = "application/octet-stream"

    static let sources: [PipelineRow] = [
        row(.json, .multipart, #"{"f":"QUJD"}"#, "f:blob:\(f)=ABC", rule("f", .base64)),
        row(.json, .multipart, #"{"f":"data:text/x;base64,QUJD"}"#, "f:blob:text/x=ABC", rule("f", .base64)),
        row(.json, .multipart, #"{"f":""}"#, "f:blob:\(f)=", rule("f", .base64)),
        row(.json, .multipart, #"{"f":"d"}"#, "!file_base64 f", rule("f", .base64)),
        row(.json, .multipart, #"{"f":"QUJD\n"}"#, "!file_base64 f", rule("f", .base64)),
        row(.json, .multipart, #"{"f":"-_-_"}"#, "!file_base64 f", rule("f", .base64)),
        // base64url, RFC 4648 section 5.
        row(.json, .multipart, #"{"f":"fn5-Pz8_"}"#, "f:blob:\(f)=~~~???", rule("f", .base64url)),
        row(.json, .multipart, #"{"f":"QQ"}"#, "f:blob:\(f)=A", rule("f", .base64url)),
        row(.json, .multipart, #"{"f":"QQ=="}"#, "f:blob:\(f)=A", rule("f", .base64url)),
        row(.json, .multipart, #"{"f":"QUI"}"#, "f:blob:\(f)=AB", rule("f", .base64url)),
        row(.json, .multipart, #"{"f":"QUI="}"#, "f:blob:\(f)=AB", rule("f", .base64url)),
        row(.json, .multipart, #"{"f":"QQ="}"#, "!file_base64 f", rule("f", .base64url)),
        row(.json, .multipart, #"{"f":"Q"}"#, "!file_base64 f", rule("f", .base64url)),
        row(.json, .multipart, #"{"f":"QR"}"#, "!file_base64 f", rule("f", .base64url)),
        row(.json, .multipart, #"{"f":"fn5+Pz8_"}"#, "!file_base64 f", rule("f", .base64url)),
        row(.json, .multipart, #"{"f":"data:x/y;base64,QUJD"}"#, "!file_base64 f", rule("f", .base64url)),
        // Data URLs, RFC 2397.
        row(.json, .multipart, #"{"f":"data:image/png;base64,QUJD"}"#, "f:blob:image/png=ABC", rule("f", .dataURL)),
        row(
            .json, .multipart, #"{"f":"DATA:text/x;charset=utf-8;BASE64,QUJD"}"#, "f:blob:text/x;charset=utf-8=ABC",
            rule("f", .dataURL)),
        row(
            .json, .multipart, #"{"f":"data:;base64,QUJD"}"#, "f:blob:text/plain;charset=US-ASCII=ABC",
            rule("f", .dataURL)),
        row(
            .json, .multipart, #"{"f":"data:;charset=utf-8;base64,QQ=="}"#, "f:blob:text/plain;charset=utf-8=A",
            rule("f", .dataURL)),
        row(
            .json, .multipart, #"{"f":"data:,A%20b%2C"}"#, "f:blob:text/plain;charset=US-ASCII=A b,",
            rule("f", .dataURL)),
        row(.json, .multipart, #"{"f":"data:image/png,QUJD"}"#, "f:blob:image/png=QUJD", rule("f", .dataURL)),
        row(.json, .multipart, #"{"f":"data:a/b,"}"#, "f:blob:a/b=", rule("f", .dataURL)),
        row(.json, .multipart, #"{"f":"data:a/b;base64,QUI%3D"}"#, "f:blob:a/b=AB", rule("f", .dataURL)),
        row(
            .json, .multipart, #"{"f":"data:a/b;x=\"a,\\\"b\";base64,QQ=="}"#, #"f:blob:a/b;x="a,\"b"=A"#,
            rule("f", .dataURL)),
        row(
            .json, .multipart, #"{"f":"data:a/b;x=\"a,b\",c,%41"}"#, #"f:blob:a/b;x="a,b"=c,A"#, rule("f", .dataURL)),
        row(.json, .multipart, #"{"f":"data:a/b,%4"}"#, "!file_data_url f", rule("f", .dataURL)),
        row(.json, .multipart, #"{"f":"data:a/b,%x1"}"#, "!file_data_url f", rule("f", .dataURL)),
        row(.json, .multipart, #"{"f":"data:a/b;base64,%5F"}"#, "!file_base64 f", rule("f", .dataURL)),
        row(.json, .multipart, #"{"f":"data:a/b;x=\"y,QQ=="}"#, "!file_data_url f", rule("f", .dataURL)),
        row(.json, .multipart, #"{"f":"data:image/png,QUJD"}"#, "!file_base64 f", rule("f", .base64)),
        row(.json, .multipart, #"{"f":"data:image/png;base64"}"#, "!file_data_url f", rule("f", .dataURL)),
        row(.json, .multipart, #"{"f":"data:image;base64,QUJD"}"#, "!file_data_url f", rule("f", .dataURL)),
        row(.json, .multipart, #"{"f":"data:a/b\r\nX: y;base64,QQ=="}"#, "!file_data_url f", rule("f", .dataURL)),
        row(.json, .multipart, #"{"f":"QUJD"}"#, "!file_data_url f", rule("f", .dataURL)),
        row(.json, .multipart, #"{"f":"data"}"#, "!file_data_url f", rule("f", .dataURL)),
        row(.json, .multipart, #"{"f":""}"#, "!file_data_url f", rule("f", .dataURL)),
        row(.json, .multipart, #"{"f":"data:image/png;base64,QUI"}"#, "!file_base64 f", rule("f", .dataURL)),
        row(
            .json, .multipart, #"{"f":"data:image/png;base64,QUJD"}"#, "f:x:a/b=ABC",
            rule("f", .dataURL) { ($0.filename, $0.mediaType) = (.literal("x"), "a/b") }),
        // What is no text.
        row(.json, .multipart, #"{"f":1}"#, "!file_not_text f", rule("f", .base64)),
        row(.json, .multipart, #"{"f":{}}"#, "!file_not_text f", rule("f", .base64)),
        row(.json, .multipart, #"{"f":null}"#, "f=", rule("f", .base64)),
        row(.json, .multipart, #"{"f":[["QQ=="]]}"#, "!file_not_text f[0]", rule("f", .base64)),
        // Flat input.
        row(.form, .multipart, "a=1&f=QUJD&b=2", "a=1|f:blob:\(f)=ABC|b=2", rule("f", .base64)),
        row(.form, .multipart, "f=QUJD", "f:blob:\(f)=ABC", FileRule(path: path("f"), policy: .base64)),
        row(.form, .multipart, "f[]=QQ==&f[]=Qg==", "f[]:blob:\(f)=A|f[]:blob:\(f)=B", rule("f", .base64)),
        row(.form, .multipart, "f=data:a/b;base64,QUJD", "f:blob:a/b=ABC", rule("f", .dataURL)),
        row(.form, .multipart, "f=x", "!file_base64 f", rule("f", .base64)),
        row(.form, .multipart, "f=QUJD&a=1", "f:blob:\(f)=ABC|a=1", rule("f", .base64)) {
            $0.fieldEncoding.order = .sorted
        },
        row(
            .multipart, .multipart, multipart("f=QUJD", "f:x:a/b=ABC", "g:y:c/d=z"),
            "f:blob:\(f)=ABC|f:x:a/b=ABC|g:y:c/d=z", rule("f", .base64)),
        row(.form, .multipart, "g=QUJD&n=x.txt", "f:blob:\(f)=ABC|n=x.txt", rule("f", .base64)) {
            $0.map.rename = [.init(from: path("g"), to: path("f"))]
        },
        row(
            .form, .multipart, "n=x.txt&f=QUJD", "n=x.txt|f:x.txt:\(f)=ABC",
            rule("f", .base64) { $0.filename = .field(path("n")) }),
    ]

    private static func named(_ text: String, _ name: String) -> FileRule {
        rule(text, .base64) { $0.name = FileNameTemplate(name) }
    }

    /// Fields beside files whose names a rule gives: the field may come first or last.
    static let clashes: [PipelineRow] = [
        row(.json, .multipart, #"{"f":["QQ=="],"p0":"clash"}"#, "!map_conflict p0", named("f[*]", "p{index}")),
        row(.json, .multipart, #"{"p0":"clash","f":["QQ=="]}"#, "!map_conflict p0", named("f[*]", "p{index}")),
        row(.json, .multipart, #"{"f":["QQ=="],"p1":"x","p":1}"#, "p0:blob:\(f)=A|p1=x|p=1", named("f[*]", "p{index}")),
        row(.json, .multipart, #"{"p1":"x","f":["QQ==","QQ=="]}"#, "!map_conflict p1", named("f[*]", "p{index}")),
        row(
            .json, .multipart, #"{"p00":"x","p01":1,"f":["QQ=="]}"#, "p00=x|p01=1|p0:blob:\(f)=A",
            named("f[*]", "p{index}")),
        row(.json, .multipart, #"{"p0":{"x":1},"f":["QQ=="]}"#, "!map_conflict p0", named("f[*]", "p{index}")),
        row(.json, .multipart, #"{"a":1,"f":"QQ=="}"#, "!map_conflict a[b]", named("f", "a[b]")),
        row(.json, .multipart, #"{"f":"QQ==","a":1}"#, "!map_conflict a", named("f", "a[b]")),
        row(.json, .multipart, #"{"f":"QQ==","a":{"c":1}}"#, "a[b]:blob:\(f)=A|a[c]=1", named("f", "a[b]")),
        row(.json, .multipart, #"{"f":"QQ==","a":[1]}"#, "!map_conflict a[]", named("f", "a[b]")),
        row(.json, .multipart, #"{"f":"QQ==","a":{"b":1}}"#, "!map_conflict a[b]", named("f", "a")),
        row(.json, .multipart, #"{"f":"QQ==","ab":1}"#, "a:blob:\(f)=A|ab=1", named("f", "a")),
        row(.json, .multipart, #"{"f":["QQ=="],"l":[1]}"#, "!map_conflict l[]", named("f[*]", "l[{index}]")),
        row(.json, .multipart, #"{"f":["QQ=="],"l":1}"#, "!map_conflict l", named("f[*]", "l[{index}]")),
        row(.json, .multipart, #"{"f":["QQ=="],"l":{"7":1}}"#, "l[0]:blob:\(f)=A|l[7]=1", named("f[*]", "l[{index}]")),
        row(.json, .multipart, #"{"f":["QQ==","Qg=="]}"#, "f[]:blob:\(f)=A|f[]:blob:\(f)=B", named("f", "f[]")),
        row(.json, .multipart, #"{"f":["QQ==","Qg=="]}"#, "x:blob:\(f)=A|x:blob:\(f)=B", named("f", "x")),
        row(.form, .multipart, "f=QQ==&a=1", "!map_conflict a", named("f", "a")),
        row(.form, .multipart, "a=1&f=QQ==", "!map_conflict a", named("f", "a")),
        row(.form, .multipart, "a=1&f=QQ==", "!map_conflict a", named("f", "a")) { $0.fieldEncoding.order = .sorted },
        row(
            .multipart, .multipart, multipart("a=1", "f:x:a/b=z"), "!map_conflict a",
            FileRule(path: path("f"), policy: .stream, name: FileNameTemplate("a"))),
        row(
            .multipart, .multipart, multipart("f:x:a/b=z", "a:y:a/b=z"), "!map_conflict a",
            FileRule(path: path("f"), policy: .stream, name: FileNameTemplate("a"))),
        row(
            .multipart, .multipart, multipart("f:x:a/b=z", "f:y:a/b=z"), "a:x:a/b=z|a:y:a/b=z",
            FileRule(path: path("f"), policy: .stream, name: FileNameTemplate("a"))),
    ]

    @Test("a name that a rule gives a file may be no other field's", arguments: clashes)
    func clash(_ row: PipelineRow) {
        let result = convert(row.plan, row.input)
        // Which of the two is named depends on the way, and no matter.
        let code = row.expected.hasPrefix("!") ? "!map_conflict" : row.expected
        #expect(row.expected.hasPrefix("!") ? result.hasPrefix(code) : result == code, "\(row): \(result)")
    }

    @Test("two rules that give one name are a mistake of the settings")
    func twoNames() {
        func codes(_ first: String, _ second: String) -> [String] {
            plan(.json, .multipart) { $0.files = [Self.named("a", first), Self.named("b", second)] }.validate().map(
                \.code)
        }
        for (first, second) in [
            ("x", "x"), ("p{index}", "p{index}"), ("p{index}", "p0"), ("p12", "p{index}"), ("x", "x[a]"), ("x[a]", "x"),
            ("x[]", "x[a]"), ("x[a]", "x[]"), ("x[{index}]", "x[]"), ("x", "x[]"), ("x[]", "x"),
        ] {
            #expect(codes(first, second) == ["plan_files"], "\(first) \(second)")
        }
        for (first, second) in [
            ("x", "y"), ("p{index}", "p"), ("p{index}", "q{index}"), ("x[a]", "x[b]"), ("x[]", "x[]"), ("x", "xy"),
            ("p{index}", "p01"),
        ] {
            #expect(codes(first, second) == [], "\(first) \(second)")
        }
    }

    @Test("a value becomes a file in the way that its rule says", arguments: sources)
    func source(_ row: PipelineRow) { row.check() }

    static let objects: [PipelineRow] = [
        row(
            .json, .multipart, #"{"a":1,"f":{"filename":"p.png","content_type":"image/png","data":"QUJD"},"b":2}"#,
            "a=1|f:p.png:image/png=ABC|b=2", rule("f", .object)),
        row(
            .json, .multipart, #"{"f":{"data":"QUJD"}}"#, "f:blob:\(f)=ABC", FileRule(path: path("f"), policy: .object)),
        row(
            .json, .multipart, #"{"f":{"content_type":null,"filename":null,"data":""}}"#, "f:blob:\(f)=",
            rule("f", .object)),
        row(
            .json, .multipart, #"{"f":[{"filename":"a","data":"QQ=="},{"filename":"b","data":"Qg=="}]}"#,
            "f[]:a:\(f)=A|f[]:b:\(f)=B", rule("f", .object)),
        row(
            .json, .multipart, #"{"f":[{"filename":"a","data":"QQ=="}]}"#, "f[]:a:\(f)=A", rule("f[*]", .object)),
        row(
            .json, .multipart, #"{"f":{"filename":"a","content_type":"x/y","data":"QQ=="}}"#, "g:z:a/b=A",
            rule("f", .object) {
                ($0.filename, $0.mediaType, $0.name) = (.literal("z"), "a/b", FileNameTemplate("g"))
            }),
        row(.json, .multipart, #"{"f":{"filename":"a"}}"#, "!file_object_data f", rule("f", .object)),
        row(.json, .multipart, #"{"f":{"data":null}}"#, "!file_object_data f", rule("f", .object)),
        row(.json, .multipart, #"{"f":{}}"#, "!file_object_data f", rule("f", .object)),
        row(.json, .multipart, #"{"f":{"data":"QQ==","filename":"a"}}"#, "!file_object_order f", rule("f", .object)),
        row(
            .json, .multipart, #"{"f":{"data":"QQ==","content_type":"a"}}"#, "!file_object_order f", rule("f", .object)),
        row(.json, .multipart, #"{"f":{"x":1,"data":"QQ=="}}"#, "!file_object_member f", rule("f", .object)),
        row(.json, .multipart, #"{"f":{"filename":1,"data":"QQ=="}}"#, "!file_object_member f", rule("f", .object)),
        row(.json, .multipart, #"{"f":{"filename":{},"data":"QQ=="}}"#, "!file_object_member f", rule("f", .object)),
        row(.json, .multipart, #"{"f":{"filename":[],"data":"QQ=="}}"#, "!file_object_member f", rule("f", .object)),
        row(.json, .multipart, #"{"f":{"data":"Q"}}"#, "!file_base64 f", rule("f", .object)),
        row(.json, .multipart, #"{"f":{"data":"data:a/b;base64,QQ=="}}"#, "!file_base64 f", rule("f", .object)),
        row(.json, .multipart, #"{"f":"QQ=="}"#, "!file_not_text f", rule("f", .object)),
        row(
            .json, .multipart, #"{"f":{"filename":"a\r\nX: y","data":"QQ=="}}"#, "f:a\r\nX: y:\(f)=A",
            rule("f", .object)),
        row(
            .json, .multipart, #"{"f":{"content_type":"a/b\r\nX: y","data":"QQ=="}}"#,
            "!multipart_media_type_unwritable f", rule("f", .object)),
        row(
            .json, .multipart, #"{"f":{"content_type":"a\"; filename=\"evil.php","data":"QQ=="}}"#,
            "!multipart_media_type_unwritable f", rule("f", .object)),
        row(
            .json, .multipart, #"{"f":{"content_type":"a/b\u0085","data":"QQ=="}}"#,
            "!multipart_media_type_unwritable f", rule("f", .object)),
        row(
            .json, .multipart, #"{"f":{"content_type":"a/b; c=\"\u2028\"","data":"QQ=="}}"#,
            "!multipart_media_type_unwritable f", rule("f", .object)),
        row(
            .json, .multipart, #"{"f":{"content_type":"a/b; c d","data":"QQ=="}}"#,
            "!multipart_media_type_unwritable f", rule("f", .object)),
        row(
            .json, .multipart, #"{"f":{"content_type":"a/b;c=\"d\\\"\" ; e=f;","data":"QQ=="}}"#,
            #"f:blob:a/b;c="d\"" ; e=f;=A"#, rule("f", .object)),
        row(.json, .multipart, #"{"f":{"content_type":"","data":"QQ=="}}"#, "f:blob:\(f)=A", rule("f", .object)),
        row(.json, .multipart, #"{"f":"data:a/b;c=\u00e9;base64,QQ=="}"#, "!file_base64 f", rule("f", .base64)),
        row(
            .json, .multipart, #"{"f":{"filename":"dir/sub/a.txt","data":"QQ=="}}"#, "f:dir/sub/a.txt:\(f)=A",
            rule("f", .object)),
        row(.json, .multipart, #"{"f":{"filename":"dir/a.txt","data":"QQ=="}}"#, "f:a.txt:\(f)=A", rule("f", .object)) {
            $0.fieldDecoding.filenames = .base
        },
        row(
            .json, .multipart, #"{"f":{"filename":"//","data":"QQ=="}}"#, "!multipart_filename_empty f",
            rule("f", .object)
        ) { $0.fieldDecoding.filenames = .base },
        row(.json, .multipart, #"{"f":{"filename":"a","data":"QQ=="},"b":"7"}"#, "f:a:\(f)=A|b=7", rule("f", .object)) {
            $0.types = [TypeRule(path: path("b"), type: .integer)]
        },
    ]

    @Test("an object is a file, and what is said of it precedes its data", arguments: objects)
    func object(_ row: PipelineRow) { row.check() }

    @Test("files go to JSON as objects and come back the same")
    func roundTrip() {
        let body = multipart("a=1", "f:p.png:image/png=\u{0}\u{ff}x", "g::=G", "l[]:x:a/b=1", "l[]:y:c/d=2")
        let there = ConversionRun.run(
            plan(.multipart, .json) { $0.fieldEncoding.files = .object }, .whole(Array(body.utf8)))
        #expect(there.failure == nil)
        let back = plan(.json, .multipart) { plan in
            plan.files = ["f", "g", "l"].map { FileRule(path: path($0), policy: .object) }
        }
        // But for a name that is none, with which servers would lose the file.
        #expect(
            convert(back, there.result)
                == "f:p.png:image/png=\u{0}\u{ff}x|g:blob:application/octet-stream=G|l[]:x:a/b=1|l[]:y:c/d=2|a=1")
        #expect(ConversionRun.run(back, .whole(there.output.bytes)).accounting.files == 4)
        #expect(ConversionRun.run(back, .whole(there.output.bytes)).accounting.fields == 1)
    }

    @Test("the accounting of a tree counts an object that is a file once")
    func accounting() {
        let sorted = plan(.json, .multipart) { plan in
            plan.files = [FileRule(path: path("f"), policy: .object)]
            plan.types = [TypeRule(path: path("b"), type: .integer)]
        }
        let input = #"{"f":{"filename":"a","content_type":"x/y","data":"QQ=="},"b":1}"#
        let accounting = ConversionRun.run(sorted, .whole(Array(input.utf8))).accounting
        #expect((accounting.files, accounting.fields) == (1, 1))
    }

    static func named(_ name: String) -> (inout FileRule) -> Void { { $0.name = FileNameTemplate(name)! } }
    static let two = #"{"a":1,"photos":["QQ==","Qg=="],"b":2}"#

    /// An element has its own number, also where others have no file.
    static let numbers: [PipelineRow] = [
        row(
            .json, .multipart, #"{"items":[{"sku":"A"},{"sku":"B","photo":"QQ=="},{"photo":null},{"photo":"Qg=="}]}"#,
            "items[0][sku]=A|items[1][sku]=B|photo1:blob:\(f)=A|items[2][photo]=|photo3:blob:\(f)=B",
            rule("items[*].photo", .base64, named("photo{index}"))),
        row(
            .json, .multipart, #"{"items":[{},{"photo":{"data":"QQ=="}}]}"#, "photo1:blob:\(f)=A",
            rule("items[*].photo", .object, named("photo{index}"))
        ) { $0.fieldEncoding.empties = .omit },
        row(
            .json, .multipart, #"{"items":[{"photo":"QQ=="},{"photo":"Qg=="}]}"#, "photo0:blob:\(f)=B",
            rule("items[*].photo", .base64, named("photo{index}"))
        ) {
            $0.map.remove = [path("items[0]")]
            $0.map.rename = [.init(from: path("x"), to: path("y"))]
        },
        // Several arrays, and members of objects, are counted.
        row(
            .json, .multipart, #"{"a":[{"p":["QQ=="]},{"p":["Qg==","Qw=="]}]}"#,
            "p0:blob:\(f)=A|p1:blob:\(f)=B|p2:blob:\(f)=C", rule("a[*].p", .base64, named("p{index}"))),
        row(
            .json, .multipart, #"{"a":{"x":"QQ==","y":"Qg=="}}"#, "p0:blob:\(f)=A|p1:blob:\(f)=B",
            rule("a[*]", .base64, named("p{index}"))),
        row(
            .form, .multipart, "items[0][sku]=A&items[1][photo]=QQ==", "items[0][sku]=A|photo1:blob:\(f)=A",
            rule("items[*].photo", .base64, named("photo{index}"))),
        row(
            .form, .multipart, "items[1][photo]=QQ==&items[0][photo]=Qg==", "!files_order items[0][photo]",
            rule("items[*].photo", .base64, named("photo{index}"))),
        row(
            .form, .multipart, "items[new][photo]=QQ==&items[0][photo]=Qg==", "!files_order items[0][photo]",
            rule("items[*].photo", .base64, named("photo{index}"))),
        row(
            .multipart, .multipart, multipart("items[0][photo]:x=A", "items[0][photo]:y=B"),
            "!files_order items[0][photo]",
            rule("items[*].photo", .base64, named("photo{index}"))),
        row(
            .multipart, .multipart, multipart("items[0][photo]:x=A", "items[0][photo]:y=B"), "p:x=A|p:y=B",
            FileRule(path: path("items[*].photo"), policy: .stream, name: FileNameTemplate("p"))),
        row(
            .multipart, .multipart, multipart("items[0][photo][]:x=A", "items[0][photo][]:y=B"), "p0:x=A|p1:y=B",
            FileRule(path: path("items[*].photo"), policy: .stream, name: FileNameTemplate("p{index}"))),
        row(
            .json, .multipart, #"{"items":[{"photo":"QQ=="}],"items":[{"photo":"Qg=="}]}"#,
            "!files_order items[0].photo",
            rule("items[*].photo", .base64, named("photo{index}"))
        ) { $0.jsonDuplicates = .keep },
        row(
            .form, .multipart, "photos[]=QQ==&photos[]=Qg==", "photo0:blob:\(f)=A|photo1:blob:\(f)=B",
            rule("photos", .base64, named("photo{index}"))),
    ]

    @Test("{index} is the number of the element, where one array is meant", arguments: numbers)
    func number(_ row: PipelineRow) { row.check() }

    private static func filed(_ policy: FilePolicy, _ change: @escaping (inout FileRule) -> Void = { _ in }) -> FileRule
    {
        var rule = FileRule(path: path("f"), policy: policy)
        change(&rule)
        return rule
    }

    private static let nothing = multipart("a=1", "f::\(f)=", "b=2")

    /// An input for files in which none was chosen.
    static let nothingChosen: [PipelineRow] = [
        row(.multipart, .multipart, nothing, "a=1|f::\(f)=|b=2"),
        row(.multipart, .multipart, nothing, "a=1|f::\(f)=|b=2", filed(.reject)),
        row(.multipart, .multipart, nothing, "a=1|b=2", filed(.drop)),
        row(.multipart, .multipart, nothing, "a=1|f=|b=2", filed(.base64)),
        row(
            .multipart, .multipart, nothing, "a=1|f::\(f)=|b=2",
            filed(.stream) { $0.types = [MediaPattern("image/*")!] }),
        row(
            .multipart, .multipart, nothing, "a=1|g::\(f)=|b=2",
            filed(.stream) {
                $0.name = FileNameTemplate("g")
                $0.filename = .literal("x.txt")
                $0.mediaType = "image/png"
            }),
        row(.multipart, .multipart, nothing, "a=1|f::\(f)=|b=2", filed(.stream) { $0.image = ImageRule() }),
        row(.multipart, .json, nothing, #"{"f":null,"a":"1","b":"2"}"#) { $0.fieldEncoding.files = .base64 },
        row(.multipart, .json, nothing, #"{"f":null,"a":"1","b":"2"}"#) { $0.fieldEncoding.files = .object },
        row(.multipart, .json, nothing, #"{"f":null,"a":"1","b":"2"}"#, filed(.reject)),
        row(.multipart, .json, nothing, #"{"f":null,"a":"1","b":"2"}"#),
        row(.multipart, .json, nothing, #"{"a":"1","b":"2"}"#) { $0.fieldEncoding.files = .drop },
        row(.multipart, .json, nothing, #"{"a":"1","b":"2"}"#) { $0.removeNulls = .keys },
        row(.multipart, .json, multipart("f[]:x=A", "f[]::\(f)=", "a=1"), #"{"f":["QQ==",null],"a":"1"}"#) {
            $0.fieldEncoding.files = .base64
        },
        row(.multipart, .json, multipart("f[]:x=A", "f[]::\(f)="), #"{"f":["QQ==",null]}"#) {
            $0.fieldEncoding.files = .base64
            $0.removeNulls = .keys
        },
        row(.multipart, .json, multipart("f[]:x=A", "f[]::\(f)="), #"{"f":["QQ=="]}"#) {
            $0.fieldEncoding.files = .base64
            $0.removeNulls = .deep
        },
        row(.multipart, .json, multipart("a[0]::\(f)=", "a[1]:x=A", "a[2]::\(f)="), #"{"a":[null,"QQ==",null]}"#) {
            $0.fieldEncoding.files = .base64
            $0.removeNulls = .keys
        },
        row(.multipart, .json, multipart("a[0]::\(f)=", "a[1]:x=A", "a[2]::\(f)="), #"{"a":["QQ=="]}"#) {
            $0.fieldEncoding.files = .base64
            $0.removeNulls = .deep
        },
        row(.multipart, .json, multipart("a[0][p]::\(f)=", "a[1][p]:x=A"), #"{"a":[{},{"p":"QQ=="}]}"#) {
            $0.fieldEncoding.files = .base64
            $0.removeNulls = .deep
        },
        row(.multipart, .json, multipart("p::\(f)=", "p:x=A"), #"{"p":[null,"QQ=="]}"#) {
            $0.fieldEncoding.files = .base64
            $0.removeNulls = .keys
            $0.types = [TypeRule(path: path("p"), type: .array)]
        },
        row(.multipart, .form, nothing, "a=1&f=&b=2"),
        row(.multipart, .form, nothing, "f=&a=1&b=2") { $0.fieldEncoding.order = .sorted },
        row(.multipart, .json, nothing, #"{"a":"1","b":"2"}"#) {
            $0.fieldDecoding = FieldDecodingOptions(dialect: .rack)
        },
        // One with content is a file, and so is an empty one with a name.
        row(.multipart, .json, multipart("f::\(f)=A"), #"{"f":"QQ=="}"#) { $0.fieldEncoding.files = .base64 },
        row(.multipart, .json, multipart("f:x:\(f)="), #"{"f":""}"#) { $0.fieldEncoding.files = .base64 },
        row(.multipart, .json, multipart("f::\(f)=A"), "!files_rejected f", filed(.reject)),
        row(.multipart, .form, multipart("f:x:\(f)="), "!files_unrepresentable f"),
    ]

    @Test("an input for files in which none was chosen is no file", arguments: nothingChosen)
    func unchosen(_ row: PipelineRow) {
        row.check()
        for size in [1, 2, 7] {
            let pieces = ConversionRun.run(row.plan, .every(size, of: Array(row.input.utf8)))
            let whole = ConversionRun.run(row.plan, .whole(Array(row.input.utf8)))
            #expect(pieces == whole)
        }
    }

    static let names: [PipelineRow] = [
        row(.json, .multipart, two, "a=1|photos[]:blob:\(f)=A|photos[]:blob:\(f)=B|b=2", rule("photos", .base64)),
        row(.json, .multipart, two, "a=1|photos[]:blob:\(f)=A|photos[]:blob:\(f)=B|b=2", rule("photos[*]", .base64)),
        row(
            .json, .multipart, two, "a=1|photo0:blob:\(f)=A|photo1:blob:\(f)=B|b=2",
            rule("photos", .base64, named("photo{index}"))),
        row(
            .json, .multipart, two, "a=1|photo0:blob:\(f)=A|photo1:blob:\(f)=B|b=2",
            rule("photos[*]", .base64, named("photo{index}"))),
        row(
            .json, .multipart, two, "a=1|photos[0]:blob:\(f)=A|photos[1]:blob:\(f)=B|b=2",
            rule("photos", .base64, named("photos[{index}]"))),
        row(
            .json, .multipart, two, "a=1|photos[]:blob:\(f)=A|photos[]:blob:\(f)=B|b=2",
            rule("photos", .base64, named("photos[]"))),
        row(
            .json, .multipart, two, "a=1|photos:blob:\(f)=A|photos:blob:\(f)=B|b=2",
            rule("photos", .base64, named("photos"))
        ) { $0.fieldEncoding.arrays = .comma },
        row(.json, .multipart, two, "a=1|p:blob:\(f)=A|p:blob:\(f)=B|b=2", rule("photos", .base64, named("p"))) {
            $0.fieldEncoding.arrays = .json
        },
        row(.json, .multipart, two, "a=1|b=2|p:blob:\(f)=A|p:blob:\(f)=B", rule("photos", .base64, named("p"))) {
            $0.fieldEncoding.order = .sorted
        },
        row(.json, .multipart, #"{"photos":[]}"#, "!field_empty photos", rule("photos", .base64, named("p"))),
        row(.json, .multipart, #"{"photos":[]}"#, "", rule("photos", .base64, named("p"))) {
            $0.fieldEncoding.empties = .omit
        },
        row(.json, .multipart, #"{"photos":[null]}"#, "!file_not_text photos[0]", rule("photos", .base64, named("p"))),
        row(.json, .multipart, #"{"x":{"photos":["QQ=="]}}"#, "p:blob:\(f)=A", rule("x.photos", .base64, named("p"))),
        row(.json, .multipart, #"{"f":"QQ==","g":[1]}"#, "p:blob:\(f)=A|g[]=1", rule("f", .base64, named("p"))),
        row(
            .json, .multipart, #"{"x":["QQ==","t"]}"#, "p:blob:\(f)=A|x[]=t",
            FileRule(path: path("x[0]"), policy: .base64, name: FileNameTemplate("p"))),
        row(
            .json, .multipart, #"{"x":["QQ==",{"y":1}]}"#, "!field_mixed_array x",
            FileRule(path: path("x[0]"), policy: .base64, name: FileNameTemplate("p"))),
        row(
            .json, .multipart, #"{"x":["QQ=="]}"#, "!field_comma x",
            FileRule(path: path("x[0]"), policy: .base64, name: FileNameTemplate("p"))
        ) { $0.fieldEncoding.arrays = .comma },
        row(
            .json, .multipart, #"{"l":[{"f":"QQ=="},{"f":"Qg=="}]}"#, "p0:blob:\(f)=A|p1:blob:\(f)=B",
            rule("l[*].f", .base64, named("p{index}"))),
        row(.form, .multipart, "f=QQ==&f=Qg==", "p0:blob:\(f)=A|p1:blob:\(f)=B", rule("f", .base64, named("p{index}"))),
        row(
            .multipart, .multipart, multipart("f[]:a:x/y=A", "f[]:b:x/y=B", "c=1"), "f0:a:x/y=A|f1:b:x/y=B|c=1",
            FileRule(path: path("f"), policy: .stream, name: FileNameTemplate("f{index}"))),
        row(
            .multipart, .multipart, multipart("f[]:a:x/y=A", "f[]:b:x/y=B", "c=1"), "f[0]:a:x/y=A|f[1]:b:x/y=B|c=1",
            FileRule(path: path("f"), policy: .stream, name: FileNameTemplate("f[{index}]"))
        ) { ($0.rewritesNames, $0.fieldEncoding.arrays) = (true, .indices) },
    ]

    @Test("the files of an array have the names that a template gives them", arguments: names)
    func name(_ row: PipelineRow) { row.check() }

    @Test(
        "a template has no braces but those of its index",
        arguments: ["", "{", "}", "{}", "a{i}", "a{index", "{Index}"])
    func badTemplate(_ text: String) { #expect(FileNameTemplate(text) == nil) }

    static func typed(_ types: String...) -> (inout FileRule) -> Void {
        { $0.types = types.map { MediaPattern($0)! } }
    }

    static let types: [PipelineRow] = [
        row(
            .json, .multipart, #"{"f":"data:image/png;base64,QQ=="}"#, "f:blob:image/png=A",
            rule("f", .dataURL, typed("application/pdf", "image/*"))),
        row(
            .json, .multipart, #"{"f":"data:IMAGE/Png;q=1;base64,QQ=="}"#, "f:blob:IMAGE/Png;q=1=A",
            rule("f", .dataURL, typed("image/png"))),
        row(
            .json, .multipart, #"{"f":"data:images/png;base64,QQ=="}"#, "!file_type f",
            rule("f", .dataURL, typed("image/*"))),
        row(.json, .multipart, #"{"f":"QQ=="}"#, "!file_type f", rule("f", .base64, typed("image/*"))),
        row(.json, .multipart, #"{"f":"QQ=="}"#, "f:blob:\(f)=A", rule("f", .base64, typed(f))),
        row(.json, .multipart, #"{"f":"QQ=="}"#, "f:blob:\(f)=A", rule("f", .base64, typed("*/*"))),
        row(
            .json, .multipart, #"{"f":"QQ=="}"#, "f:blob:image/png=A",
            rule("f", .base64) {
                ($0.mediaType, $0.types) = ("image/png", [MediaPattern("image/*")!])
            }),
        row(
            .json, .multipart, #"{"f":{"content_type":"text/html","data":"QQ=="}}"#, "!file_type f",
            rule("f", .object, typed("image/*"))),
        row(
            .multipart, .multipart, multipart("f:x:image/gif=A"), "f:x:image/gif=A",
            FileRule(path: path("f"), policy: .stream, types: [MediaPattern("image/*")!])),
        row(
            .multipart, .multipart, multipart("f:x:text/html=A"), "!file_type f",
            FileRule(path: path("f"), policy: .stream, types: [MediaPattern("image/*")!])),
        // What it was taken for it goes out as; without such a rule nothing is said of it.
        row(
            .multipart, .multipart, multipart("f:x=A", "g:y=B", "h:z:=C"), "f:x:\(f)=A|g:y=B|h:z=C",
            FileRule(path: path("f"), policy: .stream, types: [MediaPattern(f)!])),
        row(
            .multipart, .multipart, multipart("f:x:text/html=A"), "!file_type f",
            FileRule(path: path("f"), policy: .stream, mediaType: "image/png", types: [MediaPattern("image/*")!])),
        row(
            .multipart, .json, multipart("f:x:text/html=A"), "!file_type f",
            FileRule(path: path("f"), policy: .base64, types: [MediaPattern("image/*")!])),
        row(
            .multipart, .form, multipart("f:x:text/html=A"), "!file_type f",
            FileRule(path: path("f"), policy: .base64, types: [MediaPattern("image/*")!])),
        row(
            .multipart, .json, multipart("f:x=A"), "!file_type f",
            FileRule(path: path("f"), policy: .object, types: [MediaPattern("image/*")!])),
    ]

    @Test("a file's type is one that its rule takes, or it is refused by name", arguments: types)
    func type(_ row: PipelineRow) {
        row.check()
        let run = ConversionRun.run(row.plan, .whole(Array(row.input.utf8)))
        if let failure = run.failure { #expect(failure.kind == .unsupported && failure.setting == "files.f.types") }
    }

    @Test("what a rule refuses names its own key, whichever element the file is of")
    func settings() {
        func failure(_ input: BodyEncoding, _ body: String, _ rule: FileRule) -> ConversionError? {
            ConversionRun.run(plan(input, .multipart) { $0.files = [rule] }, .whole(Array(body.utf8))).failure
        }
        func check(_ input: BodyEncoding, _ body: String, _ at: String, _ field: String) {
            let policy: FilePolicy = input.hasFiles ? .stream : .base64
            let small = failure(input, body, FileRule(path: path(at), policy: policy, max: 1))
            #expect(small?.setting == "files.\(at).max" && small?.field == field, "\(at)")
            #expect(small?.reason.contains("(files.\(at).max)") == true, "\(at)")
            let typed = failure(
                input, body, FileRule(path: path(at), policy: policy, types: [MediaPattern("image/*")!]))
            #expect(typed?.setting == "files.\(at).types" && typed?.field == field, "\(at)")
        }
        check(.json, #"{"f":"QUI="}"#, "f", "f")
        check(.json, #"{"f":["QUI="]}"#, "f", "f[0]")
        check(.json, #"{"f":[{"g":"QUI="}]}"#, "f[*].g", "f[0].g")
        check(.multipart, multipart("f[3]:x=AB"), "f[*]", "f[3]")
    }

    @Test(
        "a pattern is a type, all of one kind, or any",
        arguments: ["", "a", "a/", "/b", "*/b", "a/b/c", "a*/b", "a b/c"])
    func badPattern(_ text: String) { #expect(MediaPattern(text) == nil) }

    @Test("a file has at most max bytes, however it comes", arguments: [4, 5, 6])
    func max(_ size: Int) {
        let content = String(repeating: "x", count: size)
        var buffer = OutputBuffer()
        var encoder = Base64Encoder()
        encoder.encode(Array(content.utf8).span, into: &buffer)
        encoder.finish(into: &buffer)
        let text = String(decoding: buffer.span.copied(), as: UTF8.self)
        let expected = size > 5 ? "!limit_file f" : nil
        func check(_ input: BodyEncoding, _ output: BodyEncoding, _ body: String, _ rule: FileRule) {
            var rule = rule
            rule.max = 5
            let result = ConversionRun.run(plan(input, output) { $0.files = [rule] }, .whole(Array(body.utf8))).result
            #expect(expected.map { result == $0 } ?? !result.hasPrefix("!"), "\(input) \(output) \(result)")
        }
        check(.json, .multipart, #"{"f":"\#(text)"}"#, Self.rule("f", .base64))
        check(.json, .multipart, #"{"f":"\#(text)"}"#, Self.rule("f", .base64url))
        check(.json, .multipart, #"{"f":"data:a/b;base64,\#(text)"}"#, Self.rule("f", .dataURL))
        check(.json, .multipart, #"{"f":{"data":"\#(text)"}}"#, Self.rule("f", .object))
        check(.form, .multipart, "f=" + text, Self.rule("f", .base64))
        check(.multipart, .multipart, multipart("f:x=" + content), FileRule(path: path("f"), policy: .stream))
        check(.multipart, .json, multipart("f:x=" + content), FileRule(path: path("f"), policy: .object))
        check(.multipart, .form, multipart("f:x=" + content), FileRule(path: path("f"), policy: .base64))
    }

    @Test("the part before a data URL's comma has at most 256 bytes", arguments: [255, 256, 257])
    func lead(_ length: Int) {
        let url = "data:a/b;x=" + String(repeating: "y", count: length - 18) + ";base64,"
        let plan = plan(.json, .multipart) { $0.files = [Self.rule("f", .dataURL)] }
        #expect(convert(plan, #"{"f":"\#(url)QQ=="}"#).hasPrefix(length > 256 ? "!file_data_url" : "f:blob:a/b;x=y"))
    }

    @Test("the bytes are the same however the input is cut", arguments: (sources + objects + names).indices)
    func recut(_ index: Int) {
        let row = (Self.sources + Self.objects + Self.names)[index]
        let input = Array(row.input.utf8)
        let whole = ConversionRun.run(row.plan, .whole(input))
        for cut in Recut.cuts(of: input) {
            let run = ConversionRun.run(row.plan, cut, highWatermark: 1)
            #expect(run.failure?.code == whole.failure?.code, "\(row), \(cut)")
            if whole.failure == nil { #expect(run == whole, "\(row), \(cut)") }
        }
    }

    @Test("what no body could do is a fault of the plan")
    func validation() {
        func faults(_ from: BodyEncoding, _ to: BodyEncoding, _ rule: FileRule) -> [String] {
            plan(from, to) { $0.files = [rule] }.validate().map(\.code)
        }
        #expect(faults(.json, .json, FileRule(path: path("f"), policy: .base64, source: .dataURL)) == ["plan_files"])
        #expect(faults(.form, .multipart, Self.rule("f", .object)) == ["plan_files"])
        #expect(
            faults(.multipart, .json, FileRule(path: path("f"), policy: .base64, name: FileNameTemplate("p")))
                == ["plan_files"])
        #expect(faults(.json, .multipart, FileRule(path: path("f"), policy: .object)).isEmpty)
        let sorted = plan(.json, .multipart) { plan in
            plan.files = [Self.rule("f", .object)]
            plan.fieldEncoding.order = .sorted
        }
        #expect(sorted.validate().map(\.code) == ["plan_order"])
        #expect(faults(.multipart, .multipart, FileRule(path: path("f"), policy: .object)) == ["plan_files"])
    }
}
