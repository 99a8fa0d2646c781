import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

private func remove(_ paths: String...) -> FieldMap {
    var map = FieldMap()
    map.remove = paths.map { path($0) }
    return map
}

private func rename(_ pairs: (String, String)...) -> FieldMap {
    var map = FieldMap()
    map.rename = pairs.map { .init(from: path($0.0), to: path($0.1)) }
    return map
}

private func set(_ pairs: (String, AssignedValue)...) -> FieldMap {
    var map = FieldMap()
    map.set = pairs.map { .init(path: path($0.0), value: $0.1) }
    return map
}

private func append(_ pairs: (String, AssignedValue)...) -> FieldMap {
    var map = FieldMap()
    map.append = pairs.map { .init(path: path($0.0), value: $0.1) }
    return map
}

@Suite("Map and types")
struct MapTableTests {
    /// A map on one document: what comes out of JSON must not depend on the pipeline.
    struct Row: Sendable, CustomStringConvertible {
        var map: FieldMap
        var input: String
        var expected: String
        var description: String { "\(input) => \(expected)" }
        init(_ map: FieldMap, _ input: String, _ expected: String) {
            (self.map, self.input, self.expected) = (map, input, expected)
        }
    }

    static let documents: [Row] = [
        Row(remove("a"), #"{"a":1,"b":2}"#, #"{"b":2}"#),
        Row(remove("a"), #"{"a":{"x":[1,{"y":2}]},"b":2}"#, #"{"b":2}"#),
        Row(remove("a.x", "c"), #"{"a":{"x":1,"y":2},"c":"s"}"#, #"{"a":{"y":2}}"#),
        Row(remove("a"), #"{"a":1,"b":2,"a":3}"#, #"{"b":2}"#),
        Row(remove("l[0]", "l[2]"), #"{"l":[1,2,3,4]}"#, #"{"l":[2,4]}"#),
        Row(remove("l[*].x"), #"{"l":[{"x":1,"y":2},{"x":3},4]}"#, #"{"l":[{"y":2},{},4]}"#),
        Row(remove("*.x"), #"{"a":{"x":1},"b":{"x":2,"y":3}}"#, #"{"a":{},"b":{"y":3}}"#),
        Row(remove("[0]"), #"[1,2]"#, #"[2]"#),
        Row(remove("absent.x"), #"{"a":1}"#, #"{"a":1}"#),
        Row(remove("a.x"), #"{"a":1}"#, #"{"a":1}"#),
        Row(rename(("a", "b")), #"{"c":1}"#, #"{"c":1}"#),
        Row(rename(("a", "b")), #"{"a":1,"b":2}"#, "!map_conflict b"),
        Row(rename(("a", "b")), #"{"b":2,"a":1}"#, "!map_conflict b"),
        Row(rename(("a", "b")), #"{"a":1,"a":2}"#, "!map_conflict a"),
        Row(rename(("l[*].a", "l[*].b")), #"{"l":[{"a":1,"b":2}]}"#, "!map_conflict l[*].b"),
        Row(rename(("l[*].a", "l[*].b")), #"{"l":[{"a":1},{"b":2}]}"#, #"{"l":[{"b":1},{"b":2}]}"#),
        Row(set(("s", .literal(.string("x")))), #"{"a":1}"#, #"{"a":1,"s":"x"}"#),
        Row(set(("s", .literal(.number("1.0")))), #"{"s":{"q":1},"a":1}"#, #"{"s":1.0,"a":1}"#),
        Row(
            set(("s", .literal(.object([.init(name: "x", value: .array([.null, .bool(true)]))])))), "{}",
            #"{"s":{"x":[null,true]}}"#),
        Row(set(("s", .source(0))), "{}", #"{"s":"given"}"#),
        Row(set(("s", .source(0))), "[1]", "!map_conflict s"),
        Row(set(("s", .source(0))), "1", "!map_conflict s"),
        Row(set(("s", .source(0)), ("s", .literal(.null))), #"{"s":1,"t":2}"#, #"{"s":null,"t":2}"#),
    ]

    static let appended: [Row] = [
        Row(append(("l", .source(0))), #"{"l":[1,[2]]}"#, #"{"l":[1,[2],"given"]}"#),
        Row(append(("l", .source(0))), #"{"l":[]}"#, #"{"l":["given"]}"#),
        Row(append(("l", .literal(.array([.null])))), #"{"l":[1]}"#, #"{"l":[1,[null]]}"#),
        Row(append(("l", .source(0))), #"{"a":1}"#, #"{"a":1,"l":["given"]}"#),
        Row(append(("a.l", .source(0))), #"{"a":{}}"#, #"{"a":{"l":["given"]}}"#),
        Row(append(("a.l", .source(0))), "{}", #"{"a":{"l":["given"]}}"#),
        Row(append(("l[1].t", .source(0))), #"{"l":[0,{"t":["x"]}]}"#, #"{"l":[0,{"t":["x","given"]}]}"#),
        Row(append(("l", .source(0)), ("l", .literal(.number("2")))), #"{"l":1}"#, #"{"l":[1,"given",2]}"#),
        Row(append(("l", .source(0))), #"{"l":null}"#, #"{"l":[null,"given"]}"#),
        Row(append(("l", .source(0))), #"{"l":{}}"#, "!map_conflict l"),
        Row(append(("a.l", .source(0))), #"{"a":1}"#, "!map_conflict a.l"),
        Row(append(("l", .source(0))), #"{"l":1,"l":2}"#, "!map_conflict l"),
        Row(append(("l", .source(0))), "[1]", "!map_conflict l"),
    ]

    @Test("what is appended becomes the last element, and nothing is overwritten", arguments: appended)
    func appendedElement(_ row: Row) {
        #expect(convert(plan(.json, .json) { $0.map = row.map }, row.input, sources: ["given"]) == row.expected)
    }

    static let appendedFields: [PipelineRow] = [
        PipelineRow(.form, .form, "tags=a&b=1", "tags[]=a&tags[]=x&b=1") {
            $0.map.append = [.init(path: path("tags"), value: .literal(.string("x")))]
        },
        PipelineRow(
            .multipart, .multipart, multipart("t[]=a", "f:p.png:image/png=PNG"), "f:p.png:image/png=PNG|t[]=a|t[]=x"
        ) {
            $0.map.append = [.init(path: path("t"), value: .literal(.string("x")))]
        },
    ]

    @Test("fields are appended to as members are", arguments: appendedFields)
    func appendedField(_ row: PipelineRow) { row.check() }

    @Test("a local map gives the same while values pass and on the tree", arguments: documents)
    func document(_ row: Row) {
        for order in [MemberOrder.input, .sorted] {
            // The tree pipeline is forced by a type rule that is about nothing.
            var plan = plan(.json, .json) { $0.map = row.map }
            if order == .sorted { plan.types = [TypeRule(path: path("nothing.at.all"), type: .string)] }
            #expect(convert(plan, row.input, sources: ["given"]) == row.expected, "\(order)")
        }
    }

    @Test("booleans that are set go out as all others do, while values pass and on the tree")
    func numericBooleans() {
        let value = Literal.object([.init(name: "x", value: .array([.bool(true), .null, .bool(false)]))])
        for isTree in [false, true] {
            let plan = plan(.json, .json) {
                $0.map = set(("s", .literal(.bool(false))), ("t", .literal(value)), ("u", .source(0)))
                $0.fieldEncoding.booleans = .numeric
                if isTree { $0.types = [TypeRule(path: path("nothing.at.all"), type: .string)] }
            }
            let expected = #"{"s":0,"a":1,"t":{"x":[1,null,0]},"u":"true"}"#
            #expect(convert(plan, #"{"s":1,"a":true}"#, sources: ["true"]) == expected, "\(isTree)")
        }
    }

    static let trees: [Row] = [
        Row(rename(("a", "b")), #"{"a":1,"c":2}"#, #"{"c":2,"b":1}"#),
        Row(rename(("a", "u.id")), #"{"a":1,"u":{"n":2}}"#, #"{"u":{"n":2,"id":1}}"#),
        Row(rename(("a", "u.v.w")), #"{"a":[1]}"#, #"{"u":{"v":{"w":[1]}}}"#),
        Row(rename(("a", "a.b")), #"{"a":1}"#, #"{"a":{"b":1}}"#),
        Row(rename(("a", "u.id")), #"{"a":1,"u":5}"#, "!map_conflict u.id"),
        Row(rename(("b", "c"), ("a", "b")), #"{"a":1,"b":2}"#, #"{"c":2,"b":1}"#),
        Row(rename(("a", "b"), ("b", "c")), #"{"a":1}"#, #"{"c":1}"#),
        Row(rename(("a", "l[0]")), #"{"a":1,"l":[]}"#, #"{"l":[1]}"#),
        Row(rename(("a", "l[0]")), #"{"a":1}"#, #"{"l":[1]}"#),
        Row(rename(("a", "l[3]")), #"{"a":1,"l":[]}"#, "!map_conflict l[3]"),
        Row(rename(("a", "l.x")), #"{"a":1,"l":[]}"#, "!map_conflict l.x"),
        Row(rename(("l[*].a", "l[*].m.b")), #"{"l":[{"a":1},{"a":2}]}"#, #"{"l":[{"m":{"b":1}},{"m":{"b":2}}]}"#),
        Row(set(("u.id", .literal(.number("5")))), #"{"u":{"id":1,"n":2}}"#, #"{"u":{"id":5,"n":2}}"#),
        Row(set(("u.id", .literal(.number("5")))), #"{}"#, #"{"u":{"id":5}}"#),
        Row(set(("u.id", .literal(.number("5")))), #"{"u":"x"}"#, "!map_conflict u.id"),
        Row(set(("l[1]", .literal(.null))), #"{"l":[1,2]}"#, #"{"l":[1,null]}"#),
    ]

    @Test("what needs the whole document is mapped on the tree", arguments: trees)
    func tree(_ row: Row) {
        var plan = plan(.json, .json) { $0.map = row.map }
        plan.types = [TypeRule(path: path("nothing.at.all"), type: .string)]
        #expect(convert(plan, row.input) == row.expected)
        // Without the type rule the plan itself must see that it needs the tree, except that a member renamed in passing
        // keeps its place.
        plan.types = []
        if row.map.rename.isEmpty || row.map.rename.count > 1 { #expect(convert(plan, row.input) == row.expected) }
    }

    static let attributes: [PipelineRow] = {
        func row(
            _ input: String, _ expected: String, from: BodyEncoding = .json, _ map: FieldMap,
            _ change: @escaping @Sendable (inout ConversionPlan) -> Void = { _ in }
        ) -> PipelineRow {
            PipelineRow(from, .xml, input, expected) {
                $0.map = map
                $0.xmlEncoding.declaration = false
                change(&$0)
            }
        }
        let wrap: @Sendable (inout ConversionPlan) -> Void = {
            ($0.xmlEncoding.root, $0.xmlEncoding.rootName) = (.wrap, "Get")
        }
        let namespace = set(("@xmlns", .literal(.string("urn:m"))))
        var envelope = rename(("item", "s:Envelope.s:Body.m:Get.m:Item"))
        envelope.set = [
            .init(path: path("s:Envelope.@xmlns:s"), value: .literal(.string("urn:s"))),
            .init(path: path("s:Envelope.s:Body.m:Get.@xmlns:m"), value: .literal(.string("urn:m"))),
        ]
        var appended = FieldMap()
        appended.append = [.init(path: path("l"), value: .literal(.string("x")))]
        let underscores: @Sendable (inout ConversionPlan) -> Void = {
            ($0.xmlEncoding.attributePrefix, $0.xmlEncoding.textKey) = ("_", "__text")
            ($0.xmlEncoding.mixed, $0.xmlEncoding.root) = (.join, .wrap)
        }
        let sorted: @Sendable (inout ConversionPlan) -> Void = {
            underscores(&$0)
            $0.fieldEncoding.order = .sorted
        }
        let declared = set(("_xmlns", .literal(.string("urn:m"))))
        let many = (0..<40).map { "\"k\($0)\":1" }.joined(separator: ",")
        let elements = (0..<40).map { "<k\($0)>1</k\($0)>" }.joined()
        let inOrder = (0..<40).map { "k\($0)" }.sorted().map { "<\($0)>1</\($0)>" }.joined()
        return [
            row(#"{"a":1,"b":2}"#, #"<Get xmlns="urn:m"><a>1</a><b>2</b></Get>"#, namespace, wrap),
            row("{}", #"<Get xmlns="urn:m"/>"#, namespace, wrap),
            row("{\(many)}", "<Get xmlns=\"urn:m\">\(elements)</Get>", namespace, wrap),
            row("a=1&b=2", #"<Get xmlns="urn:m"><a>1</a><b>2</b></Get>"#, from: .form, namespace, wrap),
            row(
                ##"{"a":1,"@x":"2","#text":"t","@y":"3"}"##, #"<Get x="2" y="3" xmlns="urn:m"><a>1</a>t</Get>"#,
                namespace
            ) {
                wrap(&$0)
                $0.xmlEncoding.mixed = .join
            },
            row(
                #"{"item":1}"#,
                #"<s:Envelope xmlns:s="urn:s"><s:Body><m:Get xmlns:m="urn:m"><m:Item>1</m:Item></m:Get></s:Body></s:Envelope>"#,
                envelope),
            row(#"{"l":[{"a":1,"@x":"2"}]}"#, #"<root><l x="2"><a>1</a></l><l>x</l></root>"#, appended) {
                $0.xmlEncoding.root = .wrap
            },
            // The text's name may begin as those of attributes do.
            row(
                #"{"_x":"2","a":"1","__text":"t"}"#, #"<root x="2"><a>1</a>t</root>"#, remove("z"), underscores),
            row(
                #"{"a":"1","__text":"t","_x":"2"}"#, #"<root x="2"><a>1</a>t</root>"#, remove("z"), underscores),
            // Sorted, attributes and elements each for themselves.
            row(#"{"Body":1}"#, #"<root xmlns="urn:m"><Body>1</Body></root>"#, declared, sorted),
            row("Body=1&A=2", #"<root xmlns="urn:m"><A>2</A><Body>1</Body></root>"#, from: .form, declared, sorted),
            row(
                #"{"_y":"1","a":"1","B":{"C":1,"_x":"2"},"__text":"t","_x":"2"}"#,
                #"<root x="2" xmlns="urn:m" y="1"><B x="2"><C>1</C></B>t<a>1</a></root>"#, declared, sorted),
            row("{\"_x\":\"2\",\(many)}", "<root x=\"2\" xmlns=\"urn:m\">\(inOrder)</root>", declared, sorted),
            // Where a member is written as one whatever its name, it has its place.
            row(
                #"{"a":1}"#,
                #"<map xmlns="http://www.w3.org/2005/xpath-functions"><number key="a">1</number><string key="@xmlns">urn:m</string></map>"#,
                namespace
            ) { $0.xmlEncoding.convention = .lossless },
            // Without a map members keep the order in which they came.
            row(#"{"a":1,"@x":"2"}"#, "!xml_late_attribute /@x", FieldMap(), wrap),
        ]
    }()

    @Test("attributes are written before elements where a map is applied", arguments: attributes)
    func attribute(_ row: PipelineRow) { row.check() }

    @Test("a member renamed while it passes keeps its place")
    func place() {
        #expect(convert(plan(.json, .json) { $0.map = rename(("a", "b")) }, #"{"a":1,"c":2}"#) == #"{"b":1,"c":2}"#)
    }

    static let fields: [PipelineRow] = [
        PipelineRow(.form, .form, "a=1&b[x]=2&b[y]=3&c=4", "c=4") { $0.map = remove("a", "b") },
        PipelineRow(.form, .form, "a[x]=1&a[y]=2", "a[y]=2") { $0.map = remove("a.x") },
        PipelineRow(.form, .form, "l[0][x]=1&l[1][x]=2&l[1][y]=3", "l[1][y]=3") { $0.map = remove("l[*].x") },
        // What stands in a text is in the document as well, and isn't passed over where fields become fields.
        PipelineRow(.form, .form, #"a={"x":"1","y":"2"}&b=3"#, "a[y]=2&b=3") {
            $0.map = remove("a.x")
            $0.fieldDecoding.nesting = .json
        },
        PipelineRow(.form, .multipart, #"a=[{"x":"1","y":"2"}]"#, "a[0][y]=2") {
            $0.map = remove("a[*].x")
            $0.fieldDecoding.arrays = .json
        },
        PipelineRow(.multipart, .form, multipart("a=1,2", "b=3"), "a[]=1&a[]=2&b=3") {
            $0.fieldDecoding.arrays = .comma
        },
        PipelineRow(.form, .multipart, "a[x][]=1&a[x][]=2", "u[id][x][]=1|u[id][x][]=2") {
            $0.map = rename(("a", "u.id"))
        },
        PipelineRow(.form, .form, "a=1&b=2", "!map_conflict b") { $0.map = rename(("a", "b")) },
        PipelineRow(.form, .form, "b=2&a=1", "!map_conflict b") { $0.map = rename(("a", "b")) },
        PipelineRow(.form, .form, "b[q]=2&a=1", "!map_conflict b") { $0.map = rename(("a", "b")) },
        PipelineRow(.form, .form, "u=2&a=1", "!map_conflict u.id") { $0.map = rename(("a", "u.id")) },
        PipelineRow(.form, .form, "a=1&b=2", "b=1&c=2") { $0.map = rename(("b", "c"), ("a", "b")) },
        PipelineRow(.form, .form, "a.b=1", "x.c=1") {
            $0.fieldDecoding.nesting = .dots
            $0.map = rename(("a.b", "x.c"))
        },
        PipelineRow(.form, .form, "a=1&s=9&s[x]=8&b=2", "s=x%20y&a=1&b=2") {
            $0.map = set(("s", .literal(.string("x y"))))
        },
        PipelineRow(.form, .form, "a=1", "u[id]=7&u[n]=given&a=1", sources: ["given"]) {
            $0.map = set(("u.id", .literal(.number("7"))), ("u.n", .source(0)))
        },
        PipelineRow(.form, .form, "", "s=1") {
            $0.map = set(("s", .literal(.bool(true)))); $0.fieldEncoding.booleans = .numeric
        },
        PipelineRow(.form, .form, "u=1", "!map_conflict u.id") { $0.map = set(("u.id", .literal(.number("7")))) },
        PipelineRow(.multipart, .multipart, multipart("f:x:t/x=A", "s=1", "b=2"), "s=7|f:x:t/x=A|b=2") {
            $0.map = set(("s", .literal(.number("7"))))
        },
        PipelineRow(.multipart, .multipart, multipart("f:x:t/x=A", "b=2"), "g[f]:x:t/x=A|b=2") {
            $0.map = rename(("f", "g.f"))
        },
        PipelineRow(.multipart, .multipart, multipart("f:x:t/x=A", "b=2"), "b=2") { $0.map = remove("f") },
        PipelineRow(.multipart, .json, multipart("f:x=A", "b=2"), #"{"g":{"f":"QQ=="},"b":"2"}"#) {
            $0.map = rename(("f", "g.f"))
            $0.fieldEncoding.files = .base64
        },
        PipelineRow(.multipart, .json, multipart("f:x=A", "b=2"), #"{"b":"2","f":"set"}"#) {
            $0.map = set(("f", .literal(.string("set"))))
            $0.fieldEncoding.files = .base64
        },
        PipelineRow(.multipart, .json, multipart("f:x=A", "b=2"), "!files_shared_root f") {
            $0.map = rename(("b", "f"))
            $0.fieldEncoding.files = .base64
        },
        PipelineRow(.multipart, .json, multipart("f[x]:x=A"), "!files_shared_root f") {
            $0.map = set(("f.y", .literal(.null)))
            $0.fieldEncoding.files = .base64
        },
        // What the map takes all fields of goes with them, where fields go out, whether a tree holds them or not.
        PipelineRow(.form, .form, "user[token]=1&id=5", "id=5") {
            $0.map = remove("user.token")
            $0.types = [TypeRule(path: path("id"), type: .integer)]
        },
        PipelineRow(.form, .form, "a[b][c]=1&tags[]=x&tags[]=y&id=5", "id=5&list[]=n") {
            $0.map = append(("list", .literal(.string("n"))))
            $0.map.remove = [path("a.b.c"), path("tags[*]")]
        },
        PipelineRow(.form, .multipart, "l[0][x]=1&l[1][x]=2&id=5", "id=5") {
            $0.map = remove("l[*].x")
            $0.fieldEncoding.order = .sorted
        },
        PipelineRow(.form, .form, "u[t]=1&id=5", "id=5&t=1") {
            $0.map = rename(("u.t", "t"))
            $0.types = [TypeRule(path: path("id"), type: .integer)]
        },
        PipelineRow(.multipart, .form, multipart("u[t]=1", "id=5"), "id=5&tags[]=n") {
            $0.map = append(("tags", .literal(.string("n"))))
            $0.map.remove = [path("u.t")]
        },
        PipelineRow(.form, .json, "user[token]=1&id=5", #"{"user":{},"id":5}"#) {
            $0.map = remove("user.token")
            $0.types = [TypeRule(path: path("id"), type: .integer)]
        },
        PipelineRow(.form, .json, "user_id=5&token=x", #"{"user":{"id":5},"source":"slack"}"#) {
            $0.map = rename(("user_id", "user.id"))
            $0.map.remove = [path("token")]
            $0.map.set = [.init(path: path("source"), value: .literal(.string("slack")))]
            $0.types = [TypeRule(path: path("user.id"), type: .integer)]
        },
    ]

    @Test("the map on fields, while they pass and on the tree", arguments: fields)
    func field(_ row: PipelineRow) { row.check() }

    /// A type, a JSON value, and what it becomes; nil where it doesn't fit.
    static let types: [(FieldType, String, String?)] = [
        (.string, #""x""#, #""x""#), (.string, "1.50", #""1.50""#), (.string, "true", #""true""#), (.string, "[]", nil),
        (.integer, #""12""#, "12"), (.integer, #""-0""#, "-0"), (.integer, "7", "7"), (.integer, #""01""#, nil),
        (.integer, #""+1""#, nil), (.integer, #"" 1""#, nil), (.integer, #""1.0""#, nil), (.integer, "1e2", nil),
        (.integer, #""""#, nil), (.integer, "true", nil),
        (.integer, #""123456789012345678901234567890""#, "123456789012345678901234567890"),
        (.number, #""1.50e+3""#, "1.50e+3"), (.number, "0.10", "0.10"), (.number, #""1.""#, nil),
        (.number, #"".5""#, "0.5"), (.number, #""-.5e3""#, "-0.5e3"), (.number, #"".""#, nil), (.number, #""-.""#, nil),
        (.number, #""..5""#, nil), (.number, #""+.5""#, nil), (.integer, #"".5""#, nil),
        (.number, #""NaN""#, nil), (.number, #""0x1""#, nil), (.number, #""-""#, nil), (.number, "{}", nil),
        (.boolean, #""true""#, "true"), (.boolean, #""on""#, "true"), (.boolean, "1", "true"),
        (.boolean, #""0""#, "false"),
        (.boolean, #""off""#, "false"), (.boolean, "false", "false"), (.boolean, #""TRUE""#, nil),
        (.boolean, #""yes""#, nil),
        (.boolean, "2", nil), (.boolean, #""""#, nil),
        (.array, #""x""#, #"["x"]"#), (.array, "[1]", "[1]"), (.array, "5", "[5]"), (.array, "{}", nil),
        (.object, #"{"a":1}"#, #"{"a":1}"#), (.object, "[]", nil), (.object, #""x""#, nil),
        (.json, #""{\"a\":[1.0,null]}""#, #"{"a":[1.0,null]}"#), (.json, #""5""#, "5"), (.json, #""\"x\"""#, #""x""#),
        (.json, #""{""#, nil), (.json, #""""#, nil), (.json, "[1]", "[1]"),
        (.json, #""{\"a\":1,\"a\":2}""#, #"{"a":1,"a":2}"#),
        (.date, #""2026-02-28""#, #""2026-02-28""#), (.date, #""2024-02-29""#, #""2024-02-29""#),
        (.date, #""2023-02-29""#, nil),
        (.date, #""2026-11-21T08:00:00Z""#, #""2026-11-21T08:00:00Z""#),
        (.date, #""2026-11-21t08:00:60.25+14:30""#, #""2026-11-21t08:00:60.25+14:30""#),
        (.date, #""2026-11-21T08:00:00""#, nil), (.date, #""2026-11-21T24:00:00Z""#, nil),
        (.date, #""2026-11-21T08:00:00.Z""#, nil),
        (.date, #""2026-13-01""#, nil), (.date, #""2026-1-1""#, nil), (.date, #""2026-11-21T08:00:00+1:00""#, nil),
        (.date, "5", nil),
        (.date, #""""#, nil), (.date, #""2026-11-21 08:00:00Z""#, nil),
        (.integer, "null", "null"), (.json, "null", "null"), (.array, "null", "null"),
    ]

    @Test("a declared type gives the value, or a 400 that names the field", arguments: types.indices)
    func type(_ index: Int) {
        let (type, input, expected) = Self.types[index]
        let plan = plan(.json, .json) { $0.types = [TypeRule(path: path("o.v"), type: type)] }
        let result = convert(plan, #"{"o":{"v":"# + input + "}}")
        #expect(result == expected.map { #"{"o":{"v":"# + $0 + "}}" } ?? "!field_type o.v")
        let run = ConversionRun.run(plan, .whole(Array((#"{"o":{"v":"# + input + "}}").utf8)))
        #expect(expected != nil || run.failure?.kind == .malformed)
    }

    static let typed: [PipelineRow] = [
        PipelineRow(.form, .json, "t=a&n[]=1&n[]=2", #"{"t":["a"],"n":[1,2]}"#) {
            $0.types = [
                TypeRule(path: path("t"), type: .array), TypeRule(path: path("n[*]"), type: .integer),
                TypeRule(path: path("absent"), type: .array),
            ]
        },
        PipelineRow(.form, .json, "n[]=1&n[]=x", "!field_type n[1]") {
            $0.types = [TypeRule(path: path("n[*]"), type: .integer)]
        },
        PipelineRow(.form, .json, "a=1&b=2", #"{"a":"1","b":2}"#) {
            $0.types = [TypeRule(path: path("a"), type: .string), TypeRule(path: path("*"), type: .integer)]
        },
        PipelineRow(.form, .form, "a=on&b=x", "a=1&b=x") {
            $0.types = [TypeRule(path: path("a"), type: .boolean)]
            $0.fieldEncoding.booleans = .numeric
        },
        PipelineRow(.multipart, .json, multipart(#"p={"x":1}"#), #"{"p":{"x":1}}"#) {
            $0.types = [TypeRule(path: path("p"), type: .json)]
        },
        PipelineRow(.form, .json, "a=1&a=2", "!field_type a") {
            $0.types = [TypeRule(path: path("a"), type: .integer)]
        },
    ]

    private static func blank(_ blanks: BlankPolicy) -> (inout ConversionPlan) -> Void {
        { plan in
            plan.blanks = blanks
            plan.types =
                zip("inbdjsxao", [FieldType.integer, .number, .boolean, .date, .json, .string, .data, .array, .object])
                .map { TypeRule(path: path("\($0)"), type: $1) } + [
                    TypeRule(path: path("l[*]"), type: .integer)
                ]
        }
    }

    static let blanks: [PipelineRow] = [
        PipelineRow(
            .form, .json, "i=&n=&b=&d=&j=&s=&x=&l[]=&l[]=1&t=",
            #"{"i":null,"n":null,"b":null,"d":null,"j":null,"s":"","x":"","l":[null,1],"t":""}"#,
            blank(.null)),
        PipelineRow(
            .form, .json, "i=&n=&b=&d=&j=&s=&x=&l[]=&l[]=1&t=", #"{"s":"","x":"","l":[1],"t":""}"#, blank(.omit)),
        PipelineRow(.multipart, .json, multipart("i=", "t="), #"{"i":null,"t":""}"#, blank(.null)),
        PipelineRow(.json, .json, #"{"i":"","n":0}"#, #"{"i":null,"n":0}"#, blank(.null)),
        PipelineRow(.form, .form, "i=&t=", "i=null&t=") {
            blank(.null)(&$0)
            $0.fieldEncoding.nulls = .literal
        },
        PipelineRow(.form, .json, "i=&t=", #"{"t":""}"#) {
            blank(.null)(&$0)
            $0.removeNulls = .keys
        },
        PipelineRow(.form, .json, "i=%20", "!field_type i", blank(.null)),
        PipelineRow(.form, .json, "a=", #"{"a":[""]}"#, blank(.omit)),
        PipelineRow(.form, .json, "o=", "!field_type o", blank(.omit)),
        PipelineRow(.form, .json, "i=", "!field_type i", blank(.reject)),
    ]

    @Test("an empty text of a type that has none is refused, null or left out", arguments: blanks)
    func blankField(_ row: PipelineRow) { row.check() }

    @Test("what is left out as blank is counted")
    func blankCount() {
        let run = ConversionRun.run(plan(.form, .json, Self.blank(.omit)), .whole(Array("i=&n=&t=".utf8)))
        #expect(run.accounting.removed == 2)
    }

    @Test("types on fields: wildcards, the first rule decides, absent stays absent", arguments: typed)
    func typedField(_ row: PipelineRow) { row.check() }

    private static func file(_ place: String, named name: String? = nil) -> FileRule {
        FileRule(path: path(place), policy: .base64, filename: name.map { .field(path($0)) })
    }

    static let faults: [(String, @Sendable (inout ConversionPlan) -> Void)] = [
        ("plan_wildcard a[*].x", { $0.map = set(("a[*].x", .literal(.null))) }),
        ("plan_wildcard a[*]", { $0.map = rename(("a.*", "b")) }),
        ("plan_wildcard a", { $0.map = rename(("a", "b.*")) }),
        ("plan_number a", { $0.map = set(("a", .literal(.array([.number("01")])))) }),
        ("map_conflict a.b", { $0.map = set(("a", .literal(.string("x"))), ("a.b", .literal(.string("y")))) }),
        (
            "field_null a",
            {
                $0.map = set(("a", .literal(.null))); $0.output = .form; $0.fieldEncoding.nulls = .reject
            }
        ),
        ("plan_rename a", { $0.map = rename(("a", "a")) }),
        ("plan_rename a[*].b", { $0.map = rename(("a[*].b", "a[*].b")) }),
        ("plan_rename a.b", { $0.map = rename(("a.b", "a")) }),
        (
            "plan_types a",
            {
                $0.map = rename(("a", "b")); $0.types = [TypeRule(path: path("a"), type: .integer)]
            }
        ),
        // What the map takes away stands nowhere behind it.
        ("plan_types a.b", { ($0.map, $0.types) = (remove("a"), [TypeRule(path: path("a.b"), type: .integer)]) }),
        ("plan_types a[*]", { ($0.map, $0.types) = (rename(("a", "b")), [TypeRule(path: path("a[*]"), type: .json)]) }),
        (
            "plan_types a[0].b",
            { ($0.map, $0.types) = (remove("a[*].b"), [TypeRule(path: path("a[0].b"), type: .date)]) }
        ),
        ("plan_parts m", { ($0.output, $0.map, $0.jsonParts) = (.form, rename(("m", "n")), [path("m")]) }),
        ("plan_files p", { ($0.output, $0.map, $0.files) = (.multipart, rename(("p", "f")), [file("p")]) }),
        ("plan_files t", { ($0.output, $0.map, $0.files) = (.multipart, remove("t"), [file("f", named: "t")]) }),
        ("plan_files t", { ($0.output, $0.map, $0.files) = (.multipart, rename(("t", "u")), [file("f", named: "t")]) }),
        (
            "plan_rename w.x",
            {
                $0.map = rename(("w.x", "x")); $0.map.remove = [path("w")]
            }
        ),
        ("plan_rename x.a", { $0.map = rename(("x", "y"), ("x.a", "a")) }),
        ("plan_xml_name -", { ($0.output, $0.xmlEncoding.rootName) = (.xml, "1x") }),
        ("plan_xml_name -", { ($0.output, $0.xmlEncoding.itemName) = (.xml, "a b") }),
        ("plan_xml_name -", { ($0.output, $0.xmlEncoding.itemName) = (.xml, "") }),
        ("plan_xml_name -", { ($0.output, $0.xmlEncoding.rootName) = (.xml, "xmlns:a") }),
        ("plan_duplicates -", { $0.jsonDuplicates = .array }),
        ("plan_duplicates -", { $0.fieldDecoding.duplicates = .keep }),
        ("plan_inputs -", { $0.inputs = [] }),
        ("plan_files f", { $0.files = [FileRule(path: path("f"), policy: .stream)] }),
        ("plan_files f", { $0.files = [FileRule(path: path("f"), policy: .base64, mediaType: "a/b")] }),
        (
            "plan_files f",
            {
                $0.output = .multipart; $0.files = [FileRule(path: path("f"), policy: .base64, max: -1)]
            }
        ),
        (
            "plan_files f",
            {
                $0.output = .multipart;
                $0.files = [FileRule(path: path("f"), policy: .base64, mediaType: "a/b\r\nx: y")]
            }
        ),
        (
            "plan_order -",
            {
                $0.inputs = [.multipart]; $0.fieldEncoding.order = .sorted; $0.fieldEncoding.files = .base64
            }
        ),
    ]

    @Test("a plan that can't hold is reported before any body", arguments: faults.indices)
    func fault(_ index: Int) {
        let found = plan(.json, .json, Self.faults[index].1).validate().map { "\($0.code) \($0.field ?? "-")" }
        #expect(found == [Self.faults[index].0])
    }

    @Test("a plan that holds has no faults")
    func noFault() {
        let plan = plan(.json, .multipart) {
            $0.map = rename(("l[*].a", "l[*].b"))
            $0.map.set = [.init(path: path("u.id"), value: .source(3))]
            $0.files = [FileRule(path: path("f"), policy: .base64, filename: .literal("x"), mediaType: "a/b", max: 0)]
        }
        #expect(plan.validate().isEmpty)
    }

    @Test("nor has one whose renames and types can hold")
    func noFaultOfNames() {
        let plans = [
            plan(.json, .json) {
                $0.map = rename(("a", "a.b"))
                $0.types = [TypeRule(path: path("a.b"), type: .integer)]
            },
            // Something else takes the place of what went.
            plan(.json, .json) {
                $0.map = rename(("a", "b"), ("c", "a"))
                $0.types = [TypeRule(path: path("a"), type: .integer)]
            },
            plan(.json, .json) {
                $0.map = rename(("a", "b"))
                $0.map.set = [.init(path: path("a"), value: .literal(.string("1")))]
                $0.types = [TypeRule(path: path("a"), type: .integer), TypeRule(path: path("b"), type: .integer)]
            },
            plan(.json, .json) {
                $0.map = remove("a", "c.d")
                $0.map.set = [.init(path: path("a.b"), value: .literal(.string("1")))]
                $0.types = [TypeRule(path: path("a.b"), type: .integer), TypeRule(path: path("c"), type: .object)]
            },
            plan(.json, .json) {
                $0.map = rename(("a", "w.x"), ("w.x", "b"))
                $0.map.remove = [path("w")]
            },
            // The second element becomes the first one.
            plan(.json, .json) {
                $0.map = remove("a[0]")
                $0.types = [TypeRule(path: path("a[0]"), type: .integer)]
            },
            // What `set` writes gives the filename, and where fields are gathered what `remove` takes.
            plan(.json, .multipart) {
                $0.map = remove("t")
                $0.map.set = [.init(path: path("t"), value: .literal(.string("x")))]
                $0.files = [Self.file("f", named: "t")]
            },
            plan(.multipart, .multipart) {
                $0.map = remove("t")
                $0.files = [FileRule(path: path("f"), policy: .stream, filename: .field(path("t")))]
                $0.rewritesNames = true
            },
            // A field that stands alone in it can take its place where names are all there is.
            plan(.form, .form) { $0.map = rename(("a.b", "a")) },
            plan(.json, .xml) {
                ($0.xmlEncoding.rootName, $0.xmlEncoding.itemName, $0.xmlEncoding.root) = ("1", "x", .member)
            },
            plan(.json, .xml) { ($0.xmlEncoding.rootName, $0.xmlEncoding.convention) = ("1", .lossless) },
        ]
        for plan in plans { #expect(plan.validate().isEmpty) }
    }

    @Test(
        "a field that is pushed where a rule needs an object is a conflict on each way",
        arguments: [BodyEncoding.form, .multipart, .json])
    func pushedBesides(_ output: BodyEncoding) {
        func result(_ map: FieldMap, _ body: String) -> String { convert(plan(.form, output) { $0.map = map }, body) }
        let five = set(("a.b", .literal(.number("5"))))
        #expect(result(five, "a[]=1") == "!map_conflict a.b")
        #expect(result(five, "a[][c]=1") == "!map_conflict a.b")
        #expect(!result(five, "a[c]=1").hasPrefix("!"))
        #expect(!result(five, "b[]=1").hasPrefix("!"))
        #expect(!result(five, "a[c][]=1").hasPrefix("!"))
        let moved = rename(("a", "x.y"))
        #expect(result(moved, "a=1&x[]=2") == "!map_conflict x.y")
        #expect(result(moved, "x[]=2&a=1") == "!map_conflict x.y")
        #expect(!result(moved, "x[]=2").hasPrefix("!"))
        #expect(!result(moved, "a=1&x[z]=2").hasPrefix("!"))
    }
}
