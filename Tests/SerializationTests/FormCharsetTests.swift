import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// Forms in other charsets than UTF-8.
@Suite("Charsets of forms")
struct FormCharsetTests {
    static let form = "application/x-www-form-urlencoded"
    static let latin1 = Charset(label: "iso-8859-1")!

    static let rows: [(String, String, [Charset], CharsetHint, String)] = [
        ("a=%E9", form, [latin1], .field, #"{"a":"é"}"#),
        ("a=%E9&b=%80", form, [latin1], .field, #"{"a":"é","b":"€"}"#),
        ("%E9%5B%E8%5D=%E7+x", form, [latin1], .field, #"{"é":{"è":"ç x"}}"#),
        ("%E9", form, [latin1], .field, #"{"é":""}"#),
        ("a=%C3%A9", form + "; charset=utf-8", [latin1], .field, #"{"a":"é"}"#),
        ("a=%E9", form + "; charset=utf-8", [latin1], .field, "!form_invalid_utf8 a"),
        ("a=%E9", form + "; charset=ISO-8859-1", [.utf8, latin1], .field, #"{"a":"é"}"#),
        ("a=%E9", form, [.utf8, latin1], .field, "!form_invalid_utf8 a"),
        ("a=%E9", form + "; charset=iso-8859-1", [], .field, "!unsupported_charset"),
        ("a=%E9", form + "; charset=koi8-r", [latin1], .field, "!unsupported_charset"),
        ("a=%E9", form + "; charset=latin1; charset=latin1", [latin1], .field, "!unsupported_charset"),
        ("a=%82%A0%82", form, [Charset(label: "sjis")!], .field, "!charset_invalid a"),
        ("a=%82%A0%41&b=%83%5C", form, [Charset(label: "sjis")!], .field, #"{"a":"あA","b":"ソ"}"#),
        ("%82=1", form, [Charset(label: "sjis")!], .field, "!charset_invalid \u{FFFD}"),
        ("a=%1B$B$%22%1B(B&b=x", form, [Charset(label: "iso-2022-jp")!], .field, #"{"a":"あ","b":"x"}"#),
        // As the standard's tables have them: each byte by itself.
        ("a=%54%8E", form, [Charset(label: "windows-1258")!], .field, "{\"a\":\"T\u{8E}\"}"),
        ("a=%61%CC", form, [Charset(label: "windows-1258")!], .field, "{\"a\":\"a\u{300}\"}"),
        (
            "a=%E0%81%E0%C7%CA", form, [Charset(label: "cp1255")!], .field,
            "{\"a\":\"\u{5D0}\u{81}\u{5D0}\u{5B7}\u{5BA}\"}"
        ),
        ("a=%AE%BE%C1", form, [Charset(label: "koi8-u")!], .field, #"{"a":"ўЎа"}"#),
        ("a=%C6%F0%8E", form, [Charset(label: "mac")!], .field, "{\"a\":\"\u{2206}\u{F8FF}é\"}"),
        ("a=%FF%E0", form, [Charset(label: "x-mac-cyrillic")!], .field, #"{"a":"€а"}"#),
        ("_charset_=iso-8859-1&a=%E9&%E8=1", form, [], .use, #"{"a":"é","è":"1"}"#),
        ("a=%C3%A9&_charset_=iso-8859-1&b=%E9", form, [], .use, #"{"a":"é","b":"é"}"#),
        ("_charset_=utf-8&a=%C3%A9&_charset_&b=1", form, [latin1], .use, "!charset_unknown _charset_"),
        ("_charset_=klingon&a=1", form, [], .use, "!charset_unknown _charset_"),
        ("_charset_=iso-8859-1&a=%C3%A9", form, [], .field, #"{"_charset_":"iso-8859-1","a":"é"}"#),
        ("a=%E9", form, [], .use, "!form_invalid_utf8 a"), ("a=x", form, [], .use, #"{"a":"x"}"#),
        // Pairs of ASCII are taken as in UTF-8, where they lie whole, and all others of UTF-8 as long as nothing else is said.
        (
            "a=1&b=2&_charset_=iso-8859-1&c=%E9&d=3&e[f]=4&_charset_=utf-8&g=%C3%A9&h=5&%C3%A9=6&", form, [], .use,
            #"{"a":"1","b":"2","c":"é","d":"3","e":{"f":"4"},"g":"é","h":"5","é":"6"}"#
        ),
        ("a=1&%5Fchar%73et_=latin1&b=%E9&", form, [], .use, #"{"a":"1","b":"é"}"#),
        (
            "_charset_=latin1&a=1&b[c]=%E9&b[d]=e&\u{e9}=2&", form, [], .use,
            #"{"a":"1","b":{"c":"é","d":"e"},"Ã©":"2"}"#
        ),
        ("a=1&_charset_[x]=latin1&b=%C3%A9&", form, [], .use, #"{"a":"1","_charset_":{"x":"latin1"},"b":"é"}"#),
        ("a=1&_charset_&b=1", form, [], .use, "!charset_unknown _charset_"),
        ("a=1&_charset_=&b=1", form, [], .use, "!charset_unknown _charset_"),
        ("a=1&b=2&_charset_=latin1", form, [], .use, #"{"a":"1","b":"2"}"#),
        (
            "_charset_=iso-2022-jp&a=1&b=%1B$B$%22%1B(B&_charset_=sjis&c=%83%5C&d=%5C&", form, [], .use,
            #"{"a":"1","b":"あ","c":"ソ","d":"\\"}"#
        ),
        ("_charset_=utf-16le&a=1&", form, [], .use, "!charset_invalid a"),
        (
            "a=x&b=%83%5C&c=y%5C&%83%5C=z&d=w&", form, [Charset(label: "sjis")!], .field,
            #"{"a":"x","b":"ソ","c":"y\\","ソ":"z","d":"w"}"#
        ),
    ]

    @Test(
        "names and values are in the charset of the Content-Type, of _charset_, or of charset", arguments: rows.indices)
    func charset(_ index: Int) {
        let (body, type, charsets, hint, expected) = Self.rows[index]
        let plan = plan(.form, .json) { plan in
            plan.fieldDecoding.charsets = charsets
            plan.fieldDecoding.charsetHint = hint
        }
        let whole = ConversionRun.run(plan, .whole(Array(body.utf8)), type: type)
        #expect(whole.result == expected)
        for cut in Recut.cuts(of: Array(body.utf8)) {
            let run = ConversionRun.run(plan, cut, type: type, highWatermark: 1)
            #expect(run.failure == whole.failure, "\(cut)")
            if whole.failure == nil { #expect(run == whole, "\(cut)") }
        }
    }

    @Test("invalid_utf8 says what becomes of bytes that the charset has not")
    func policies() {
        func result(_ policy: InvalidUTF8Policy) -> String {
            convert(
                plan(.form, .json) { plan in
                    plan.fieldDecoding.charsets = [Charset(label: "windows-1253")!]
                    plan.fieldDecoding.invalidUTF8 = policy
                }, "a=%AA%E1")
        }
        #expect(result(.reject) == "!charset_invalid a")
        #expect(result(.replace) == "{\"a\":\"\u{FFFD}α\"}")
        #expect(result(.latin1) == "{\"a\":\"ªα\"}")
    }

    @Test("a conversion can be used again for a form of another charset")
    func again() throws {
        let plan = plan(.form, .json) { $0.fieldDecoding.charsets = [.utf8, Self.latin1] }
        let types = [Self.form, Self.form + "; charset=latin1", Self.form]
        let conversion = try Conversion.make(plan: plan, contentType: Array(types[0].utf8).span)
        for (type, body) in zip(types, ["a=%C3%A9", "a=%E9", "a=%C3%A9"]) {
            try conversion.restart(contentType: Array(type.utf8).span, sources: [])
            let bytes = Array(body.utf8)
            #expect(try conversion.feed(bytes.span) == bytes.count)
            #expect(try conversion.finish())
            conversion.withOutput { output in
                #expect(String(decoding: output.span.copied(), as: UTF8.self) == #"{"a":"é"}"#)
                output.drop(output.count)
            }
        }
    }
}
