import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// A row of the table: options as words, a document, and the form it becomes with readable brackets, or an error's code,
/// field and setting.
struct FlattenerRow: CustomTestStringConvertible, Sendable {
    let options: FieldEncodingOptions
    let words: String
    let document: String
    let expected: String

    init(_ words: String, _ document: String, _ expected: String) {
        var options = FieldEncodingOptions()
        for word in words.split(separator: " ") {
            let (name, value) = (word.split(separator: ":")[0], String(word.split(separator: ":")[1]))
            switch name {
            case "dialect": options = FieldEncodingOptions(dialect: Dialect(rawValue: value)!)
            case "order": options.order = MemberOrder(rawValue: value)!
            case "arrays": options.arrays = ArrayStyle(rawValue: value)!
            case "nesting": options.nesting = NestingStyle(rawValue: value)!
            case "nulls": options.nulls = NullStyle(rawValue: value)!
            case "empties": options.empties = EmptyStyle(rawValue: value)!
            case "booleans": options.booleans = BooleanStyle(rawValue: value)!
            case "spaces": options.spaces = SpaceStyle(rawValue: value)!
            case "files": options.files = FilePolicy(rawValue: value)!
            default: preconditionFailure("no option \(name)")
            }
        }
        self.options = options
        self.words = words
        self.document = document
        self.expected = expected
    }

    var testDescription: String { "\(words) \(document)" }
}

@Suite("Flattener")
struct FlattenerTests {
    /// The result as the table writes it.
    private func outcome(_ result: Result<String, ConversionError>) -> String {
        switch result {
        case .success(let form): readable(form)
        case .failure(let error):
            "\(error.code) \(error.field ?? "-") \(error.setting ?? "-")"
        }
    }

