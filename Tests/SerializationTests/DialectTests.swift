import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// What each dialect writes. The rows marked "run" were taken from the library itself; `Tests/EndToEndTests/interop_tests.py`
/// compares more of them each time.
@Suite("Dialects on output")
struct DialectTests {
    private func outcome(_ result: Result<String, ConversionError>) -> String {
        switch result {
        case .success(let form): readable(form)
        case .failure(let error): "\(error.code) \(error.field ?? "-") \(error.setting ?? "-")"
        }
    }

    private static let rows: [FlattenerRow] = [
        // One document in each.
        .init(
            "dialect:afnetworking", #"{"b":[1,"x y",[true,null],{"k":"~/"}],"a":{"z":null,"y":1e-7},"e":[]}"#,
            "a[y]=1e-07&a[z]&b[]=1&b[]=x%20y&b[][]=1&b[][]&b[][k]=~/"),
        .init(
            "dialect:alamofire", #"{"b":[1,"x y",[true,null],{"k":"~/"}],"a":{"z":null,"y":1e-7},"e":[]}"#,
            "a[y]=1e-07&b[][]=1&b[][k]=~/&b[]=1&b[]=x%20y"),
        .init(
            "dialect:qs", #"{"b":[1,"x y",[true,null],{"k":"~/"}],"a":{"z":null,"y":1e-7},"e":[]}"#,
            "b[0]=1&b[1]=x%20y&b[2][0]=true&b[2][1]=&b[3][k]=~%2F&a[z]=&a[y]=1e-7"),
        .init(
            "dialect:php", #"{"b":[1,"x y",[true,null],{"k":"~/"}],"a":{"z":null,"y":1e-7},"e":[]}"#,
            "b[0]=1&b[1]=x+y&b[2][0]=1&b[3][k]=%7E%2F&a[y]=1.0E-7"),
        .init(
            "dialect:rack", #"{"b":[1,"x y",[true,null],{"k":"~/"}],"a":{"z":null,"y":1e-7},"e":[]}"#,
            "b[]=1&b[]=x+y&b[][]=true&b[][]&b[][k]=%7E%2F&a[z]&a[y]=1.0e-07"),
        .init(
            "dialect:whatwg", #"{"b":[1,"x y",[true,null]],"a[c]":null,"y":1e-7,"e":[]}"#,
            "b=1&b=x+y&b=true&b=null&a[c]=null&y=1e-7"),

        // Roots that are no objects.
        .init("dialect:afnetworking", #""ABCD""#, "=ABCD"),
        .init("dialect:afnetworking", "true", "=1"),
        .init("dialect:afnetworking", #"["a",{"k":1}]"#, "%28null%29[]=a&%28null%29[][k]=1"),
        .init("dialect:afnetworking", "null", ""),
        .init("dialect:alamofire", "[[],{},null]", ""),
        .init("dialect:alamofire", "[1]", "root_not_object - -"),
        .init("dialect:alamofire", "1", "root_not_object - -"),
        .init("dialect:qs", #"["a",{"k":[1]}]"#, "0=a&1[k][0]=1"),
        .init("dialect:qs arrays:brackets", #"["a",[1]]"#, "0=a&1[]=1"),
        .init("dialect:qs", "null", ""),
        .init("dialect:qs", #""x""#, "root_not_object - -"),
        .init("dialect:php", #"["a",["b"]]"#, "0=a&1[0]=b"),
        .init("dialect:php", "null", "root_not_object - -"),
        .init("dialect:rack", #"["a",{"k":1}]"#, "[]=a&[][k]=1"),
        .init("dialect:rack", "null", ""),
        .init("dialect:whatwg", #"[["a b","c"],["a b",""],["",null],[1,true]]"#, "a+b=c&a+b=&=null&1=true"),
        .init("dialect:whatwg", #"[["a"]]"#, "root_not_object - -"),
        .init("dialect:whatwg", #"[["a","b","c"]]"#, "root_not_object - -"),
        .init("dialect:whatwg", #"[["a",["b"]]]"#, "root_not_object - -"),
        .init("dialect:whatwg", #"["ab"]"#, "root_not_object - -"),
        .init("dialect:whatwg", #"[{"a":1}]"#, "root_not_object - -"),
        .init("dialect:whatwg", "1", "root_not_object - -"),

        // Names are written as they stand.
        .init("dialect:php", #"{"a[b]":{"c":1},"":{"d":2},"e":{"":3}}"#, "a[b][c]=1&[d]=2&e[]=3"),
        .init("dialect:qs nesting:dots", #"{"a":{"b.c":[{"d":1}]}}"#, "a.b.c[0].d=1"),
        .init("dialect:qs nesting:flat", #"{"a[b]":1}"#, "a[b]=1"),
        .init("dialect:qs nesting:flat", #"{"a":{"b":1}}"#, "field_nested_object a nesting"),
        .init("dialect:qs nesting:json", #"{"a":{"b":[1.10,null]},"c":[1]}"#, "a=%7B%22b%22%3A[1.10%2Cnull]%7D&c[0]=1"),
        .init("dialect:php arrays:json", #"{"a":[1.10,{"b":null}]}"#, "a=[1.10%2C%7B%22b%22%3Anull%7D]"),
        .init(
            "dialect:afnetworking nesting:json", #"{"b":{"z":1,"a":2},"a":1}"#, "a=1&b=%7B%22z%22%3A1%2C%22a%22%3A2%7D"),

        // Arrays in other styles than the dialect's own.
        .init("dialect:rack arrays:auto", #"{"a":[1,[2],{"b":[3]}]}"#, "a[]=1&a[1][]=2&a[2][b][]=3"),
        .init("dialect:rack arrays:repeat", #"{"a":[1,[2],{"b":[3]}]}"#, "a=1&a=2&a[b]=3"),
        .init(
            "dialect:qs arrays:comma", #"{"a":["x,y",null,[1,[]],true],"b":[[null]],"c":[]}"#,
            "a=x%2Cy%2C%2C1%2C%2Ctrue&b="),
        .init("dialect:qs arrays:comma nulls:key", #"{"a":[""],"b":["",""]}"#, "a&b=%2C"),
        .init("dialect:qs arrays:comma nulls:omit", #"{"a":[null],"b":[null,1]}"#, "b=%2C1"),
        .init("dialect:qs arrays:comma", #"{"a":[{"b":1}]}"#, "field_container_in_array a arrays"),
        .init("dialect:qs arrays:comma order:sorted", #"{"b":[2,1],"a":[[3],4]}"#, "a=3%2C4&b=2%2C1"),

        // Empties and nulls.
        .init("dialect:qs empties:marker", #"{"a":[],"b":{},"c":[{}]}"#, "a[]&b=&c[0]="),
        .init("dialect:php empties:marker", #"{"a":[],"b":{}}"#, "a[]=&b="),
        .init("dialect:php empties:reject", #"{"a":[[]]}"#, "field_empty a[0] empties"),
        .init("dialect:alamofire empties:marker", #"{"a":[],"b":{},"c":[[]]}"#, "a[]=&b=&c[][]="),
        .init("dialect:alamofire empties:reject", #"{"a":{"b":[]}}"#, "field_empty a.b empties"),
        .init("dialect:php nulls:reject", #"{"a":[1,null]}"#, "field_null a[1] nulls"),
        .init("dialect:afnetworking nulls:omit", #"{"a":[1,null,2],"b":null}"#, "a[]=1&a[]=2"),
        .init("dialect:afnetworking nulls:omit arrays:indices", #"{"a":[1,null,2]}"#, "a[0]=1&a[2]=2"),
        .init("dialect:afnetworking", #"{"":null,"a":1}"#, "&a=1"),
        .init("dialect:rack", #"{"":null,"a":1}"#, "a=1"),
        .init("dialect:whatwg nulls:key", #"{"a":null}"#, "a"),

        // Rack joins what is left of arrays' elements, also nothing (run).
        .init("dialect:rack", #"{"a":[1,null,[],{},"x"]}"#, "a[]=1&a[]&&&a[]=x"),
        .init("dialect:rack", #"{"a":[[],[1]]}"#, "&a[][]=1"),
        .init("dialect:rack", #"{"a":[[]],"b":[1,[]],"c":[[],[]]}"#, "b[]=1&&&"),
        .init("dialect:rack", #"{"a":{"b":[]},"c":[{"b":[]},1]}"#, "&c[]=1"),

        // Alamofire (run; see `AlamofireComponents`).
        .init("dialect:alamofire", #"{"a":["b","a","c"]}"#, "a[]=a&a[]=b&a[]=c"),
        .init("dialect:alamofire order:input", #"{"b":["b","a"],"a":1}"#, "b[]=b&b[]=a&a=1"),
        .init(
            "dialect:alamofire arrays:indices", #"{"a":[0,1,2,3,4,5,6,7,8,9,10]}"#,
            "a[0]=0&a[1]=1&a[10]=10&a[2]=2&a[3]=3&a[4]=4&a[5]=5&a[6]=6&a[7]=7&a[8]=8&a[9]=9"),
        .init("dialect:alamofire arrays:indices", #"{"a":[1,null,2]}"#, "a[0]=1&a[1]=2"),
        .init(
            "dialect:alamofire arrays:indices order:input", #"{"a":[null,{"x":1,"y":2,"z":3},{"w":4}]}"#,
            "a[0][x]=1&a[1][y]=2&a[1][z]=3&a[2][w]=4"),
        // Elements that have no index in their names are sorted by their texts, whatever number they had.
        .init(
            "dialect:alamofire arrays:auto", #"{"a":[3,2,10,1],"b":[{"x":2},{"x":1},"d","c"]}"#,
            "a[]=1&a[]=10&a[]=2&a[]=3&b[]=c&b[]=d&b[0][x]=2&b[1][x]=1"),
        .init(
            "dialect:alamofire arrays:auto nesting:dots", #"{"a":[3,2,10,1],"b":[{"x":2},{"x":1},"d","c"]}"#,
            "a[]=1&a[]=10&a[]=2&a[]=3&b[]=c&b[]=d&b[0].x=2&b[1].x=1"),
        .init("dialect:alamofire", #"{"a":{"0":"x"},"b":{"10":{"k":1},"9":2}}"#, "a[]=x&b[][k]=1&b[]=2"),
        .init("dialect:alamofire", #"{"1":"a"}"#, "root_not_object - -"),
        .init("dialect:alamofire", #"{"a":{"1":"a","b":"c"}}"#, "field_digit_keys a.1 dialect"),
        .init("dialect:alamofire", #"{"a":{"1":"a","01":"c"}}"#, "field_digit_keys a.1 dialect"),
        .init("dialect:alamofire", #"{"a":{"-1":"a"}}"#, "field_digit_keys a.-1 dialect"),
        .init("dialect:alamofire", #"{"a":{"99999999999999999999":"a","b":1}}"#, "a[99999999999999999999]=a&a[b]=1"),
        .init("dialect:alamofire", #"{"a&":1,"a":2,"a!":3,"a-":4}"#, "a%21=3&a%26=1&a-=4&a=2"),
        .init("dialect:alamofire", #"{"a":[{"y":1,"x":2},{"x":1,"z":0}]}"#, "a[][x]=1&a[][z]=0&a[][x]=2&a[][y]=1"),
        .init("dialect:alamofire", #"{"a":2,"a":1,"a":{"b":1,"c":2}}"#, "a[b]=1&a[c]=2&a=1&a=2"),
        .init("dialect:afnetworking", #"{"b":2,"a":1,"b":{"c":0}}"#, "a=1&b=2&b[c]=0"),
        .init("dialect:alamofire nulls:key", #"{"a":[null,1]}"#, "a[]&a[]=1"),
        .init("dialect:alamofire spaces:plus nesting:dots", #"{"a b":{"c":[" "]}}"#, "a+b.c[]=+"),
    ]

    @Test("a document is written as the library writes it", arguments: rows)
    func documents(row: FlattenerRow) {
        #expect(outcome(encodeForm(row.document, row.options)) == row.expected)
        // However its strings are cut.
        #expect(outcome(encodeForm(row.document, row.options, pieceSize: 1)) == row.expected)
    }

    /// The number, and how PHP, Rack, qs, Alamofire and AFNetworking print it. All but AFNetworking's were run.
    private static let numbers: [(String, [String])] = [
        ("1", ["1", "1", "1", "1", "1"]),
        ("-0", ["0", "0", "0", "0", "0"]),
        ("-0.0", ["-0", "-0.0", "0", "-0.0", "-0"]),
        ("0e5", ["0", "0.0", "0", "0.0", "0"]),
        ("1.10", ["1.1", "1.1", "1.1", "1.1", "1.1"]),
        ("1e2", ["100", "100.0", "100", "100.0", "100"]),
        ("1e-7", ["1.0E-7", "1.0e-07", "1e-7", "1e-07", "1e-07"]),
        ("1.5e-10", ["1.5E-10", "1.5e-10", "1.5e-10", "1.5e-10", "1.5e-10"]),
        ("0.0001", ["0.0001", "0.0001", "0.0001", "0.0001", "0.0001"]),
        ("0.00001", ["1.0E-5", "1.0e-05", "0.00001", "1e-05", "1e-05"]),
        ("1e14", ["1.0E+14", "100000000000000.0", "100000000000000", "100000000000000.0", "100000000000000"]),
        ("1e15", ["1.0E+15", "1.0e+15", "1000000000000000", "1000000000000000.0", "1000000000000000"]),
        ("1e16", ["1.0E+16", "1.0e+16", "10000000000000000", "1e+16", "1e+16"]),
        (
            "1234567890123456.8",
            [
                "1234567890123456.8", "1234567890123456.8", "1234567890123456.8", "1234567890123456.8",
                "1234567890123456.8",
            ]
        ),
        (
            "-1234567890123456.2e0",
            [
                "-1234567890123456.2e0", "-1234567890123456.2", "-1234567890123456.2", "-1234567890123456.2",
                "-1234567890123456.2",
            ]
        ),
        (
            "1234567890123456.0",
            [
                "1234567890123456.0", "1.234567890123456e+15", "1234567890123456", "1234567890123456.0",
                "1234567890123456",
            ]
        ),
        ("1e21", ["1.0E+21", "1.0e+21", "1e+21", "1e+21", "1e+21"]),
        ("-123456.789e3", ["-123456789", "-123456789.0", "-123456789", "-123456789.0", "-123456789"]),
        ("0.1", ["0.1", "0.1", "0.1", "0.1", "0.1"]),
        // What all of them print as it stands, and what is next to it.
        ("0.01", Array(repeating: "0.01", count: 5)),
        ("-0.012345678901", Array(repeating: "-0.012345678901", count: 5)),
        ("12345678.901234", Array(repeating: "12345678.901234", count: 5)),
        ("1234567.8901234", Array(repeating: "1234567.8901234", count: 5)),
        ("1234567.89012345", Array(repeating: "1234567.89012345", count: 5)),
        ("10.0", ["10", "10.0", "10", "10.0", "10"]),
        ("100.50", Array(repeating: "100.5", count: 5)),
        ("1000.0001000", Array(repeating: "1000.0001", count: 5)),
        ("0.00123", Array(repeating: "0.00123", count: 5)),
        ("12.5e1", ["125", "125.0", "125", "125.0", "125"]),
        ("10.010e-3", Array(repeating: "0.01001", count: 5)),
        ("1200000000000000000000000e-5", ["1.2E+19", "1.2e+19", "12000000000000000000", "1.2e+19", "1.2e+19"]),
        // Integers are exact where the library has any of that size.
        (
            "100000000000000000000",
            [
                "1.0E+20", "100000000000000000000", "100000000000000000000", "100000000000000000000",
                "100000000000000000000",
            ]
        ),
        ("9223372036854775807", Array(repeating: "9223372036854775807", count: 5)),
        // Digits that the library would round away are kept.
        ("9007199254740993", Array(repeating: "9007199254740993", count: 5)),
        ("18446744073709551615", Array(repeating: "18446744073709551615", count: 5)),
        ("0.30000000000000004", Array(repeating: "0.30000000000000004", count: 5)),
        ("0.123456789012345", Array(repeating: "0.123456789012345", count: 5)),
        ("3.14159265358979323846", Array(repeating: "3.14159265358979323846", count: 5)),
        ("1e400", Array(repeating: "1e400", count: 5)),
        ("1e-400", Array(repeating: "1e-400", count: 5)),
        ("1e99999999999999999999", Array(repeating: "1e99999999999999999999", count: 5)),
    ]

    @Test("a number is printed as the library prints it, unless digits would be lost", arguments: numbers)
    func numberTexts(number: String, expected: [String]) {
        for (dialect, text) in zip([Dialect.php, .rack, .qs, .alamofire, .afnetworking], expected) {
            let form = outcome(encodeForm("{\"a\":\(number)}", FieldEncodingOptions(dialect: dialect)))
            #expect(form == "a=" + text.replacing("+", with: "%2B"), "\(dialect)")
        }
        // Our own keeps the text.
        #expect(outcome(encodeForm("{\"a\":\(number)}")) == "a=" + number)
    }

    @Test("a point in time is printed as the library prints it")
    func dates() throws {
        let expected: [(Dialect, String)] = [
            (.recast, "a=2001-01-02T00%3A02%3A03Z"), (.afnetworking, "a=2001-01-02%2000%3A02%3A03%20%2B0000"),
            (.alamofire, "a=86523.0"), (.qs, "a=2001-01-02T00%3A02%3A03.000Z"), (.php, "a=2001-01-02T00%3A02%3A03Z"),
        ]
        for (dialect, form) in expected {
            let options = FieldEncodingOptions(dialect: dialect)
            var flattener = Flattener(target: Form.Encoder(options: options), options: options, limits: Limits())
            try flattener.beginObject()
            try flattener.key(Array("a".utf8).span)
            try flattener.date(Array("2001-01-02T00:02:03Z".utf8).span)
            try flattener.endObject()
            #expect(flattener.target.output.span.lossyString() == form)
        }
    }

    @Test(
        "what a rule leaves out is counted",
        arguments: [
            ("dialect:php", #"{"a":null,"b":[null,[],{"c":null}],"d":{},"e":1}"#, 5),
            ("dialect:alamofire", #"{"a":null,"b":[null,[],{"c":null}],"d":{},"e":1}"#, 5),
            ("dialect:afnetworking", #"{"a":null,"b":[null,[],{"c":null}],"d":{},"":null}"#, 3),
            ("dialect:rack", #"{"":null}"#, 1), ("dialect:qs", "null", 1), ("dialect:qs", #"{"a":[],"b":null}"#, 1),
            ("dialect:qs empties:marker", #"{"a":[],"b":null}"#, 0),
            ("nulls:omit empties:omit", #"{"a":[],"b":null}"#, 2),
        ])
    func removed(words: String, document: String, count: Int) throws {
        let options = FlattenerRow(words, "", "").options
        var flattener = Flattener(target: Form.Encoder(options: options), options: options, limits: Limits())
        for _ in 0..<2 {
            flattener.reset()
            try FormTestDocument(document).send(into: &flattener)
            #expect(flattener.removedCount == count)
        }
    }

    @Test("a flattener is as new after a reset, also after an error", arguments: Dialect.allCases)
    func reset(dialect: Dialect) throws {
        let options = FieldEncodingOptions(dialect: dialect)
        var flattener = Flattener(target: Form.Encoder(options: options), options: options, limits: Limits())
        try? FormTestDocument(#"{"b":[1,{"1":2,"c":[[1]]},2],"a":"x"}"#).send(into: &flattener)
        flattener.reset()
        flattener.target.reset()
        try FormTestDocument(#"{"b":["x"],"a":1}"#).send(into: &flattener)
        guard case .success(let fresh) = encodeForm(#"{"b":["x"],"a":1}"#, options) else { throw Failed() }
        #expect(flattener.target.output.span.lossyString() == fresh)
    }

    private struct Failed: Error {}

    @Test("a document that is held counts against limits.tree", arguments: [Dialect.afnetworking, .alamofire])
    func treeLimit(dialect: Dialect) {
        var limits = Limits()
        limits.tree = 1000
        let document = #"{"a":""# + String(repeating: "x", count: 1000) + #""}"#
        let result = encodeForm(document, FieldEncodingOptions(dialect: dialect), limits: limits)
        #expect(outcome(result) == "limit_tree - limits.tree")
    }

    @Test("names have the limits that they have when read", arguments: Dialect.allCases.filter { $0 != .whatwg })
    func nameLimits(dialect: Dialect) {
        let options = FieldEncodingOptions(dialect: dialect)
        for count in 31...33 {
            let document =
                #"{"a":"# + String(repeating: #"{"b":"#, count: count) + "1" + String(repeating: "}", count: count + 1)
            let result = outcome(encodeForm(document, options))
            #expect(result.hasPrefix("limit_key_depth") == (count == 33))
        }
        var limits = Limits()
        for limit in 3...5 {
            limits.key = limit
            let result = outcome(encodeForm(#"{"a":{"b":1}}"#, options, limits: limits))
            #expect(result.hasPrefix("limit_key a") == (limit == 3))
        }
    }
}
