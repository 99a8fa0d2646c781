import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

@Suite struct XMLEncoderTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var json: String
        var xml: String
        var options: XML.EncodingOptions
        init(_ json: String, _ xml: String, _ change: (inout XML.EncodingOptions) -> Void = { _ in }) {
            self.json = json
            self.xml = xml
            options = .with(change)
        }
        var testDescription: String { json }
    }

    private static func nilAttribute(_ options: inout XML.EncodingOptions) { options.nulls = .nilAttribute }
    private static func lossless(_ options: inout XML.EncodingOptions) { options.convention = .lossless }
    private static let xsi = "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:nil=\"true\""
    private static let vocabulary = "xmlns=\"http://www.w3.org/2005/xpath-functions\""

    private static let rows: [Row] = [
        // The root element.
        Row(#"{"a":"x"}"#, "<a>x</a>"),
        Row(#"{"a":{"b":"x"}}"#, "<a><b>x</b></a>"),
        Row(#"{"a":1,"b":2}"#, "<root><a>1</a><b>2</b></root>"),
        Row(#"{"a":{"c":[1,{"d":null}]},"b":2}"#, "<root><a><c>1</c><c><d/></c></a><b>2</b></root>"),
        Row(#"{"a":[1,2]}"#, "<root><a>1</a><a>2</a></root>"),
        Row(#"{"@a":"1"}"#, #"<root a="1"/>"#),
        Row(##"{"#text":"t"}"##, "<root>t</root>"),
        Row(##"{"@a":"1","#text":"t"}"##, #"<root a="1">t</root>"#),
        Row("{}", "<root/>"),
        Row("[]", "<root/>") { $0.empties = .marker },
        Row("[]", "<root/>") { $0.empties = .omit },
        Row("[1,2]", "<root><item>1</item><item>2</item></root>"),
        Row("5", "<root>5</root>"),
        Row(#""x""#, "<root>x</root>"),
        Row("null", "<root/>"),
        Row("null", "<root/>") { $0.nulls = .omit },
        Row("true", "<root>true</root>"),
        Row(#"{"a":"x"}"#, "<doc><a>x</a></doc>") { ($0.root, $0.rootName) = (.wrap, "doc") },
        Row(#"{"a":"x"}"#, "<a>x</a>") { $0.root = .member },
        Row(#"{"a":{"b":[1,2]}}"#, "<a><b>1</b><b>2</b></a>") { $0.root = .member },
        // Arrays.
        Row(#"{"a":{"b":[1,"x",null,true]}}"#, "<a><b>1</b><b>x</b><b/><b>true</b></a>"),
        Row(#"{"a":{"b":[[1,2],[3]]}}"#, "<a><b><item>1</item><item>2</item></b><b><item>3</item></b></a>"),
        Row(#"{"a":{"b":[[[1]]]}}"#, "<a><b><item><item>1</item></item></b></a>"),
        Row(#"{"a":{"b":[{"c":[1,2]},{"c":[3]}]}}"#, "<a><b><c>1</c><c>2</c></b><b><c>3</c></b></a>"),
        Row("[[1],{\"a\":[2]}]", "<root><row><row>1</row></row><row><a>2</a></row></root>") { $0.itemName = "row" },
        Row(#"{"a":{"b":[],"c":1}}"#, "<a><c>1</c></a>") { $0.empties = .omit },
        Row(#"{"a":{"b":[],"c":1}}"#, "<a><b/><c>1</c></a>") { $0.empties = .marker },
        Row(#"{"a":{"b":[[],[1],[[]]]}}"#, "<a><b/><b><item>1</item></b><b><item/></b></a>") { $0.empties = .marker },
        Row(#"{"a":{"b":[[],[1]],"c":[[]]}}"#, "<a><b><item>1</item></b></a>") { $0.empties = .omit },
        Row("[[],[[]],1]", "<root><item/><item><item/></item><item>1</item></root>") { $0.empties = .marker },
        Row("[[],[[]],1]", "<root><item>1</item></root>") { $0.empties = .omit },
        Row(#"{"a":{"b":{}}}"#, "<a><b/></a>"),
        Row(#"{"a":{"b":[{},{}]}}"#, "<a><b/><b/></a>"),
        // Attributes and text.
        Row(##"{"a":{"@x":"1","@y":true,"#text":"t"}}"##, #"<a x="1" y="true">t</a>"#),
        Row(##"{"a":{"@x":"","#text":""}}"##, #"<a x=""/>"#),
        Row(##"{"a":{"#text":"<","@x":2}}"##, #"<a x="2">&lt;</a>"#),
        Row(##"{"a":[{"#text":"t","@x":2},{"#text":"u"}]}"##, #"<root><a x="2">t</a><a>u</a></root>"#),
        Row(#"{"a":{"@x":null,"b":1}}"#, #"<a x=""><b>1</b></a>"#),
        Row(#"{"a":{"@x":null,"b":1}}"#, "<a><b>1</b></a>") { $0.nulls = .omit },
        Row(##"{"a":{"@x":1,"#text":null}}"##, #"<a x="1"/>"#),
        Row(##"{"a":{"@x":1,"#text":null}}"##, #"<a x="1"/>"#, nilAttribute),
        Row(#"{"a":{"@xmlns":"u","@xmlns:p":"v","p:b":1}}"#, #"<a xmlns="u" xmlns:p="v"><p:b>1</p:b></a>"#),
        Row(#"{"a":{"_x":"1","$":"t"}}"#, #"<a x="1">t</a>"#) { ($0.attributePrefix, $0.textKey) = ("_", "$") },
        Row(#"{"a":{"_x":"1","@y":"z"}}"#, "!xml_name /a/@y") { $0.attributePrefix = "_" },
        Row(#"{"a":{"x":"1","text":"t"}}"#, "<a><x>1</x><text>t</text></a>") {
            ($0.attributePrefix, $0.textKey) = ("", "")
        },
        Row(##"{"p":{"b":"big","#text":"t"}}"##, "<p><b>big</b>t</p>") { $0.mixed = .join },
        Row(##"{"p":{"#text":"t","b":["x","y"]}}"##, "<p>t<b>x</b><b>y</b></p>") { $0.mixed = .join },
        // Escapes.
        Row(#"{"a":"<&>\"'\t\n\r"}"#, "<a>&lt;&amp;&gt;\"'\t\n&#13;</a>"),
        Row(#"{"a":{"@x":"<&>\"'\t\n\r"}}"#, #"<a x="&lt;&amp;&gt;&quot;'&#9;&#10;&#13;"/>"#),
        Row(#"{"a":"]]>"}"#, "<a>]]&gt;</a>"),
        Row("{\"a\":\"é漢😀\u{7F}\u{85}\u{FFFD}\u{FEFF}\"}", "<a>é漢😀\u{7F}\u{85}\u{FFFD}\u{FEFF}</a>"),
        // Scalars.
        Row(#"{"a":{"n":-1.50e+3,"o":9007199254740993}}"#, "<a><n>-1.50e+3</n><o>9007199254740993</o></a>"),
        Row(#"{"a":[true,false]}"#, "<root><a>1</a><a>0</a></root>") { $0.booleans = .numeric },
        Row(#"{"a":{"b":null,"c":1}}"#, "<a><b \(xsi)/><c>1</c></a>", nilAttribute),
        Row("null", "<root \(xsi)/>", nilAttribute),
        Row(#"{"a":[null,1]}"#, "<root><a \(xsi)/><a>1</a></root>", nilAttribute),
        Row(#"{"a":{"b":null,"c":[1,null]}}"#, "<a><c>1</c></a>") { $0.nulls = .omit },
        Row(#"{"a":{"b":[null]}}"#, "<a/>") { ($0.nulls, $0.empties) = (.omit, .omit) },
        Row(#"{"a":{"b":null,"@c":1}}"#, #"<a c="1"/>"#) { $0.nulls = .omit },
        // Names.
        Row(#"{"élan":{"@naïve":1,"_a.b-c1":2,"日本":3}}"#, #"<élan naïve="1"><_a.b-c1>2</_a.b-c1><日本>3</日本></élan>"#),
        Row(#"{"1 a":"x"}"#, #"<item key="1 a">x</item>"#) { $0.names = .item },
        Row(
            #"{"a":{"<\"&\n":[1,{"":2}]}}"#,
            #"<a><item key="&lt;&quot;&amp;&#10;">1</item><item key="&lt;&quot;&amp;&#10;"><item key="">2</item></item></a>"#
        ) { $0.names = .item },
        Row(
            #"{"a":{"1":[[1,{"b":"x"}],{"2":{"c":1,"3":"y"},"d":2}],"e":{"4":"","f":[["z"]]},"5":{}}}"#,
            #"<a><item key="1"><item>1</item><item><b>x</b></item></item><item key="1"><item key="2"><c>1</c>"#
                + #"<item key="3">y</item></item><d>2</d></item><e><item key="4"/><f><item>z</item></f></e><item key="5"/></a>"#
        ) { $0.names = .item },
        Row(#"{"1":{"@x":1,"b":2}}"#, #"<i key="1" x="1"><b>2</b></i>"#) { ($0.names, $0.itemName) = (.item, "i") },
        // Lines and the declaration.
        Row(#"{"a":1}"#, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<a>1</a>") { $0.declaration = true },
        Row(
            ##"{"a":{"@x":1,"b":[1,{"c":"t"}],"d":{"@y":2,"#text":"t"},"e":{},"f":[[1]]}}"##,
            "<a x=\"1\">\n  <b>1</b>\n  <b>\n    <c>t</c>\n  </b>\n  <d y=\"2\">t</d>\n  <e/>\n  <f>\n    <item>1</item>\n"
                + "  </f>\n</a>"
        ) { $0.indentation = 2 },
        Row(##"{"p":{"#text":"t","b":{"c":1}}}"##, "<p>t<b>\n    <c>1</c>\n  </b></p>") {
            ($0.mixed, $0.indentation) = (.join, 2)
        },
        // The lossless vocabulary.
        Row(
            #"{"a":[1,"x",true,null,{},[]],"1 b":"<"}"#,
            "<map \(vocabulary)><array key=\"a\"><number>1</number><string>x</string><boolean>true</boolean><null/><map/>"
                + "<array/></array><string key=\"1 b\">&lt;</string></map>", lossless),
        Row("1.50", "<number \(vocabulary)>1.50</number>", lossless),
        Row(#""""#, "<string \(vocabulary)/>", lossless),
        Row(
            #"{"a\"\n":{"@x":""}}"#, "<map \(vocabulary)><map key=\"a&quot;&#10;\"><string key=\"@x\"/></map></map>",
            lossless),
        Row("[[1],{}]", "<array \(vocabulary)>\n  <array>\n    <number>1</number>\n  </array>\n  <map/>\n</array>") {
            ($0.convention, $0.indentation) = (.lossless, 2)
        },
        // What XML has no way to say.
        Row(#"{"1a":1}"#, "!xml_name /1a"),
        Row(#"{"a":{"b c":1}}"#, "!xml_name /a/b c"),
        Row(#"{"a":{"":1}}"#, "!xml_name /a/"),
        Row(#"{"a":{"a:b:c":1}}"#, "!xml_name /a/a:b:c"),
        Row(#"{"a":{":b":1}}"#, "!xml_name /a/:b"),
        Row(#"{"a":{"b:":1}}"#, "!xml_name /a/b:"),
        Row(#"{"a":{"b:1":1}}"#, "!xml_name /a/b:1"),
        Row(#"{"a":{"@1":1}}"#, "!xml_name /a/@1") { $0.names = .item },
        Row(#"{"a":{"@":1}}"#, "!xml_name /a/@") { $0.names = .item },
        Row(#"{"a":{"×":1}}"#, "!xml_name /a/×"),
        Row("[1]", "!xml_name /0") { $0.itemName = "1 2" },
        Row(#"{"a b":1}"#, "!xml_name /a b") { ($0.names, $0.itemName) = (.item, "") },
        Row("1", "!xml_name") { $0.rootName = "<root>" },
        Row(#"{"a":"\u0001"}"#, "!xml_forbidden_character /a"),
        Row(#"{"a":["x","\u0000"]}"#, "!xml_forbidden_character /a/1"),
        Row(#"{"a":{"@x":"\u000b"}}"#, "!xml_forbidden_character /a/@x"),
        Row(#"{"a":"x\uffff"}"#, "!xml_forbidden_character /a"),
        Row(#"{"a":"\ufffe"}"#, "!xml_forbidden_character /a"),
        Row(#"{"\u0001":1}"#, "!xml_forbidden_character /\u{1}") { $0.names = .item },
        Row(#"{"a":"\u0001"}"#, "!xml_forbidden_character /a", lossless),
        Row(#"{"\u0001":1}"#, "!xml_forbidden_character /\u{1}", lossless),
        Row(#"{"a":{"b":1,"@x":2}}"#, "!xml_late_attribute /a/@x"),
        Row(#"{"a":{"b":[1],"@x":2}}"#, "!xml_late_attribute /a/@x"),
        Row(##"{"a":{"#text":"t","b":1,"@x":2}}"##, "!xml_late_attribute /a/@x") { $0.mixed = .join },
        Row(#"{"a":1,"@x":2}"#, "!xml_late_attribute /@x"),
        Row(#"{"a":{"@x":{}}}"#, "!xml_attribute_value /a/@x"),
        Row(#"{"a":{"@x":[1]}}"#, "!xml_attribute_value /a/@x"),
        Row(#"{"a":{"@x":null}}"#, "!xml_attribute_null /a/@x", nilAttribute),
        Row(##"{"a":{"#text":{}}}"##, "!xml_text_value /a/#text"),
        Row(##"{"a":{"#text":[]}}"##, "!xml_text_value /a/#text"),
        Row(##"{"a":{"#text":"t","b":1}}"##, "!xml_mixed_text /a/b"),
        Row(##"{"a":{"#text":"t","b":[1]}}"##, "!xml_mixed_text /a/b/0"),
        Row(##"{"a":{"#text":"t","b":[[1]]}}"##, "!xml_mixed_text /a/b/0"),
        Row(##"{"a":{"b":1,"#text":"t"}}"##, "!xml_mixed_text /a/#text"),
        Row(#"{"a":{"b":null}}"#, "!xml_null /a/b") { $0.nulls = .reject },
        Row(##"{"a":{"#text":null}}"##, "!xml_null /a/#text") { $0.nulls = .reject },
        Row("null", "!xml_null") { $0.nulls = .reject },
        Row(#"{"a":{"b":[]}}"#, "!xml_empty_array /a/b"),
        Row(#"{"a":{"b":[[]]}}"#, "!xml_empty_array /a/b/0"),
        Row("[]", "!xml_empty_array"),
        // Places are those of the document that came.
        Row(#"{"items":[{"n":1},{"n":"\u0000"}]}"#, "!xml_forbidden_character /items/1/n"),
        Row(#"[{"n":1},[[2,"\u0000"]]]"#, "!xml_forbidden_character /1/0/1"),
        Row(#"{"a":[[],[[1],["x","\u0000"]]],"b":1}"#, "!xml_forbidden_character /a/1/1/1") { $0.empties = .omit },
        Row(#"{"a":[null,"\u0000"],"b":1}"#, "!xml_forbidden_character /a/1") { $0.nulls = .omit },
        Row(#"{"a":{"~/":[{"b c":1}]}}"#, "!xml_name /a/~0~1/0") { ($0.names, $0.itemName) = (.item, "1") },
        Row(#"{"items":[{"n":1},{"n":["\u0000"],"m":1}]}"#, "!xml_forbidden_character /items/1/n/0", lossless),
        Row(#"[[{"a":1}],{"b":{"c":[1,{"\u0001":2}]}}]"#, "!xml_forbidden_character /1/b/c/1/\u{1}", lossless),
        Row(#"["\u0000"]"#, "!xml_forbidden_character /0", lossless),
        Row(#""\u0000""#, "!xml_forbidden_character", lossless),
        // A prefix needs a declaration, on its element or around it.
        Row(#"{"p:a":1}"#, "!xml_prefix /p:a"),
        Row(#"{"p:a":null}"#, "!xml_prefix /p:a"),
        Row(#"{"p:a":{}}"#, "!xml_prefix /p:a"),
        Row(#"{"p:a":{"b":[{"c":1}]}}"#, "!xml_prefix /p:a"),
        Row(#"{"x":[1,{"p:a":[2]}]}"#, "!xml_prefix /x/1/p:a/0"),
        Row(#"{"x":{"p:a":[[2]]}}"#, "!xml_prefix /x/p:a/0"),
        Row(#"{"a":{"@p:x":1}}"#, "!xml_prefix /a/@p:x"),
        Row(#"{"a":{"@p:x":1,"b":[{"c":1}]}}"#, "!xml_prefix /a/@p:x"),
        Row(##"{"a":{"#text":"t","@p:x":1}}"##, "!xml_prefix /a/@p:x"),
        Row(#"{"r":{"@xsi:nil":"x","a":1}}"#, "!xml_prefix /r/@xsi:nil"),
        Row(#"{"p:a":{"@xmlns:p":"u"}}"#, #"<p:a xmlns:p="u"/>"#),
        Row(#"{"p:a":{"@p:x":1,"@xmlns:p":"u","b":2}}"#, #"<p:a p:x="1" xmlns:p="u"><b>2</b></p:a>"#),
        Row(#"{"a":{"@xmlns:p":"u","b":[{"p:c":{"@p:d":1}}]}}"#, #"<a xmlns:p="u"><b><p:c p:d="1"/></b></a>"#),
        Row(#"{"a":{"b":{"@xmlns:p":"u","p:c":1},"p:d":2}}"#, "!xml_prefix /a/p:d"),
        Row(#"{"a":{"@xml:lang":"de","xml:b":1}}"#, #"<a xml:lang="de"><xml:b>1</xml:b></a>"#),
        Row(
            #"{"p:a":1}"#, #"<map xmlns="http://www.w3.org/2005/xpath-functions"><number key="p:a">1</number></map>"#,
            lossless),
        Row(#"{"a":{"b":[null]}}"#, "!xml_empty_array /a/b") { $0.nulls = .omit },
        Row(#"{"a":1,"b":2}"#, "!xml_root") { $0.root = .member },
        Row(#"{"a":[1]}"#, "!xml_root") { $0.root = .member },
        Row(#"{"@a":1}"#, "!xml_root") { $0.root = .member },
        Row("{}", "!xml_root") { $0.root = .member },
        Row("[1]", "!xml_root") { $0.root = .member },
        Row("1", "!xml_root") { $0.root = .member },
    ]

    @Test(arguments: rows)
    func `a document becomes this XML however its strings are cut`(row: Row) {
        #expect(xmlFromJSON(row.json, row.options) == row.xml)
        for size in [1, 2, 3, 5] { #expect(xmlFromJSON(row.json, row.options, size: size) == row.xml, "\(size)") }
    }

    @Test func `what is written is well-formed, and reads back as this`() {
        for row in Self.rows where !row.xml.hasPrefix("!") {
            let json = jsonFromXML(row.xml, .with { ($0.mixed, $0.convention) = (.join, row.options.convention) })
            #expect(!json.hasPrefix("!"), "\(row.xml): \(json)")
            if row.options.convention == .lossless { #expect(json == row.json) }
        }
    }

    @Test func `after reset an encoder writes another document, whatever state the first one left`() {
        for convention in XML.Convention.allCases {
            for root in [XML.EncodingOptions.Root.auto, .wrap, .member] {
                var encoder = XML.Encoder(
                    options: .with { ($0.convention, $0.root) = (convention, root) }, limits: Limits())
                let good = ##"{"a":{"@x":"1","b":[[1],{"c":"t"}],"d":null}}"##
                let expected = xmlFromJSON(good, with: &encoder)
                #expect(expected.hasPrefix("<"))
                for row in Self.rows {
                    for length in [row.json.utf8.count, row.json.utf8.count / 2] {
                        encoder.reset()
                        _ = xmlFromJSON(
                            String(decoding: Array(row.json.utf8).prefix(length), as: UTF8.self), with: &encoder)
                    }
                    encoder.reset()
                    #expect(xmlFromJSON(good, with: &encoder) == expected, "\(row.json)")
                }
            }
        }
    }

    @Test func `an attribute or text that comes twice is refused, however many there are`() throws {
        for (name, code) in [("@x", "xml_written_twice"), ("#text", "xml_written_twice"), ("y", nil)] {
            var encoder = XML.Encoder(options: .with { $0.root = .wrap }, limits: Limits())
            try encoder.beginObject()
            var failure: String?
            do throws(ConversionError) {
                for index in 0..<200 where name == "@x" {
                    try encoder.key(Array("@a\(index)".utf8).span)
                    try encoder.string(Array("v".utf8).span, isLast: true)
                }
                for _ in 0..<2 {
                    try encoder.key(Array(name.utf8).span)
                    try encoder.string(Array("v".utf8).span, isLast: true)
                }
            } catch { failure = error.code }
            #expect(failure == code)
        }
        // One that is made of a bad name is one, too.
        let options = XML.EncodingOptions.with { $0.names = .item }
        #expect(xmlFromJSON(#"{"1":{"@key":2}}"#, options) == "!xml_written_twice /1/@key")
    }

    @Test func `long text of any characters is written in linear time, and a bad one in it is found`() {
        for character in ["x", "é", "\u{FFFD}", "&", ">", "\n"] {
            let text = String(repeating: character, count: 200_000)
            let written = character == "&" ? "&amp;" : character == ">" ? "&gt;" : character
            for isBad in [false, true] {
                var encoder = XML.Encoder(options: .with { $0.root = .wrap }, limits: Limits())
                var code: String?
                do throws(ConversionError) {
                    let bytes = Array((text + (isBad ? "\u{FFFF}" : "")).utf8)
                    try encoder.string(bytes.span, isLast: true)
                } catch { code = error.code }
                #expect(code == (isBad ? "xml_forbidden_character" : nil))
                guard !isBad else { continue }
                let expected = "<root>" + String(repeating: written, count: 200_000) + "</root>"
                #expect(ByteString(encoder.output.span.copied()) == ByteString(expected))
            }
        }
    }

    @Test func `text before attributes is held up to the limit of a field`() {
        for (length, isFine) in [(99, true), (100, true), (101, false)] {
            let text = String(repeating: "t", count: length)
            let json = "{\"a\":{\"#text\":\"\(text)\",\"@x\":1}}"
            for size in [1, 50, 1000] {
                let xml = xmlFromJSON(json, .with { $0.root = .member }, limits: .with { $0.field = 100 }, size: size)
                #expect(xml == (isFine ? "<a x=\"1\">\(text)</a>" : "!xml_late_attribute /a/@x"))
            }
        }
    }

    @Test func `a file becomes text in base64, or an object`() throws {
        for (policy, expected) in [
            (FilePolicy.base64, "<root><a>1</a><photo>AP/+AQ==</photo></root>"),
            (
                .object,
                "<root><a>1</a><photo><filename>a&amp;b</filename><content_type>image/png</content_type>"
                    + "<data>AP/+AQ==</data></photo></root>"
            ),
            (.reject, "!xml_file photo"), (.stream, "!xml_file photo"),
        ] {
            for isFirst in [false, true] {
                var encoder = XML.Encoder(options: .with { $0.files = policy }, limits: Limits())
                var result = ""
                do throws(ConversionError) {
                    try encoder.beginObject()
                    if !isFirst {
                        try encoder.key(Array("a".utf8).span)
                        try encoder.number(Array("1".utf8).span)
                    }
                    try encoder.key(Array("photo".utf8).span)
                    var head = PartHead(name: Array("photo".utf8).span)
                    head.setFilename(Array("a&b".utf8).span)
                    head.setMediaType(Array("image/png".utf8).span)
                    try encoder.beginFile(head)
                    for (piece, isLast) in [
                        ([0x00, 0xFF] as [UInt8], false), ([], false), ([0xFE], false), ([0x01], true),
                    ] {
                        try encoder.fileContent(piece.span, isLast: isLast)
                    }
                    try encoder.endObject()
                    try encoder.finish()
                    result = String(decoding: encoder.output.span.copied(), as: UTF8.self)
                } catch {
                    result = "!" + error.code + " " + (error.field ?? "")
                }
                let alone = expected.replacing("<root><a>1</a>", with: "").replacing("</root>", with: "")
                #expect(result == (isFirst ? alone : expected))
            }
        }
    }

    @Test func `dates and bytes of a property list are text`() throws {
        var encoder = XML.Encoder(options: .with { _ in }, limits: Limits())
        try encoder.beginObject()
        for isDate in [true, false] {
            try encoder.key(Array((isDate ? "d" : "b").utf8).span)
            if isDate {
                try encoder.date(Array("2001-01-01T00:00:00Z".utf8).span)
            } else {
                try encoder.data([1, 2, 3].span)
            }
        }
        try encoder.endObject()
        try encoder.finish()
        #expect(
            String(decoding: encoder.output.span.copied(), as: UTF8.self)
                == "<root><d>2001-01-01T00:00:00Z</d><b>AQID</b></root>")
    }

    @Test func `output is full at its watermark and streams, but for the first member`() throws {
        var encoder = XML.Encoder(options: .with { _ in }, limits: Limits())
        encoder.output.highWatermark = 8
        try encoder.beginObject()
        try encoder.key(Array("a".utf8).span)
        try encoder.string(Array("0123456789".utf8).span, isLast: true)
        #expect(encoder.output.isEmpty)
        try encoder.key(Array("b".utf8).span)
        #expect(String(decoding: encoder.output.span.copied(), as: UTF8.self) == "<root><a>0123456789</a>")
        let wasFull = encoder.isFull
        encoder.output.removeAll()
        let isFull = encoder.isFull
        #expect(wasFull && !isFull)
        try encoder.string(Array("x".utf8).span, isLast: false)
        #expect(String(decoding: encoder.output.span.copied(), as: UTF8.self) == "<b>x")
    }
}
