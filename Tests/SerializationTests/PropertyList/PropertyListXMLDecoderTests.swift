import Serialization
import TestSupport
import Testing
import Transcoding

/// What stands in `<plist>` and the JSON that comes of it.
struct PlistAccepted: Sendable, CustomTestStringConvertible {
    var content: String
    var json: String
    var testDescription: String { content }

    init(_ content: String, _ json: String) {
        self.content = content
        self.json = json
    }
}

/// A whole body, and the error that it is refused with.
struct PlistRefused: Sendable, CustomTestStringConvertible {
    var body: String
    var code: String
    var offset: Int
    var field: String?
    var testDescription: String { body }

    init(_ body: String, _ code: String, _ offset: Int, field: String? = nil) {
        self.body = body
        self.code = code
        self.offset = offset
        self.field = field
    }
}

@Suite struct PropertyListXMLDecoderTests {
    static let accepted: [PlistAccepted] = [
        // Every element.
        .init("<string>a</string>", #""a""#),
        .init("<true/>", "true"),
        .init("<false/>", "false"),
        .init("<true></true>", "true"),
        .init("<false> \n</false>", "false"),
        .init("<array><string>a</string><true/></array>", #"["a",true]"#),
        .init("<dict><key>b</key><true/><key>a</key><false/></dict>", #"{"b":true,"a":false}"#),
        .init("<data>AQID</data>", #""AQID""#),
        .init("<date>2001-02-03T04:05:06Z</date>", #""2001-02-03T04:05:06Z""#),
        // Empty ones.
        .init("<string/>", #""""#),
        .init("<string></string>", #""""#),
        .init("<data/>", #""""#),
        .init("<data> \n\t</data>", #""""#),
        .init("<array/>", "[]"),
        .init("<array></array>", "[]"),
        .init("<dict/>", "{}"),
        .init("<dict>\n</dict>", "{}"),
        .init("<dict><key/><dict/></dict>", #"{"":{}}"#),
        .init("<dict><key></key><array/></dict>", #"{"":[]}"#),
        .init("<array><dict/><array/><dict/></array>", "[{},[],{}]"),
        // White space, comments and instructions between elements.
        .init(" \r\n\t<array > <true /> <!-- a > b -- c --> <?x y?> <true\n/></array\t> ", "[true,true]"),
        .init("<!----><true/><!-- - -->", "true"),
        // Integers.
        .init("<integer>0</integer>", "0"),
        .init("<integer>-0</integer>", "-0"),
        .init("<integer> 42\n</integer>", "42"),
        .init("<integer>+7</integer>", "7"),
        .init("<integer>007</integer>", "7"),
        .init("<integer>-1</integer>", "-1"),
        .init("<integer>0x1F</integer>", "31"),
        .init("<integer>-0Xff</integer>", "-255"),
        .init("<integer>0xffffffffffffffff</integer>", "18446744073709551615"),
        .init("<integer>9007199254740993</integer>", "9007199254740993"),
        .init("<integer>18446744073709551615</integer>", "18446744073709551615"),
        .init("<integer>-9223372036854775808</integer>", "-9223372036854775808"),
        .init("<integer>-0x8000000000000000</integer>", "-9223372036854775808"),
        .init("<integer>&#49;2<!-- x -->3</integer>", "123"),
        // Reals keep their digits and stay reals.
        .init("<real>1</real>", "1.0"),
        .init("<real>1.0</real>", "1.0"),
        .init("<real>1.10</real>", "1.10"),
        .init("<real>0.10000000000000001</real>", "0.10000000000000001"),
        .init("<real>3.14159265358979323846</real>", "3.14159265358979323846"),
        .init("<real>-0</real>", "-0.0"),
        .init("<real>+.5</real>", "0.5"),
        .init("<real>5.</real>", "5.0"),
        .init("<real>007.50</real>", "7.50"),
        .init("<real>1e2</real>", "1e2"),
        .init("<real>5.E-2</real>", "5E-2"),
        .init("<real>-1.5e+300</real>", "-1.5e+300"),
        .init("<real> 2.5 </real>", "2.5"),
        .init("<real>100000000000000000000</real>", "100000000000000000000.0"),
        // Text.
        .init("<string>&lt;&gt;&amp;&quot;&apos;</string>", #""<>&\"'""#),
        .init("<string>&#65;&#x42;&#x1F600;&#xe9;&#13;</string>", #""AB😀é\r""#),
        .init("<string> a > b\r\nc\rd\te\n</string>", #"" a > b\r\nc\rd\te\n""#),
        .init("<string>漢字 é 😀 \u{7F}\u{2028}\u{FFFD}\u{FFFC}</string>", "\"漢字 é 😀 \u{7F}\u{2028}\u{FFFD}\u{FFFC}\""),
        .init("<string><![CDATA[<a>&amp;]]></string>", #""<a>&amp;""#),
        .init("<string>x<![CDATA[]]]]]><![CDATA[]]><![CDATA[]]]>y</string>", #""x]]]]y""#),
        .init("<string><![CDATA[a]b]]c]]]]>]]></string>", #""a]b]]c]]]]>""#),
        .init("<string>a<!-- no -->b<?no?>c</string>", #""abc""#),
        .init("<dict><key>&lt;<![CDATA[&]]>a<!---->b</key><true/></dict>", #"{"<&ab":true}"#),
        // Base64 with white space anywhere.
        .init("<data>\n\tAQ\n\tID\n\t</data>", #""AQID""#),
        .init("<data>A Q = \n=</data>", #""AQ==""#),
        .init("<data>A&#81;<![CDATA[ID]]></data>", #""AQID""#),
        .init("<date> 2024-02-29T23:59:59Z\n</date>", #""2024-02-29T23:59:59Z""#),
        // A keyed archive's UID in XML is a dictionary.
        .init("<dict><key>CF$UID</key><integer>1</integer></dict>", #"{"CF$UID":1}"#),
    ]

    @Test(arguments: accepted)
    func `what a property list says comes out, however it is cut`(_ row: PlistAccepted) throws {
        let body = plistXML(row.content)
        #expect(try jsonText(body) == row.json)
        let whole = recordPlist(body)
        #expect(whole.failure == nil && whole.violations == [])
        for cut in Recut.cuts(of: body) {
            #expect(recordPlist(cut) == whole, "\(cut)")
            #expect(recordPlist(cut, pauses: true) == whole, "\(cut), paused after every event")
        }
    }

    static let documents: [String] = [
        "<?xml version=\"1.0\"?><plist><true/></plist>",
        "<?xml version='1.0' encoding='utf-8' standalone='yes' ?>\n<plist version='1.0'><true/></plist>",
        "\u{FEFF}<?xml version=\"1.0\" encoding=\"UTF-8\"?><plist><true/></plist>",
        " \n<?xml version=\"1.0\"?><plist><true/></plist>\n\n",
        "<!-- a --><?pi?><plist><true/></plist><!-- b --><?pi?> ",
        "<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">"
            + "<plist version=\"1.0\"><true/></plist>",
        "<!DOCTYPE  plist\nPUBLIC '-//Apple Computer//DTD PLIST 1.0//EN'\n "
            + "'https://www.apple.com/DTDs/PropertyList-1.0.dtd' ><plist version = \"1.0\" ><true/></plist >",
    ]

    @Test(arguments: documents)
    func `declaration, document type and comments around the value are taken and left out`(_ text: String) {
        for cut in Recut.cuts(of: Array(text.utf8)) {
            #expect(recordPlist(cut) == EventRecording([.bool(true)]), "\(cut)")
        }
    }

    static let head = "<plist version=\"1.0\">"
    static func row(_ content: String, _ code: String, _ offset: Int, field: String? = nil) -> PlistRefused {
        PlistRefused(head + content, code, head.utf8.count + offset, field: field)
    }

    static let refused: [PlistRefused] = [
        .init("", "plist_empty_body", 0),
        .init(" \n ", "plist_empty_body", 3),
        // No property list, or none of these two formats.
        .init("hello", "plist_unknown_format", 0),
        .init("{a=b;}", "plist_unknown_format", 0),
        .init("{\"a\":1}", "plist_unknown_format", 0),
        .init("( a, b )", "plist_unknown_format", 0),
        .init("<html></html>", "plist_unknown_element", 0),
        .init("<dict></dict>", "plist_unexpected_element", 0),
        .init("<Plist/>", "plist_unknown_element", 0),
        .init("\u{FEFF}\u{FEFF}<plist/>", "plist_unknown_format", 3),
        .init("<\0p\0l\0", "plist_unsupported_charset", 0),
        .init("\0<\0p", "plist_unsupported_charset", 0),
        // Ends.
        .init("<", "plist_unexpected_end", 1),
        .init("<?xml version=\"1.0\"?>", "plist_unexpected_end", 21),
        .init("<plist>", "plist_unexpected_end", 7),
        .init("<plist><true/>", "plist_unexpected_end", 14),
        .init("<plist><true/></plist", "plist_unexpected_end", 21),
        .init("<plist><string>abc", "plist_unexpected_end", 18),
        .init("<plist><true/></plist><!-- ", "plist_unexpected_end", 27),
        .init("<plist><array><true/>", "plist_unexpected_end", 21, field: "/1"),
        .init("<plist><dict><key>a</key>", "plist_unexpected_end", 25, field: "/a"),
        .init("<plist><true/></plist>x", "plist_trailing_data", 22),
        .init("<plist><true/></plist>\0", "plist_trailing_data", 22),
        .init("<plist><true/></plist><plist><true/></plist>", "plist_trailing_data", 22),
        .init("<plist><true/></plist><true/>", "plist_trailing_data", 22),
        // One value.
        .init("<plist/>", "plist_no_value", 0),
        .init("<plist></plist>", "plist_no_value", 7),
        .init("<plist><!-- a --></plist>", "plist_no_value", 17),
        .init("<plist><true/><true/></plist>", "plist_second_value", 14),
        .init("<plist><plist>", "plist_unexpected_element", 7),
        .init("<plist><key>a</key>", "plist_unexpected_element", 7),
        .init("<plist>text", "plist_unexpected_text", 7),
        .init("<plist><![CDATA[ ]]>", "plist_unexpected_text", 7),
        .init("<plist>&#32;", "plist_unexpected_text", 7),
        // The declaration and the document type.
        .init("<?xml version=\"1.0\" encoding=\"UTF-16\"?>", "plist_unsupported_charset", 0),
        .init("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>", "plist_unsupported_charset", 0),
        .init("<?xml version=\"1.1\"?>", "plist_invalid_declaration", 0),
        .init("<?xml?>", "plist_invalid_declaration", 0),
        .init("<?xml encoding=\"UTF-8\"?>", "plist_invalid_declaration", 0),
        .init("<?xml% version=\"1.0\"?>", "plist_invalid_declaration", 0),
        .init("<?xml version=\"1.0\" x=\"y\"?>", "plist_invalid_declaration", 0),
        .init("<?xml version=\"1.0\"encoding=\"UTF-8\"?>", "plist_invalid_declaration", 0),
        .init("<!-- --><?xml version=\"1.0\"?>", "plist_invalid_declaration", 8),
        .init("<?XML version=\"1.0\"?>", "plist_invalid_declaration", 0),
        .init("<??>", "plist_invalid_markup", 2),
        .init("<!DOCTYPE plist>", "plist_doctype", 0),
        .init("<!DOCTYPE plist [<!ENTITY a \"b\">]>", "plist_doctype", 0),
        .init("<!DOCTYPE html>", "plist_doctype", 0),
        .init("<!DOCTYPE plist SYSTEM \"file:///etc/passwd\">", "plist_doctype", 0),
        .init(
            "<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://evil.example/PropertyList-1.0.dtd\">",
            "plist_doctype", 0),
        .init(
            "<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" "
                + "\"http://www.apple.com/DTDs/PropertyList-1.0.dtd\" [ ]>", "plist_doctype", 0),
        .init("<plist><!DOCTYPE plist>", "plist_doctype", 7),
        .init("<!DOCTYPE " + String(repeating: " ", count: 600), "plist_doctype", 0),
        // Markup.
        row("<>", "plist_invalid_markup", 1),
        row("< true/>", "plist_invalid_markup", 1),
        row("<true<", "plist_invalid_markup", 5),
        row("<!x", "plist_invalid_markup", 0),
        row("<!-x", "plist_invalid_markup", 0),
        row("<![CDATB[", "plist_invalid_markup", 0),
        row("<true" + String(repeating: " ", count: 600), "plist_invalid_markup", 512),
        row("<true/ >", "plist_invalid_markup", 6),
        row("<tru/>", "plist_unknown_element", 0),
        row("<True/>", "plist_unknown_element", 0),
        row("<ustring>", "plist_unknown_element", 0),
        row("<dict a=\"b\">", "plist_attribute", 0),
        row("<string xml:space=\"preserve\">", "plist_attribute", 0),
        .init("<plist version=\"2.0\">", "plist_attribute", 0),
        .init("<plist version=\"1.0\" version=\"1.0\">", "plist_attribute", 0),
        .init("<plist version=1.0>", "plist_invalid_markup", 15),
        .init("<plist xmlns=\"x\">", "plist_attribute", 0),
        row("</plist>", "plist_no_value", 0),
        row("</array>", "plist_mismatched_tag", 0),
        row("<array></dict>", "plist_mismatched_tag", 7, field: "/0"),
        row("<array></plist>", "plist_mismatched_tag", 7, field: "/0"),
        row("<string></integer>", "plist_mismatched_tag", 8),
        row("<string><b>", "plist_unknown_element", 8),
        row("<string><true/>", "plist_unexpected_element", 8),
        row("<true>x</true>", "plist_unexpected_text", 6),
        row("<true> x</true>", "plist_unexpected_text", 7),
        row("<true>&#32;</true>", "plist_unexpected_text", 6),
        row("<true><![CDATA[]]></true>", "plist_unexpected_text", 6),
        row("<array>x", "plist_unexpected_text", 7, field: "/0"),
        row("<dict>x", "plist_unexpected_text", 6),
        row("<array><key>", "plist_unexpected_element", 7, field: "/0"),
        // Dictionaries.
        row("<dict><true/></dict>", "plist_value_without_key", 6),
        row("<dict><key>a</key></dict>", "plist_key_without_value", 6, field: "/a"),
        row("<dict><key>a</key><key>b</key><true/></dict>", "plist_key_without_value", 6, field: "/a"),
        row("<dict><key>a</key><true/><true/></dict>", "plist_value_without_key", 25),
        row("<dict><key>a</key><true/><key>a</key><true/></dict>", "plist_duplicate_key", 25, field: "/a"),
        row("<dict><key>a</key><true/><key>&#97;</key><true/></dict>", "plist_duplicate_key", 25, field: "/a"),
        row(
            "<dict><key>a~/</key><array><dict><key>b</key><true/><key>b</key>", "plist_duplicate_key", 52,
            field: "/a~0~1/0/b"),
        // Characters.
        row("<string>a\u{1}</string>", "plist_invalid_character", 9),
        row("<string>a\0</string>", "plist_invalid_character", 9),
        row("<string>é\u{FFFE}</string>", "plist_invalid_character", 10),
        row("<string>\u{FFFF}</string>", "plist_invalid_character", 8),
        row("<string><![CDATA[\u{B}]]></string>", "plist_invalid_character", 17),
        row("<key\u{1}>", "plist_invalid_character", 4),
        row("<dict><key>\u{2}</key>", "plist_invalid_character", 11),
        row("<string>&#0;</string>", "plist_invalid_reference", 8),
        row("<string>&#1;</string>", "plist_invalid_reference", 8),
        row("<string>&#xD800;</string>", "plist_invalid_reference", 8),
        row("<string>&#xFFFE;</string>", "plist_invalid_reference", 8),
        row("<string>&#x110000;</string>", "plist_invalid_reference", 8),
        row("<string>&#99999999999999;</string>", "plist_invalid_reference", 8),
        row("<string>&#;</string>", "plist_invalid_reference", 8),
        row("<string>&#x;</string>", "plist_invalid_reference", 8),
        row("<string>&#X41;</string>", "plist_invalid_reference", 8),
        row("<string>&#12a;</string>", "plist_invalid_reference", 8),
        row("<string>&nbsp;</string>", "plist_invalid_reference", 8),
        row("<string>&LT;</string>", "plist_invalid_reference", 8),
        row("<string>&;</string>", "plist_invalid_reference", 8),
        row("<string>a & b</string>", "plist_invalid_reference", 10),
        row("<string>&" + String(repeating: "a", count: 33), "plist_invalid_reference", 8),
        // Integers, reals, dates and data.
        row("<integer/>", "plist_invalid_integer", 0),
        row("<integer> </integer>", "plist_invalid_integer", 0),
        row("<integer>1.0</integer>", "plist_invalid_integer", 0),
        row("<integer>1e2</integer>", "plist_invalid_integer", 0),
        row("<integer>1 2</integer>", "plist_invalid_integer", 0),
        row("<integer>--1</integer>", "plist_invalid_integer", 0),
        row("<integer>0x</integer>", "plist_invalid_integer", 0),
        row("<integer>ff</integer>", "plist_invalid_integer", 0),
        row("<integer>١</integer>", "plist_invalid_integer", 0),
        row("<integer>18446744073709551616</integer>", "plist_integer_range", 0),
        row("<integer>-9223372036854775809</integer>", "plist_integer_range", 0),
        row("<integer>0x10000000000000000</integer>", "plist_integer_range", 0),
        row("<integer>184467440737095516150000000000</integer>", "plist_integer_range", 0),
        row("<real/>", "plist_invalid_real", 0),
        row("<real>.</real>", "plist_invalid_real", 0),
        row("<real>1,5</real>", "plist_invalid_real", 0),
        row("<real>1e</real>", "plist_invalid_real", 0),
        row("<real>1e+</real>", "plist_invalid_real", 0),
        row("<real>e5</real>", "plist_invalid_real", 0),
        row("<real>0x1p3</real>", "plist_invalid_real", 0),
        row("<real>--1</real>", "plist_invalid_real", 0),
        row("<real>inf</real>", "plist_nonfinite_real", 0),
        row("<real>-Infinity</real>", "plist_nonfinite_real", 0),
        row("<array><real>+nan</real></array>", "plist_nonfinite_real", 7, field: "/0"),
        row("<real>1e400</real>", "plist_nonfinite_real", 0),
        row("<date/>", "plist_invalid_date", 0),
        row("<date>2001-01-01</date>", "plist_invalid_date", 0),
        row("<date>2001-01-01T00:00:00</date>", "plist_invalid_date", 0),
        row("<date>2001-01-01T00:00:00.5Z</date>", "plist_invalid_date", 0),
        row("<date>2001-01-01T00:00:00+01:00</date>", "plist_invalid_date", 0),
        row("<date>2001-01-01t00:00:00Z</date>", "plist_invalid_date", 0),
        row("<date>2001-02-29T00:00:00Z</date>", "plist_invalid_date", 0),
        row("<date>2001-01-01T24:00:00Z</date>", "plist_invalid_date", 0),
        row("<date>2016-12-31T23:59:60Z</date>", "plist_invalid_date", 0),
        row("<date>" + String(repeating: " ", count: 65), "plist_invalid_date", 0),
        row("<data>!!</data>", "plist_invalid_data", 6),
        row("<data>AQI</data>", "plist_invalid_data", 0),
        row("<data>AQ==AQ==</data>", "plist_invalid_data", 10),
        row("<data>A===</data>", "plist_invalid_data", 7),
        row("<data>AR==</data>", "plist_invalid_data", 8),
        row("<data>AQ-_</data>", "plist_invalid_data", 8),
        row("<data>AQ&lt;</data>", "plist_invalid_data", 8),
        row("<data>AQé</data>", "plist_invalid_data", 8),
    ]

    @Test(arguments: refused)
    func `what is no property list is refused at its place, however it is cut`(_ row: PlistRefused) {
        let bytes = Array(row.body.utf8)
        let whole = recordPlist(bytes)
        #expect(whole.failure?.code == row.code)
        #expect(whole.failure?.offset == row.offset)
        #expect(whole.failure?.field == row.field)
        #expect(whole.violations == [])
        for cut in Recut.cuts(of: bytes, splits: 100) {
            #expect(recordPlist(cut) == whole, "\(cut)")
            #expect(recordPlist(cut, pauses: true) == whole, "\(cut), paused after every event")
        }
    }

    static let invalidUTF8: [([UInt8], Int)] = [
        ([0xFF], 0), ([0xC3, 0x3C], 1), ([0xC3, 0x26], 1), ([0xED, 0xA0, 0x80], 1), ([0x41, 0xC0, 0x80], 1),
        ([0xF5], 0), ([0xE2, 0x82, 0x3E], 2), ([0xEF, 0xBF, 0xBE, 0xFF], 0),
    ]

    @Test(arguments: invalidUTF8)
    func `text must be UTF-8`(_ bytes: [UInt8], _ fault: Int) {
        let body = Array("<plist><string>".utf8) + bytes + Array("</string></plist>".utf8)
        let whole = recordPlist(body)
        #expect(whole.failure?.code == (bytes.count == 4 ? "plist_invalid_character" : "plist_invalid_utf8"))
        #expect(whole.failure?.offset == 15 + fault)
        for cut in Recut.cuts(of: body) { #expect(recordPlist(cut) == whole, "\(cut)") }
    }

    @Test func `a charset that isn't UTF-8 is of a type that is not taken`() {
        for body: [UInt8] in [[0xFF, 0xFE, 0x3C, 0], [0xFE, 0xFF, 0, 0x3C], [0, 0x3C], [0x3C, 0, 0x70, 0]] {
            #expect(recordPlist(body).failure?.kind == .unsupported)
        }
        let latin1 = "<?xml version=\"1.0\" encoding=\"latin1\"?><plist><true/></plist>"
        #expect(recordPlist(Array(latin1.utf8)).failure?.kind == .unsupported)
    }

    @Test func `a repeated member is refused, passed on or left out`() throws {
        let body = plistXML(
            """
            <dict><key>a</key><integer>1</integer><key>a</key><dict><key>x</key><array><true/></array></dict>
            <key>a</key><data>AQ==</data><key>b</key><dict><key>a</key><true/></dict></dict>
            """)
        func json(_ policy: DuplicatePolicy) throws -> String {
            var options = PropertyList.DecodingOptions()
            options.duplicates = policy
            for cut in Recut.cuts(of: body) {
                #expect(recordPlist(cut, options: options) == recordPlist(body, options: options), "\(cut)")
            }
            return try jsonText(body, options: options)
        }
        #expect(try json(.first) == #"{"a":1,"b":{"a":true}}"#)
        for policy in [DuplicatePolicy.keep, .last, .array] {
            #expect(try json(policy) == #"{"a":1,"a":{"x":[true]},"a":"AQ==","b":{"a":true}}"#)
        }
        // What is left out is read all the same.
        var options = PropertyList.DecodingOptions()
        options.duplicates = .first
        let faulty = plistXML("<dict><key>a</key><true/><key>a</key><array><integer>x</integer></array></dict>")
        #expect(recordPlist(faulty, options: options).failure?.code == "plist_invalid_integer")
    }

    @Test func `a real that no JSON has becomes a string where the options say so`() throws {
        var options = PropertyList.DecodingOptions()
        options.nonFiniteReals = .string
        let body = plistXML("<array><real>inf</real><real>-Infinity</real><real>nan</real><real>1e999</real></array>")
        #expect(try jsonText(body, options: options) == #"["inf","-Infinity","nan","1e999"]"#)
    }

    @Test func `long text comes in pieces of a bounded size`() {
        let text = String(repeating: "ordinary text, é & <b>; ", count: 5000)
        let escaped = text.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
        let body = plistXML("<string>\(escaped)</string>")
        var recorder = EventRecorder()
        var decoder = PropertyList.Decoder(limits: Limits())
        #expect(throws: Never.self) {
            for slice in Cut.every(700, of: body).slices { _ = try decoder.feed(slice.span, into: &recorder) }
            try decoder.finish(into: &recorder)
        }
        #expect(recorder.events == [.string(ByteString(text))])
        #expect(recorder.pieceSizes.allSatisfy { $0 <= 1024 + 128 })
        #expect(recorder.pieceSizes.count < 300)
    }

    @Test func `a format that was not asked for is refused`() {
        var options = PropertyList.DecodingOptions()
        options.format = .xml
        #expect(recordPlist(Array("bplist00".utf8), options: options).failure?.code == "plist_unknown_format")
        options.format = .binary
        #expect(recordPlist(plistXML("<true/>"), options: options).failure?.code == "plist_unknown_format")
        #expect(recordPlist([], options: options).failure?.code == "plist_empty_body")
    }

    @Test func `a decoder can be used again, also after an error`() {
        var decoder = PropertyList.Decoder(limits: Limits())
        for body in [
            plistXML("<dict><key>a</key><data>AQID</data></dict>"), plistXML("<dict><key>a</key><array><string>x"),
            Array("bplist00rest".utf8), plistXML("<string>é</string>"), [], Array("hello".utf8), plistXML("<dict/>"),
        ] {
            let again = EventRecorder.record(.whole(body), with: &decoder)
            #expect(again == recordPlist(body))
            decoder.reset()
        }
    }
}