    private static let writtenRows: [FlattenerRow] = [
        // Scalars.
        .init("", "{}", ""),
        .init("", #"{"a":"b","c":"","":"x"}"#, "a=b&c=&=x"),
        .init("", #"{"a":1.10,"b":-0,"c":1e400,"d":9007199254740993}"#, "a=1.10&b=-0&c=1e400&d=9007199254740993"),
        .init("", #"{"a":true,"b":false}"#, "a=true&b=false"),
        .init("booleans:numeric", #"{"a":true,"b":[false]}"#, "a=1&b[]=0"),
        .init("", #"{"a b":"c d+e","n":"\u0000é"}"#, "a%20b=c%20d%2Be&n=%00%C3%A9"),
        .init("spaces:plus", #"{"a b":"c d+e"}"#, "a+b=c+d%2Be"),
        .init("", #"{"b":1,"a":2,"b":3}"#, "b=1&a=2&b=3"),
        // Nulls.
        .init("", #"{"a":null,"b":[null,1]}"#, "a=&b[]=&b[]=1"),
        .init("nulls:key", #"{"a":null,"":null,"b":[null,1],"c":{"d":null}}"#, "a&=&b[]&b[]=1&c[d]"),
        .init("nulls:literal", #"{"a":null,"b":[null]}"#, "a=null&b[]=null"),
        .init("nulls:omit", #"{"a":null,"b":[null,1,null],"c":{"d":null,"e":1}}"#, "b[]=1&c[e]=1"),
        .init("nulls:omit arrays:indices", #"{"a":["b",null,"c"]}"#, "a[0]=b&a[2]=c"),
        .init("nulls:omit", #"{"a":[null,{"x":1}]}"#, "a[1][x]=1"),
        .init("nulls:omit", #"{"a":null}"#, ""),
        .init("nulls:omit empties:omit", #"{"a":[null],"b":{"c":null},"d":1}"#, "d=1"),
        // Objects.
        .init("", #"{"a":{"b":{"c":1},"d":2},"e":3}"#, "a[b][c]=1&a[d]=2&e=3"),
        .init("", #"{"a":{"x.y":1},"p.q":2}"#, "a[x.y]=1&p.q=2"),
        .init("nesting:dots", #"{"a":{"b":{"c":1},"d":2},"e":3}"#, "a.b.c=1&a.d=2&e=3"),
        .init("nesting:flat", #"{"a[b]":1,"c.d":2,"":3,"x]":4}"#, "a[b]=1&c.d=2&=3&x]=4"),
        // Arrays.
        .init("", #"{"a":[1,"x",true],"b":["y"]}"#, "a[]=1&a[]=x&a[]=true&b[]=y"),
        .init("", #"{"a":[{"x":1},{"y":2},3,[4,5]]}"#, "a[0][x]=1&a[1][y]=2&a[2]=3&a[3][]=4&a[3][]=5"),
        .init("", #"{"a":[[1],[[2]],[{"x":3}]]}"#, "a[0][]=1&a[1][0][]=2&a[2][0][x]=3"),
        .init("", #"{"a":[{"t":[1,2]},{"t":[3]}]}"#, "a[0][t][]=1&a[0][t][]=2&a[1][t][]=3"),
        .init("nesting:dots", #"{"a":[{"b":{"c":1}}],"d":{"e":[2,3]}}"#, "a[0].b.c=1&d.e[]=2&d.e[]=3"),
        .init("nesting:flat", #"{"a":[1,2],"b":[[3]]}"#, "a[]=1&a[]=2&b[0][]=3"),
        .init("arrays:indices", #"{"a":[1,[2,{"x":3}]],"b":{"c":[4]}}"#, "a[0]=1&a[1][0]=2&a[1][1][x]=3&b[c][0]=4"),
        .init(
            "arrays:indices", #"{"a":[0,1,2,3,4,5,6,7,8,9,10]}"#,
            "a[0]=0&a[1]=1&a[2]=2&a[3]=3&a[4]=4&a[5]=5&a[6]=6&a[7]=7&a[8]=8&a[9]=9&a[10]=10"),
        .init("arrays:repeat", #"{"a":[1,2],"b":["x"],"c":{"d":[3,4]}}"#, "a=1&a=2&b=x&c[d]=3&c[d]=4"),
        .init("arrays:comma", #"{"a":[1,"x",true],"b":["y"],"c":{"d":[3,4]}}"#, "a=1%2Cx%2Ctrue&b=y&c[d]=3%2C4"),
        .init("arrays:comma", #"{"a":["","",null],"b":"1,2"}"#, "a=%2C%2C&b=1%2C2"),
        .init("arrays:comma nulls:omit", #"{"a":[null,1,null,2,null]}"#, "a=1%2C2"),
        .init("arrays:comma nulls:literal", #"{"a":[null,1]}"#, "a=null%2C1"),
        .init("arrays:comma nulls:key", #"{"a":[null,1],"b":null}"#, "a=%2C1&b"),
        .init("arrays:comma nulls:key", #"{"a":[null]}"#, "a="),
        // Objects in arrays under brackets, as Rack regroups them.
        .init("arrays:brackets", #"{"a":[{"x":1,"y":2},{"x":3}]}"#, "a[][x]=1&a[][y]=2&a[][x]=3"),
        .init("arrays:brackets", #"{"a":[{"x":1,"y":2},{"y":3}]}"#, "a[][x]=1&a[][y]=2&a[][y]=3"),
        .init("arrays:brackets", #"{"a":[{"x":1},{"x":2,"y":3},{"y":4}]}"#, "a[][x]=1&a[][x]=2&a[][y]=3&a[][y]=4"),
        .init("arrays:brackets", #"{"a":[1,{"x":1},2,{"y":2}]}"#, "a[]=1&a[][x]=1&a[]=2&a[][y]=2"),
        .init("arrays:brackets", #"{"a":[{"x":{"y":1}},{"x":{"y":2}}]}"#, "a[][x][y]=1&a[][x][y]=2"),
        .init("arrays:brackets", #"{"a":[{"x":{"y":1}},{"x":2}]}"#, "a[][x][y]=1&a[][x]=2"),
        .init("arrays:brackets", #"{"a":[{"x":[1,2]}]}"#, "a[][x][]=1&a[][x][]=2"),
        .init("arrays:brackets", #"{"a":[{"x":[1,2]},{"x":3}]}"#, "a[][x][]=1&a[][x][]=2&a[][x]=3"),
        .init(
            "arrays:brackets", #"{"a":[{"i":1,"x":[{"y":1,"z":2},{"y":3}]},{"i":2,"x":[{"w":4}]}]}"#,
            "a[][i]=1&a[][x][][y]=1&a[][x][][z]=2&a[][x][][y]=3&a[][i]=2&a[][x][][w]=4"),
        .init("arrays:brackets nesting:dots", #"{"a":[{"x":{"y":1}},{"x":{"y":2}}]}"#, "a[].x.y=1&a[].x.y=2"),
        .init("arrays:brackets empties:omit", #"{"a":[{"x":1},{},{"x":2}]}"#, "a[][x]=1&a[][x]=2"),
        .init(
            "arrays:brackets", #"{"a":[{"x":1}],"b":[{"y":1}],"c":{"d":[{"z":1},{"z":2}]}}"#,
            "a[][x]=1&b[][y]=1&c[d][][z]=1&c[d][][z]=2"),
        // Empties.
        .init("empties:omit", #"{"a":[],"b":{},"c":1,"d":{"e":{}}}"#, "c=1"),
        .init("empties:marker", #"{"a":[],"b":{},"c":{"d":[],"e":{}}}"#, "a[]=&b=&c[d][]=&c[e]="),
        .init("empties:marker", #"{"a":[[],{}]}"#, "a[0][]=&a[1]="),
        .init("empties:marker arrays:repeat", #"{"a":[]}"#, "a[]="),
        .init("empties:omit", #"{"a":[{},{"x":1}]}"#, "a[1][x]=1"),
        // Keys of the root that are no names of the grammar.
        .init(
            "arrays:repeat", #"{"a[b":1,"]":2,"[]":3,"[x]":4,"a[b]c":[5,6],"d":{"e":7}}"#,
            "a[b=1&]=2&[]=3&[x]=4&a[b]c=5&a[b]c=6&d[e]=7"),
        .init("nesting:dots", #"{"a..b":1,".":2,"c.":3,"d":{"e":4}}"#, "a..b=1&.=2&c.=3&d.e=4"),
        // JSON texts.
        .init(
            "arrays:json", #"{"a":[1.0,"x\"",null,true,{"b":[]}],"c":{"d":[2]},"e":[]}"#,
            "a=[1.0%2C%22x%5C%22%22%2Cnull%2Ctrue%2C%7B%22b%22%3A[]%7D]&c[d]=[2]&e=[]"),
        .init(
            "nesting:json", #"{"a":{"b":{},"c":[1,{"d":2}]},"e":[3],"f":"x","g[":1}"#,
            "a=%7B%22b%22%3A%7B%7D%2C%22c%22%3A[1%2C%7B%22d%22%3A2%7D]%7D&e=[3]&f=x&g[=1"),
        .init(
            "nesting:json arrays:brackets", #"{"a":[{"x":1},{"y":2},3]}"#,
            "a[]=%7B%22x%22%3A1%7D&a[]=%7B%22y%22%3A2%7D&a[]=3"),
        .init("nesting:json arrays:indices", #"{"a":[[{"x":1}]]}"#, "a[0][0]=%7B%22x%22%3A1%7D"),
        .init("nesting:json arrays:repeat", #"{"a":[{"x":1},2]}"#, "a=%7B%22x%22%3A1%7D&a=2"),
    ]

    @Test("writes a field for each scalar, named by its path", arguments: writtenRows)
    func written(row: FlattenerRow) {
        for pieceSize in [Int.max, 1] {
            #expect(outcome(encodeForm(row.document, row.options, pieceSize: pieceSize)) == row.expected)
        }
    }

    private static let refusedRows: [FlattenerRow] = [
        .init("", "[]", "root_not_object - -"),
        .init("", "1", "root_not_object - -"),
        .init("", #""x""#, "root_not_object - -"),
        .init("", "null", "root_not_object - -"),
        .init("nulls:omit", "null", "root_not_object - -"),
        .init("", "true", "root_not_object - -"),
        .init("arrays:json", "[1]", "root_not_object - -"),
        .init("nesting:json", "[1]", "root_not_object - -"),
        .init("", #"{"a[b]":1}"#, "field_name_unrepresentable a[b] nesting"),
        .init("", #"{"a[]":1}"#, "field_name_unrepresentable a[] nesting"),
        .init("", #"{"a]":{"b":1}}"#, "field_name_unrepresentable a][b] nesting"),
        .init("", #"{"a]":[1]}"#, "field_name_unrepresentable a] nesting"),
        .init("arrays:indices", #"{"a[":[1]}"#, "field_name_unrepresentable a[ nesting"),
        .init("", #"{"a":{"b[c":1}}"#, "field_name_unrepresentable a[b[c] nesting"),
        .init("", #"{"a":{"bbbbbbbbbbbbbbb]":1}}"#, "field_name_unrepresentable a[bbbbbbbbbbbbbbb]] nesting"),
        .init("", #"{"a":{"bbbbbbbbbbbbbbbb]":1}}"#, "field_name_unrepresentable a[bbbbbbbbbbbbbbbb]] nesting"),
        .init("", #"{"a":{"bbbbbbbbbbbbbbbbbbbb]":1}}"#, "field_name_unrepresentable a[bbbbbbbbbbbbbbbbbbbb]] nesting"),
        .init("", #"{"a":{"":1}}"#, "field_name_unrepresentable a[] nesting"),
        .init("", #"{"":{"a":1}}"#, "field_name_unrepresentable [a] nesting"),
        .init("", #"{"":[1]}"#, "field_name_unrepresentable  nesting"),
        .init("arrays:indices", #"{"":[1]}"#, "field_name_unrepresentable  nesting"),
        .init("nesting:dots", #"{"a.b":1}"#, "field_name_unrepresentable a.b nesting"),
        .init("nesting:dots", #"{"a":{"b.c":1}}"#, "field_name_unrepresentable a.b.c nesting"),
        .init("nesting:dots", #"{"a":{"b[":1}}"#, "field_name_unrepresentable a.b[ nesting"),
        .init("nesting:dots", #"{"a":{"":1}}"#, "field_name_unrepresentable a. nesting"),
        .init("nulls:reject", #"{"a":{"b":null}}"#, "field_null a[b] nulls"),
        .init("nulls:reject", #"{"a":[1,null]}"#, "field_null a[] nulls"),
        .init("", #"{"a":{"b":{}}}"#, "field_empty a[b] empties"),
        .init("", #"{"a":[]}"#, "field_empty a empties"),
        .init("", #"{"a":[{"x":1},{}]}"#, "field_empty a[1] empties"),
        .init("nulls:omit", #"{"a":{"b":null}}"#, "field_empty a empties"),
        .init("nesting:flat", #"{"a":{"b":1}}"#, "field_nested_object a nesting"),
        .init("nesting:flat", #"{"a":[{"b":1}]}"#, "field_nested_object a[0] nesting"),
        .init("", #"{"a":[1,{"x":2}]}"#, "field_mixed_array a arrays"),
        .init("", #"{"a":[1,[2]]}"#, "field_mixed_array a arrays"),
        .init("arrays:repeat", #"{"a":[{"x":2}]}"#, "field_container_in_array a arrays"),
        .init("arrays:repeat", #"{"a":[1,[2]]}"#, "field_container_in_array a arrays"),
        .init("arrays:comma", #"{"a":[{"x":2}]}"#, "field_container_in_array a arrays"),
        .init("arrays:comma", #"{"a":[[2]]}"#, "field_container_in_array a arrays"),
        .init("arrays:comma nesting:json", #"{"a":[{"x":2}]}"#, "field_container_in_array a arrays"),
        .init("arrays:comma", #"{"a":["b","c,d"]}"#, "field_comma a arrays"),
        .init("arrays:brackets", #"{"a":[[1]]}"#, "field_container_in_array a arrays"),
        .init("arrays:brackets", #"{"a":[{"x":1},{"y":2}]}"#, "field_regrouped a[][y] arrays"),
        .init("arrays:brackets", #"{"a":[{"x":1,"y":2},{"z":3,"x":4}]}"#, "field_regrouped a[][z] arrays"),
        .init("arrays:brackets", #"{"a":[{"x":1,"y":2},{"x":3},{"y":4}]}"#, "field_regrouped a[][y] arrays"),
        .init("arrays:brackets", #"{"a":[{"x":[1]},{"x":[2]}]}"#, "field_regrouped a[][x][] arrays"),
        .init("arrays:brackets", #"{"a":[{"x":1},{"x":{"y":2}}]}"#, "field_regrouped a[][x][y] arrays"),
        .init("arrays:brackets", #"{"a":[{"xy":1},{"x":2}]}"#, "field_regrouped a[][x] arrays"),
        .init(
            "arrays:brackets", #"{"a":[{"x":[{"y":1},{"z":3}]}]}"#, "field_regrouped a[][x][][z] arrays"),
        .init("arrays:brackets empties:omit", #"{"a":[{"x":1},{},{"y":2}]}"#, "field_regrouped a[][y] arrays"),
        .init("arrays:brackets nesting:dots", #"{"a":[{"x":1},{"y":2}]}"#, "field_regrouped a[].y arrays"),
        .init("arrays:brackets empties:marker", #"{"a":[{"x":1},{}]}"#, "field_regrouped a[] arrays"),
        .init("arrays:brackets", #"{"a":[{}]}"#, "field_empty a[] empties"),
    ]

    @Test("refuses what would be lost or read as something else, by name and setting", arguments: refusedRows)
    func refused(row: FlattenerRow) {
        let result = encodeForm(row.document, row.options)
        #expect(outcome(result) == row.expected)
        if case .failure(let error) = result { #expect(error.kind == .unrepresentable) }
    }

    @Test("every refusal of a document is in the table")
    func everyFault() {
        let codes = Set(Self.refusedRows.map { String($0.expected.split(separator: " ")[0]) })
        // The last one is Alamofire's: `DialectTests`.
        let others = [FieldFault.malformedKey, .path, .digitKeys].map(\.code)
        #expect(codes == Set(FieldFault.allCases.map(\.code)).subtracting(others))
    }

    @Test(
        "the segments after a name's root are limited as for reading", arguments: [(31, true), (32, true), (33, false)])
    func depth(segments: Int, isWritten: Bool) {
        let open = String(repeating: #"{"b":"#, count: segments)
        let document = #"{"a":"# + open + "1" + String(repeating: "}", count: segments + 1)
        let name = "a" + String(repeating: "[b]", count: segments)
        #expect(outcome(encodeForm(document)) == (isWritten ? name + "=1" : "limit_key_depth \(name) limits.key_depth"))
    }

    @Test(
        "a name's length is limited as for reading: each element repeats the whole name",
        arguments: [(-1, false), (0, true), (1, true)])
    func amplification(more: Int, isWritten: Bool) {
        var limits = Limits()
        limits.key = 8 + more
        let result = outcome(encodeForm(#"{"a":{"bcd":[1,1]}}"#, .init(), limits: limits))
        #expect(result == (isWritten ? "a[bcd][]=1&a[bcd][]=1" : "limit_key a[bcd][]… limits.key"))
    }

    @Test("arrays without brackets add no segment to a name", arguments: [ArrayStyle.repeated, .comma, .brackets])
    func arrayDepth(style: ArrayStyle) {
        var options = FieldEncodingOptions()
        options.arrays = style
        var limits = Limits()
        limits.keyDepth = 1
        let result = outcome(encodeForm(#"{"a":{"b":[1]}}"#, options, limits: limits))
        #expect(result == (style == .brackets ? "limit_key_depth a[b][] limits.key_depth" : "a[b]=1"))
    }

    @Test(
        "the names remembered for an element are limited",
        arguments: [
            // The first element's names have 6 + 8 bytes, the second's 6 + 10: a name that repeats counts once.
            (13, "limit_tree a[][yyy] limits.tree"), (14, "limit_tree a[][yyy][] limits.tree"),
            (15, "limit_tree a[][yyy][] limits.tree"), (16, "a[][x]=1&a[][yyy]=2&a[][x]=3&a[][yyy][]=4&a[][yyy][]=4"),
            (17, "a[][x]=1&a[][yyy]=2&a[][x]=3&a[][yyy][]=4&a[][yyy][]=4"),
        ])
    func rememberedNames(limit: Int, expected: String) {
        var options = FieldEncodingOptions()
        options.arrays = .brackets
        var limits = Limits()
        limits.tree = limit
        let document = #"{"a":[{"x":1,"yyy":2},{"x":3,"yyy":[4,4]}]}"#
        #expect(outcome(encodeForm(document, options, limits: limits)) == expected)
    }

    @Test("a long array in an element costs the memory of one name")
    func repeatedNames() {
        var options = FieldEncodingOptions()
        options.arrays = .brackets
        var limits = Limits()
        limits.tree = 16
        let ones = Array(repeating: "1", count: 1000).joined(separator: ",")
        guard case .success = encodeForm(#"{"a":[{"x":[\#(ones)]}]}"#, options, limits: limits) else {
            Issue.record("refused")
            return
        }
    }

    @Test("files pass with their path as name and all that their head says")
    func files() throws {
        var flattener = Flattener(target: FieldRecorder(), options: .init(), limits: .init())
        var file = PartHead(name: Array("old".utf8).span)
        file.setFilename(Array("a.png".utf8).span)
        file.setMediaType(Array("image/png".utf8).span)
        file.addField(name: Array("X-A".utf8).span, value: Array("1".utf8).span)
        var bare = PartHead()
        bare.isFile = true

        try flattener.beginObject()
        try flattener.key(Array("a".utf8).span)
        try flattener.beginArray()
        for head in [file, bare] {
            try flattener.beginFile(head)
            try flattener.fileContent(Array("PN".utf8).span, isLast: false)
            try flattener.fileContent(Array("G".utf8).span, isLast: true)
        }
        try flattener.endArray()
        try flattener.key(Array("b".utf8).span)
        try flattener.number(Array("1".utf8).span)
        try flattener.endObject()

        #expect((flattener.target.violations as [String]) == [])
        #expect(
            flattener.target.parts == [
                .init(
                    name: "a[]", content: "PNG", isFile: true, filename: "a.png", mediaType: "image/png",
                    otherFields: [.init("X-A", "1")]),
                .init(name: "a[]", content: "PNG", isFile: true),
                .init(name: "b", content: "1"),
            ])
    }

    @Test("a file in a comma list is refused, and in a JSON text written as base64 or refused")
    func filesInTexts() {
        func send(_ words: String) -> String {
            let options = FlattenerRow(words, "", "").options
            var flattener = Flattener(target: Form.Encoder(options: options), options: options, limits: .init())
            var head = PartHead()
            head.isFile = true
            do throws(ConversionError) {
                try flattener.beginObject()
                try flattener.key(Array("a".utf8).span)
                try flattener.beginArray()
                try flattener.beginFile(head)
                try flattener.fileContent(Array("hi".utf8).span, isLast: true)
                try flattener.endArray()
                try flattener.endObject()
            } catch {
                return outcome(.failure(error))
            }
            return outcome(.success(flattener.target.output.span.lossyString()))
        }
        #expect(send("arrays:comma files:base64") == "field_comma a arrays")
        #expect(send("arrays:json files:base64") == "a=[%22aGk%3D%22]")
        #expect(send("arrays:json").hasSuffix(" a files"))
        #expect(send("") == "form_file a[] files")
        #expect(send("files:base64") == "a[]=aGk%3D")
    }

    @Test("a long JSON text goes out in pieces")
    func jsonPieces() throws {
        var options = FieldEncodingOptions()
        options.arrays = .json
        var flattener = Flattener(target: FieldRecorder(), options: options, limits: .init())
        let ones = Array(repeating: "1", count: 20_000).joined(separator: ",")
        try FormTestDocument(#"{"a":[\#(ones)],"b":2}"#).send(into: &flattener)
        #expect((flattener.target.violations as [String]) == [])
        #expect(flattener.target.parts.map(\.content) == [ByteString("[\(ones)]"), "2"])
        #expect(flattener.target.pieceSizes.dropLast().allSatisfy { $0 <= 4100 })
        #expect(flattener.target.pieceSizes.count > 9)
    }

    @Test("is full when its target is")
    func isFull() throws {
        var flattener = Flattener(target: FieldRecorder(pauses: true), options: .init(), limits: .init())
        try flattener.beginObject()
        #expect((flattener.isFull as Bool) == false)
        try flattener.key(Array("a".utf8).span)
        #expect((flattener.isFull as Bool) == false)
        try flattener.string(Span(), isLast: false)
        #expect((flattener.isFull as Bool) == true)
        flattener.target.drain()
        #expect((flattener.isFull as Bool) == false)
    }

    @Test("a reset flattener is as a new one, whatever came before")
    func reset() throws {
        var options = FieldEncodingOptions()
        options.arrays = .brackets
        var flattener = Flattener(target: FieldRecorder(), options: options, limits: .init())
        #expect(throws: ConversionError.self) {
            try FormTestDocument(#"{"a":[{"x":1},{"y":2}]}"#).send(into: &flattener)
        }
        flattener.reset()
        flattener.target = FieldRecorder()
        try FormTestDocument(#"{"a":[{"y":1},{"y":"z"}]}"#).send(into: &flattener)
        #expect(flattener.target.parts.map(\.name) == ["a[][y]", "a[][y]"])
    }
}
