import TestSupport
import Transcoding

// The bodies that show what notes say; see `ConversionNoteTests`.
extension ConversionNoteTests {
    static let fieldCases: [Case] = [
        Case(
            conversion: "json -> form", code: "null_empty", body: #"{"a":null}"#, output: "a=", twin: #"{"a":""}"#,
            mended: ("json -> form(nulls: literal)", "a=null")),
        Case(
            conversion: "json -> form(nulls: key)", code: "null_key", body: #"{"a":null}"#, output: "a",
            back: ("form -> json", #"{"a":""}"#), mended: ("json -> form(nulls: reject)", "!field_null a")),
        Case(
            conversion: "json -> form(nulls: literal)", code: "null_literal", body: #"{"a":null}"#, output: "a=null",
            twin: #"{"a":"null"}"#, mended: ("json -> form(nulls: reject)", "!field_null a")),
        Case(
            conversion: "json -> form(nulls: omit)", code: "null_omitted", body: #"{"a":null,"b":"x"}"#,
            output: "b=x", twin: #"{"b":"x"}"#, mended: ("json -> form(nulls: literal)", "a=null&b=x")),
        Case(
            conversion: "json -> form(nulls: reject)", code: "null_rejected", body: #"{"a":null}"#,
            output: "!field_null a", mended: ("json -> form(nulls: literal)", "a=null")),
        Case(
            conversion: "json -> form", code: "array_empty_rejected", body: #"{"a":[]}"#, output: "!field_empty a",
            mended: ("json -> form(empties: marker)", "a[]=")),
        Case(
            conversion: "json -> form", code: "object_empty_rejected", body: #"{"a":{}}"#, output: "!field_empty a",
            mended: ("json -> form(nesting: json)", "a=%7B%7D")),
        Case(
            conversion: "json -> form(empties: omit)", code: "array_empty_omitted", body: #"{"a":[],"b":"x"}"#,
            output: "b=x", twin: #"{"b":"x"}"#, mended: ("json -> form(arrays: json, empties: omit)", "a=[]&b=x")),
        Case(
            conversion: "json -> form(empties: omit)", code: "object_empty_omitted", body: #"{"a":{},"b":"x"}"#,
            output: "b=x", twin: #"{"b":"x"}"#, mended: ("json -> form(empties: marker)", "a=&b=x")),
        Case(
            conversion: "json -> form(empties: marker)", code: "array_empty_marker", body: #"{"a":[]}"#,
            output: "a[]=", twin: #"{"a":[""]}"#, mended: ("json -> form(arrays: json, empties: marker)", "a=[]")),
        Case(
            conversion: "json -> form(empties: marker)", code: "object_empty_marker", body: #"{"a":{}}"#,
            output: "a=", twin: #"{"a":""}"#, mended: ("json -> form(nesting: json)", "a=%7B%7D")),
        Case(
            conversion: "json -> form", code: "array_mixed", body: #"{"a":["x",{"b":"y"}]}"#,
            output: "!field_mixed_array a", mended: ("json -> form(arrays: indices)", "a[0]=x&a[1][b]=y")),
        Case(
            conversion: "json -> form(nesting: flat)", code: "array_mixed", body: #"{"a":["x",["y"]]}"#,
            output: "!field_mixed_array a", mended: ("json -> form(nesting: flat, arrays: indices)", "a[0]=x&a[1][0]=y")
        ),
        Case(
            conversion: "json -> form(arrays: brackets)", code: "array_of_objects",
            body: #"{"a":[{"x":"1"},{"y":"2"}]}"#, output: "!field_regrouped a[][y]",
            mended: ("json -> form(arrays: indices)", "a[0][x]=1&a[1][y]=2")),
        Case(
            conversion: "json -> form(arrays: repeat)", code: "array_of_objects", body: #"{"a":[{"x":"1"}]}"#,
            output: "!field_container_in_array a", mended: ("json -> form(arrays: indices)", "a[0][x]=1")),
        Case(
            conversion: "json -> form(arrays: comma, nesting: json)", code: "array_of_objects",
            body: #"{"a":[{"x":"1"}]}"#, output: "!field_container_in_array a",
            mended: ("json -> form(arrays: indices)", "a[0][x]=1")),
        Case(
            conversion: "json -> form(arrays: brackets)", code: "array_nested", body: #"{"a":[["x"]]}"#,
            output: "!field_container_in_array a", mended: ("json -> form(arrays: indices)", "a[0][0]=x")),
        Case(
            conversion: "json -> form(arrays: comma)", code: "array_nested", body: #"{"a":[["x"]]}"#,
            output: "!field_container_in_array a", mended: ("json -> form(arrays: indices)", "a[0][0]=x")),
        Case(
            conversion: "json -> form(arrays: repeat)", code: "array_of_one", body: #"{"a":["x"]}"#, output: "a=x",
            twin: #"{"a":"x"}"#, mended: ("json -> form(arrays: brackets)", "a[]=x")),
        Case(
            conversion: "xml -> form(arrays: comma)", code: "array_of_one", body: "<r><a>x</a><a>y</a></r>",
            output: "r[a]=x,y", twin: "<r><a>x,y</a></r>",
            mended: ("xml -> form(arrays: indices)", "r[a][0]=x&r[a][1]=y")),
        Case(
            conversion: "json -> form(arrays: comma)", code: "comma_in_array", body: #"{"a":["x,y"]}"#,
            output: "!field_comma a", mended: ("json -> form(arrays: indices)", "a[0]=x,y")),
        Case(
            conversion: "json -> form(arrays: comma)", code: "comma_in_text", body: #"{"a":"x,y"}"#, output: "a=x,y",
            twin: #"{"a":["x","y"]}"#, mended: ("json -> form(arrays: brackets)", "a=x,y")),
        Case(
            conversion: "json -> form(nesting: flat)", code: "object_nested", body: #"{"a":{"b":"x"}}"#,
            output: "!field_nested_object a", mended: ("json -> form", "a[b]=x")),
        Case(
            conversion: "json -> form", code: "name_marks", body: #"{"a[b]":"x"}"#,
            output: "!field_name_unrepresentable a[b]", mended: ("json -> form(nesting: json)", "a[b]=x")),
        Case(
            conversion: "xml -> form(nesting: dots)", code: "name_dot", body: "<a.b>x</a.b>",
            output: "!field_name_unrepresentable a.b", mended: ("xml -> form(nesting: json)", "a.b=x")),
        Case(
            conversion: "json -> form", code: "document_rejected", body: #"["x"]"#, output: "!root_not_object"),
        Case(
            conversion: "json -> form(nesting: flat)", code: "array", body: #"{"a":["x","y"]}"#, output: "a[]=x&a[]=y",
            back: ("form(nesting: flat) -> json", #"{"a[]":["x","y"]}"#),
            mended: ("json -> form(nesting: flat, arrays: repeat)", "a=x&a=y")),
        Case(
            conversion: "json -> form(arrays: indices, nulls: omit)", code: "array_hole",
            body: #"{"a":["x",null,"y"]}"#,
            output: "a[0]=x&a[2]=y", back: ("form -> json", #"{"a":{"0":"x","2":"y"}}"#)),
        Case(
            conversion: "json -> multipart", code: "name_control", body: ##"{"a\u0000":"x"}"##,
            output: "!multipart_name_unwritable a\u{0}", mended: ("json -> form", "a%00=x")),
        Case(
            conversion: "xml -> form(nulls: omit)", code: "array_of_nulls", body: "<r><a/><a/></r>",
            output: "!field_empty r[a]", mended: ("xml -> form(nulls: omit, arrays: json)", "r[a]=[null,null]")),
        Case(
            conversion: "json -> form(arrays: brackets, empties: marker)", code: "object_empty_in_array",
            body: #"{"a":[{},{"b":"x"}]}"#, output: "!field_regrouped a[]",
            mended: (
                "json -> form(arrays: json, empties: marker)", "a=[%7B%7D,%7B%22b%22%3A%22x%22%7D]"
            )),
        Case(
            conversion: "json -> form", code: "name_empty", body: #"{"a":{"":"x"}}"#,
            output: "!field_name_unrepresentable a[]",
            mended: ("json -> form(nesting: json)", #"a=%7B%22%22%3A%22x%22%7D"#)),
        Case(
            conversion: "json -> form", code: "object_numbered", body: #"{"a":{"0":"x"}}"#, output: "a[0]=x",
            back: ("form -> json", #"{"a":["x"]}"#),
            mended: ("json -> form(nesting: json)", #"a=%7B%220%22%3A%22x%22%7D"#)),
        Case(
            conversion: "json -> form(arrays: json)", code: "text_json", body: #"{"a":"[]"}"#, output: "a=[]",
            twin: #"{"a":[]}"#, mended: ("json -> form(arrays: indices)", "a=[]")),
        Case(
            conversion: "json -> form", code: "numbers_text", body: #"{"a":1}"#, output: "a=1", twin: #"{"a":"1"}"#,
            back: ("form(types: safe) -> json", #"{"a":1}"#)),
        Case(
            conversion: "json -> form", code: "booleans_text", body: #"{"a":true}"#, output: "a=true",
            twin: #"{"a":"true"}"#, back: ("form(types: safe) -> json", #"{"a":true}"#)),
        Case(
            conversion: "json -> form(booleans: numeric)", code: "booleans_numeric", body: #"{"a":true}"#,
            output: "a=1", twin: #"{"a":1}"#, mended: ("json -> form", "a=true")),
        Case(
            conversion: "json -> json(booleans: numeric)", code: "booleans_numeric", body: #"{"a":true}"#,
            output: #"{"a":1}"#, twin: #"{"a":1}"#, mended: ("json -> json", #"{"a":true}"#)),
    ]

    static let dialectCases: [Case] = [
        Case(
            conversion: "json -> form(dialect: afnetworking)", code: "array_of_objects",
            body: #"{"a":[{"x":"1"},{"y":"2"}]}"#, output: "a[][x]=1&a[][y]=2", twin: #"{"a":[{"x":"1","y":"2"}]}"#,
            mended: ("json -> form(dialect: afnetworking, arrays: indices)", "a[0][x]=1&a[1][y]=2")),
        Case(
            conversion: "json -> form(dialect: rack)", code: "array_nested", body: #"{"a":[["x"],["y"]]}"#,
            output: "a[][]=x&a[][]=y", twin: #"{"a":[["x","y"]]}"#,
            mended: ("json -> form(dialect: rack, arrays: indices)", "a[0][0]=x&a[1][0]=y")),
        Case(
            conversion: "json -> form(dialect: php)", code: "name_marks", body: #"{"a[b]":"x"}"#, output: "a[b]=x",
            twin: #"{"a":{"b":"x"}}"#, mended: ("json -> form(dialect: php, nesting: json)", "a[b]=x")),
        Case(
            conversion: "json -> form(dialect: php)", code: "null_omitted", body: #"{"a":null,"b":"x"}"#,
            output: "b=x", twin: #"{"b":"x"}"#, mended: ("json -> form(dialect: php, nulls: literal)", "a=null&b=x")),
        Case(
            conversion: "json -> form(dialect: php)", code: "object_numbered", body: #"{"a":{"0":"x"}}"#,
            output: "a[0]=x", twin: #"{"a":["x"]}"#,
            mended: ("json -> form(dialect: php, nesting: json)", "a=%7B%220%22%3A%22x%22%7D")),
        Case(
            conversion: "json -> form(dialect: qs)", code: "empty_omitted", body: #"{"a":[],"b":"x"}"#, output: "b=x",
            twin: #"{"b":"x"}"#, mended: ("json -> form(dialect: qs, empties: marker)", "a[]&b=x")),
        Case(
            conversion: "json -> form(dialect: qs, empties: reject)", code: "empty_rejected", body: #"{"a":[]}"#,
            output: "!field_empty a", mended: ("json -> form(dialect: qs, empties: marker)", "a[]")),
        Case(
            conversion: "json -> form(dialect: php, arrays: comma)", code: "comma_in_array", body: #"{"a":["x,y"]}"#,
            output: "a=x,y", twin: #"{"a":["x","y"]}"#,
            mended: ("json -> form(dialect: php, arrays: indices)", "a[0]=x,y")),
        Case(
            conversion: "json -> form(dialect: whatwg)", code: "array_of_one", body: #"{"a":["x"]}"#, output: "a=x",
            twin: #"{"a":"x"}"#, mended: ("json -> form(dialect: whatwg, arrays: brackets)", "a[]=x")),
        Case(
            conversion: "json -> form(dialect: whatwg)", code: "object_nested", body: #"{"a":{"b":"x"}}"#,
            output: "!field_nested_object a", mended: ("json -> form(dialect: whatwg, nesting: brackets)", "a[b]=x")),
        Case(
            conversion: "json -> form(dialect: php)", code: "php_name_changed", body: #"{"a.b c":"x"}"#,
            output: "a.b+c=x", back: ("form(dialect: php) -> json", #"{"a_b_c":"x"}"#)),
        Case(
            conversion: "json -> form(dialect: php)", code: "php_name_cut", body: #"{"a\u0000b":"x"}"#,
            output: "a%00b=x", back: ("form(dialect: php) -> json", #"{"a":"x"}"#)),
        Case(
            conversion: "json -> form(dialect: php)", code: "php_array_hole", body: #"{"a":["x",null,"y"]}"#,
            output: "a[0]=x&a[2]=y", back: ("form(dialect: php) -> json", #"{"a":{"0":"x","2":"y"}}"#)),
        Case(
            conversion: "json -> form(dialect: alamofire)", code: "array_sorted", body: #"{"a":["y","x"]}"#,
            output: "a[]=x&a[]=y", twin: #"{"a":["x","y"]}"#,
            mended: ("json -> form(dialect: alamofire, arrays: indices)", "a[0]=y&a[1]=x")),
        Case(
            conversion: "json -> form(dialect: alamofire, arrays: comma)", code: "array_of_empty_text",
            body: #"{"a":[""],"b":"x"}"#, output: "b=x", twin: #"{"b":"x"}"#,
            mended: ("json -> form(dialect: alamofire, arrays: indices)", "a[0]=&b=x")),
        Case(
            conversion: "json -> form(dialect: alamofire)", code: "object_number", body: #"{"a":{"0":"x","b":"y"}}"#,
            output: "!field_digit_keys a.0",
            mended: ("json -> form(dialect: alamofire, nesting: json)", "a=%7B%220%22%3A%22x%22,%22b%22%3A%22y%22%7D")),
        Case(
            conversion: "json -> form(dialect: php)", code: "name_empty_root", body: #"{"":"x","b":"y"}"#,
            output: "=x&b=y", back: ("form(dialect: php) -> json", #"{"b":"y"}"#),
            mended: ("json -> form(dialect: php, nesting: json)", "=x&b=y")),
        Case(
            conversion: "json -> form(dialect: qs)", code: "document_array", body: #"["x"]"#, output: "0=x",
            twin: #"{"0":"x"}"#),
        Case(
            conversion: "json -> form(dialect: qs)", code: "document_null", body: "null", output: "", twin: "{}"),
        Case(
            conversion: "json -> form(dialect: whatwg)", code: "document_pairs", body: #"[["a","x"]]"#, output: "a=x",
            twin: #"{"a":"x"}"#),
        Case(
            conversion: "json -> form(dialect: afnetworking)", code: "document_scalar", body: #""x""#, output: "=x",
            twin: #"{"":"x"}"#),
        Case(
            conversion: "json -> form(dialect: qs)", code: "qs_array_long", body: longArray,
            output: (0..<22).map { "a[\($0)]=x" }.joined(separator: "&"),
            back: (
                "form(dialect: qs) -> json",
                #"{"a":{"# + (0..<22).map { "\"\($0)\":\"x\"" }.joined(separator: ",") + "}}"
            ),
            mended: (
                "json -> form(dialect: qs, arrays: json)",
                "a=[" + Array(repeating: "%22x%22", count: 22).joined(separator: ",") + "]"
            )),
        Case(
            conversion: "json -> form(dialect: qs)", code: "qs_deep",
            body: #"{"a":{"b":{"c":{"d":{"e":{"f":{"g":"x"}}}}}}}"#, output: "a[b][c][d][e][f][g]=x",
            back: ("form(dialect: qs) -> json", #"{"a":{"b":{"c":{"d":{"e":{"f":{"[g]":"x"}}}}}}}"#),
            mended: (
                "json -> form(dialect: qs, nesting: json)",
                "a=%7B%22b%22%3A%7B%22c%22%3A%7B%22d%22%3A%7B%22e%22%3A%7B%22f%22%3A%7B%22g%22%3A%22x%22%7D%7D%7D%7D%7D%7D"
            )),
        Case(
            conversion: "json -> form(dialect: qs)", code: "qs_name_dropped",
            body: #"{"__proto__":"x","":"y","toString":"z"}"#,
            output: "__proto__=x&=y&toString=z", back: ("form(dialect: qs) -> json", #"{"toString":"z"}"#)),
        Case(
            conversion: "form -> multipart", code: "name_escaped", body: "a%22b=x",
            output: "--BOUNDARY\r\nContent-Disposition: form-data; name=\"a%22b\"\r\n\r\nx\r\n--BOUNDARY--\r\n",
            twin: "a%2522b=x"),
        Case(
            conversion: "form(dialect: afnetworking) -> multipart", code: "null_empty", body: "a",
            output: "--BOUNDARY\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\r\n--BOUNDARY--\r\n",
            twin: "a="),
        Case(
            conversion: "json -> multipart", code: "name_escaped", body: #"{"a\"b":"x"}"#,
            output: "--BOUNDARY\r\nContent-Disposition: form-data; name=\"a%22b\"\r\n\r\nx\r\n--BOUNDARY--\r\n",
            twin: #"{"a%22b":"x"}"#),
        Case(
            conversion: "json -> multipart(dialect: php)", code: "name_lines", body: #"{"a\nb":"x"}"#,
            output: "--BOUNDARY\r\nContent-Disposition: form-data; name=\"a%0D%0Ab\"\r\n\r\nx\r\n--BOUNDARY--\r\n",
            twin: #"{"a%0D%0Ab":"x"}"#),
    ]

    private static let longArray = "{\"a\":[" + Array(repeating: "\"x\"", count: 22).joined(separator: ",") + "]}"

    private static let propertyList = """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">

        """

    private static func propertyList(_ value: String) -> String { propertyList + value + "\n</plist>\n" }
    private static func written(_ members: String) -> String {
        propertyList("<dict>\n\t<key>a</key>\n\t" + members + "\n</dict>")
    }
    private static func xml(_ text: String) -> String { #"<?xml version="1.0" encoding="UTF-8"?>"# + "\n" + text }
    private static func lossless(_ text: String) -> String {
        xml(#"<map xmlns="http://www.w3.org/2005/xpath-functions">"# + text + "</map>")
    }

    /// A binary property list with a date that has a fraction of a second.
    private static let fraction: [UInt8] = {
        var plan = ConversionPlan(inputs: [.json], output: .bplist)
        plan.types = [TypeRule(path: FieldPath([.key([UInt8(ascii: "a")])]), type: .date)]
        return ConversionRun.run(plan, .whole(Array(#"{"a":"2001-01-01T00:00:00.5Z"}"#.utf8))).output.bytes
    }()

    static let documentCases: [Case] = [
        Case(
            conversion: "json -> plist", code: "null_rejected", body: #"{"a":null}"#, output: "!plist_null /a",
            mended: ("json -> plist(nulls: empty)", written("<string></string>"))),
        Case(
            conversion: "json -> plist(nulls: omit)", code: "null_omitted", body: #"{"a":"x","b":null}"#,
            output: written("<string>x</string>"), twin: #"{"a":"x"}"#,
            mended: (
                "json -> plist(nulls: empty)",
                written("<string>x</string>\n\t<key>b</key>\n\t<string></string>")
            )),
        Case(
            conversion: "json -> plist(nulls: omit)", code: "null_in_array", body: #"{"a":[null]}"#,
            output: "!plist_null_element /a/0",
            mended: (
                "json -> plist(nulls: empty)", written("<array>\n\t\t<string></string>\n\t</array>")
            )),
        Case(
            conversion: "json -> plist(nulls: empty)", code: "null_empty", body: #"{"a":null}"#,
            output: written("<string></string>"), twin: #"{"a":""}"#,
            mended: ("json -> plist(nulls: reject)", "!plist_null /a")),
        Case(
            conversion: "json -> plist", code: "integer_large", body: #"{"a":18446744073709551616}"#,
            output: "!plist_large_integer /a",
            mended: ("json -> plist(large_integers: string)", written("<string>18446744073709551616</string>"))),
        Case(
            conversion: "json -> plist(large_integers: real)", code: "integer_real",
            body: #"{"a":18446744073709551616}"#, output: written("<real>18446744073709551616</real>"),
            back: ("plist -> json", #"{"a":18446744073709551616.0}"#),
            mended: ("json -> plist", "!plist_large_integer /a")),
        Case(
            conversion: "json -> plist(large_integers: string)", code: "integer_text",
            body: #"{"a":18446744073709551616}"#, output: written("<string>18446744073709551616</string>"),
            twin: #"{"a":"18446744073709551616"}"#, mended: ("json -> plist", "!plist_large_integer /a")),
        Case(
            conversion: "json -> bplist", code: "real_rounded", body: #"{"a":0.10000000000000000555}"#,
            output: #"bplist {"a":0.1}"#, twin: #"{"a":0.1}"#,
            mended: ("json -> plist", written("<real>0.10000000000000000555</real>"))),
        Case(
            conversion: "json -> bplist", code: "zero_sign", body: #"{"a":-0}"#, output: #"bplist {"a":-0.0}"#,
            twin: #"{"a":-0.0}"#, mended: ("json -> plist", written("<integer>-0</integer>"))),
        Case(
            conversion: "json -> plist", code: "real_large", body: #"{"a":1e999}"#, output: "!plist_large_real /a",
            mended: ("json -> plist(large_integers: string)", written("<string>1e999</string>"))),
        Case(
            conversion: "json -> plist(large_integers: string)", code: "real_text", body: #"{"a":1e999}"#,
            output: written("<string>1e999</string>"), twin: #"{"a":"1e999"}"#,
            mended: ("json -> plist", "!plist_large_real /a")),
        Case(
            conversion: "json -> plist", code: "control_character", body: #"{"a":"\u0001"}"#,
            output: "!plist_unwritable_character /a", mended: ("json -> bplist", #"bplist {"a":"\u0001"}"#)),
        Case(
            conversion: "bplist -> plist", code: "date_fraction_rejected", bytes: fraction,
            output: "!plist_date_fraction /a",
            mended: ("bplist -> bplist", #"bplist {"a":"2001-01-01T00:00:00.5Z"}"#)),
        Case(
            conversion: "bplist -> plist(date_fractions: drop)", code: "date_fraction", bytes: fraction,
            output: written("<date>2001-01-01T00:00:00Z</date>"),
            back: ("plist -> json", #"{"a":"2001-01-01T00:00:00Z"}"#),
            mended: ("bplist -> bplist", #"bplist {"a":"2001-01-01T00:00:00.5Z"}"#)),
        Case(
            conversion: "plist -> json", code: "dates_text",
            body: propertyList("<dict><key>a</key><date>2001-01-01T00:00:00Z</date></dict>"),
            output: #"{"a":"2001-01-01T00:00:00Z"}"#,
            twin: propertyList("<dict><key>a</key><string>2001-01-01T00:00:00Z</string></dict>"),
            mended: ("plist -> plist", written("<date>2001-01-01T00:00:00Z</date>"))),
        Case(
            conversion: "plist -> json", code: "data_text",
            body: propertyList("<dict><key>a</key><data>aGk=</data></dict>"), output: #"{"a":"aGk="}"#,
            twin: propertyList("<dict><key>a</key><string>aGk=</string></dict>"),
            mended: ("plist -> plist", written("<data>\n\taGk=\n\t</data>"))),
        Case(
            conversion: "json -> xml", code: "text_empty", body: #"{"a":""}"#, output: xml("<a/>"),
            twin: #"{"a":null}"#, back: ("xml(empty: string) -> json", #"{"a":""}"#)),
        Case(
            conversion: "json -> xml", code: "character_excluded", body: "{\"a\":\"\u{FFFE}\"}",
            output: "!xml_forbidden_character /a"),
        Case(
            conversion: "json -> xml", code: "text_member", body: ##"{"r":{"#text":"x"}}"##, output: xml("<r>x</r>"),
            twin: #"{"r":"x"}"#,
            mended: (
                "json -> xml(convention: lossless)",
                lossless(##"<map key="r"><string key="#text">x</string></map>"##)
            )),
        Case(
            conversion: "json -> xml", code: "text_member_rejected", body: ##"{"r":{"b":"x","#text":"y"}}"##,
            output: "!xml_mixed_text /r/#text",
            mended: (
                "json -> xml(convention: lossless)",
                lossless(##"<map key="r"><string key="b">x</string><string key="#text">y</string></map>"##)
            )),
        Case(
            conversion: "json -> xml", code: "attribute_null", body: #"{"r":{"@a":null}}"#,
            output: xml(#"<r a=""/>"#), twin: #"{"r":{"@a":""}}"#,
            mended: (
                "json -> xml(convention: lossless)",
                lossless(#"<map key="r"><null key="@a"/></map>"#)
            )),
        Case(
            conversion: "json -> xml(root: wrap)", code: "document_empty", body: "{}", output: xml("<root/>"),
            back: ("xml(root: drop) -> json", "null"),
            mended: (
                "json -> xml(convention: lossless)",
                xml(#"<map xmlns="http://www.w3.org/2005/xpath-functions"/>"#)
            )),
        Case(
            conversion: "json -> xml(nulls: omit)", code: "null_omitted", body: #"{"r":{"a":null}}"#,
            output: xml("<r/>"), twin: #"{"r":{}}"#,
            mended: (
                "json -> xml(nulls: nil)",
                xml(#"<r><a xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:nil="true"/></r>"#)
            )),
        Case(
            conversion: "json -> xml(nulls: reject)", code: "null_rejected", body: #"{"a":null}"#,
            output: "!xml_null /a",
            mended: (
                "json -> xml(nulls: nil)",
                xml(#"<a xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:nil="true"/>"#)
            )),
        Case(
            conversion: "form -> xml", code: "text_empty", body: "a=", output: xml("<a/>"),
            back: ("xml -> json", #"{"a":null}"#)),
        Case(
            conversion: "json -> xml", code: "object_empty", body: #"{"a":{}}"#, output: xml("<a/>"),
            twin: #"{"a":""}"#, mended: ("json -> xml(convention: lossless)", lossless(#"<map key="a"/>"#))),
        Case(
            conversion: "json -> xml", code: "array_empty_rejected", body: #"{"r":{"a":[]}}"#,
            output: "!xml_empty_array /r/a",
            mended: (
                "json -> xml(convention: lossless)", lossless(#"<map key="r"><array key="a"/></map>"#)
            )),
        Case(
            conversion: "json -> xml(empties: omit)", code: "array_empty_omitted", body: #"{"r":{"a":[]}}"#,
            output: xml("<r/>"), twin: #"{"r":{}}"#,
            mended: (
                "json -> xml(convention: lossless)", lossless(#"<map key="r"><array key="a"/></map>"#)
            )),
        Case(
            conversion: "json -> xml(empties: marker)", code: "array_empty_marker", body: #"{"r":{"a":[]}}"#,
            output: xml("<r><a/></r>"), twin: #"{"r":{"a":""}}"#,
            mended: (
                "json -> xml(convention: lossless)", lossless(#"<map key="r"><array key="a"/></map>"#)
            )),
        Case(
            conversion: "json -> xml", code: "array_of_one", body: #"{"r":{"a":["x"]}}"#,
            output: xml("<r><a>x</a></r>"), twin: #"{"r":{"a":"x"}}"#),
        Case(
            conversion: "json -> xml", code: "array_nested", body: #"{"r":{"a":[["x"]]}}"#,
            output: xml("<r><a><item>x</item></a></r>"), twin: #"{"r":{"a":{"item":"x"}}}"#,
            mended: (
                "json -> xml(convention: lossless)",
                lossless(#"<map key="r"><array key="a"><array><string>x</string></array></array></map>"#)
            )),
        Case(
            conversion: "json -> xml", code: "name_rejected", body: #"{"r":{"1":"x"}}"#, output: "!xml_name /r/1",
            mended: ("json -> xml(names: item)", xml(#"<r><item key="1">x</item></r>"#))),
        Case(
            conversion: "json -> xml", code: "name_prefix", body: #"{"r":{"p:a":"x"}}"#, output: "!xml_prefix /r/p:a",
            mended: (
                "json -> xml(convention: lossless)",
                lossless(#"<map key="r"><string key="p:a">x</string></map>"#)
            )),
        Case(
            conversion: "json -> xml(names: item)", code: "name_item", body: #"{"r":{"1":"x"}}"#,
            output: xml(#"<r><item key="1">x</item></r>"#), twin: ##"{"r":{"item":{"@key":"1","#text":"x"}}}"##,
            mended: (
                "json -> xml(convention: lossless)",
                lossless(#"<map key="r"><string key="1">x</string></map>"#)
            )),
        Case(
            conversion: "json -> xml", code: "attribute", body: #"{"r":{"b":"x","@a":"y"}}"#,
            output: "!xml_late_attribute /r/@a",
            mended: (
                "json -> xml(convention: lossless)",
                lossless(#"<map key="r"><string key="b">x</string><string key="@a">y</string></map>"#)
            )),
        Case(
            conversion: "json -> xml", code: "root_wrapped", body: #"{"a":"x","b":"y"}"#,
            output: xml("<root><a>x</a><b>y</b></root>"), twin: #"{"root":{"a":"x","b":"y"}}"#,
            mended: ("json -> xml(root: wrap)", xml("<root><a>x</a><b>y</b></root>"))),
        Case(
            conversion: "json -> xml(root: member)", code: "root_rejected", body: #"{"a":"x","b":"y"}"#,
            output: "!xml_root", mended: ("json -> xml(root: wrap)", xml("<root><a>x</a><b>y</b></root>"))),
        Case(
            conversion: "json -> xml", code: "control_character", body: #"{"a":"\u0001"}"#,
            output: "!xml_forbidden_character /a"),
        Case(
            conversion: "json -> xml", code: "numbers_text", body: #"{"a":1}"#, output: xml("<a>1</a>"),
            twin: #"{"a":"1"}"#, back: ("xml(recognize: numbers) -> json", #"{"a":1}"#)),
        Case(
            conversion: "json -> xml", code: "booleans_text", body: #"{"a":true}"#, output: xml("<a>true</a>"),
            twin: #"{"a":"true"}"#, back: ("xml(recognize: booleans) -> json", #"{"a":true}"#)),
        Case(
            conversion: "json -> text", code: "text_container", body: #"{"a":"x"}"#, output: "!text_container"),
        Case(
            conversion: "json -> text(field: a)", code: "text_other_field", body: #"{"a":"x","b":"y"}"#,
            output: "!text_other_field b"),
        Case(
            conversion: "json -> text(field: a)", code: "text_field_container", body: #"{"a":["x"]}"#,
            output: "!text_container a", mended: ("json -> json", #"{"a":["x"]}"#)),
        Case(
            conversion: "json -> text", code: "null_empty", body: "null", output: "", twin: "\"\"",
            mended: ("json -> text(nulls: literal)", "null")),
        Case(
            conversion: "json -> text(nulls: literal)", code: "null_literal", body: "null", output: "null",
            twin: #""null""#, mended: ("json -> text(nulls: reject)", "!text_null")),
        Case(
            conversion: "json -> text(nulls: reject)", code: "null_rejected", body: "null", output: "!text_null",
            mended: ("json -> text(nulls: literal)", "null")),
        Case(
            conversion: "json -> text(field: a)", code: "text_missing_field", body: "{}",
            output: "!text_missing_field a"),
        Case(conversion: "json -> raw", code: "raw_missing_field", body: "{}", output: "!raw_missing_field"),
        Case(
            conversion: "json -> raw", code: "raw_name", body: #"{"a":"x"}"#, output: "x", twin: #"{"b":"x"}"#,
            mended: (
                "json -> multipart",
                "--BOUNDARY\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx\r\n--BOUNDARY--\r\n"
            )),
        Case(
            conversion: "json -> raw", code: "raw_other_field", body: #"{"a":"x","b":"y"}"#,
            output: "!raw_other_field b"),
    ]

    private static let file =
        "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\nhi\r\n"
        + "--b--\r\n"
    private static let base64Field = "--b\r\nContent-Disposition: form-data; name=\"f\"\r\n\r\naGk=\r\n--b--\r\n"
    private static let passed =
        "--BOUNDARY\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.txt\"\r\n"
        + "Content-Type: text/plain\r\n\r\nhi\r\n--BOUNDARY--\r\n"

    private static let fieldPart = "--b\r\nContent-Disposition: form-data; name=\"t\"\r\n\r\n1\r\n"
    private static let filePart =
        "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a\"\r\nContent-Type: text/x\r\n\r\nhi\r\n"
    private static func ordered(_ parts: String...) -> String {
        (parts.joined() + "--b--\r\n").replacing("--b", with: "--BOUNDARY")
    }

    static let fileCases: [Case] = [
        Case(
            conversion: "multipart(dialect: php) -> multipart(dialect: php)", code: "files_first",
            body: fieldPart + filePart + "--b--\r\n", output: ordered(filePart, fieldPart),
            twin: filePart + fieldPart + "--b--\r\n", mended: ("multipart -> multipart", ordered(fieldPart, filePart))),
        Case(
            conversion: "multipart(types: safe) -> multipart", code: "files_first",
            body: fieldPart + filePart + "--b--\r\n", output: ordered(filePart, fieldPart),
            twin: filePart + fieldPart + "--b--\r\n"),
        Case(
            conversion: "multipart -> json(files: base64)", code: "files_shared_root",
            body: (fieldPart + filePart).replacing("\"t\"", with: "\"u[t]\"").replacing("\"f\"", with: "\"u[f]\"")
                + "--b--\r\n",
            output: "!files_shared_root u[f]"),
        Case(
            conversion: "multipart -> json", code: "files_unrepresentable", body: file,
            output: "!files_unrepresentable f",
            mended: (
                "multipart -> json(files: object)",
                #"{"f":{"filename":"a.txt","content_type":"text/plain","data":"aGk="}}"#
            )),
        Case(
            conversion: "multipart -> form(files: reject)", code: "files_rejected", body: file,
            output: "!files_rejected f", mended: ("multipart -> form(files: base64)", "f=aGk%3D")),
        Case(
            conversion: "multipart -> multipart(files: drop)", code: "files_dropped", body: file,
            output: "--BOUNDARY--\r\n", twin: "--b--\r\n", mended: ("multipart -> multipart", passed)),
        Case(
            conversion: "multipart -> json(files: base64)", code: "files_base64", body: file, output: #"{"f":"aGk="}"#,
            twin: base64Field,
            mended: (
                "multipart -> json(files: object)",
                #"{"f":{"filename":"a.txt","content_type":"text/plain","data":"aGk="}}"#
            )),
        Case(
            conversion: "multipart -> multipart(nesting: json)", code: "part_headers",
            body: "--b\r\nContent-Disposition: form-data; name=\"o[k]\"\r\nContent-Type: text/x\r\n\r\n1\r\n--b--\r\n",
            output: "--BOUNDARY\r\nContent-Disposition: form-data; name=\"o\"\r\n\r\n{\"k\":\"1\"}\r\n--BOUNDARY--\r\n",
            twin: "--b\r\nContent-Disposition: form-data; name=\"o[k]\"\r\n\r\n1\r\n--b--\r\n"),
        Case(
            conversion: "multipart -> raw", code: "files_name", body: file, output: "hi",
            twin: file.replacing("a.txt", with: "b.txt"), mended: ("multipart -> multipart", passed)),
        Case(
            conversion: "multipart -> json(files: { f: drop, '*': object })", code: "file_dropped", body: file,
            output: "{}", twin: "--b--\r\n",
            mended: (
                "multipart -> json(files: object)",
                #"{"f":{"filename":"a.txt","content_type":"text/plain","data":"aGk="}}"#
            )),
        Case(
            conversion: "multipart -> form(files: { f: reject })", code: "file_rejected", body: file,
            output: "!files_rejected f", mended: ("multipart -> form(files: base64)", "f=aGk%3D")),
        Case(
            conversion: "multipart -> json(files: { f: base64 })", code: "file_base64", body: file,
            output: #"{"f":"aGk="}"#, twin: base64Field,
            mended: (
                "multipart -> json(files: object)",
                #"{"f":{"filename":"a.txt","content_type":"text/plain","data":"aGk="}}"#
            )),
    ]
}
