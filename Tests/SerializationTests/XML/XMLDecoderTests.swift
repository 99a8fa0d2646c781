import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

@Suite struct XMLDecoderTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var xml: String
        var json: String
        var options: XML.DecodingOptions
        init(_ xml: String, _ json: String, _ change: (inout XML.DecodingOptions) -> Void = { _ in }) {
            self.xml = xml
            self.json = json
            options = .with(change)
        }
        var testDescription: String { xml }
    }

    static func path(_ text: String) -> FieldPath {
        do { return try FieldPath(parsing: text) } catch { fatalError("\(text): \(error)") }
    }

    private static let rows: [Row] = [
        // formats.md §6.1: what stands there as rules.
        Row("<a/>", #"{"a":null}"#),
        Row("<a/>", #"{"a":""}"#) { $0.empty = .string },
        Row("<a></a>", #"{"a":null}"#),
        Row("<a> </a>", #"{"a":" "}"#),
        Row("<a>\n  <b>1</b>\n  <c> x </c>\n</a>", #"{"a":{"b":"1","c":" x "}}"#),
        Row("<a x='1'/>", #"{"a":{"@x":"1"}}"#),
        Row("<a x='1'>t</a>", ##"{"a":{"@x":"1","#text":"t"}}"##),
        Row("<a x=''/>", #"{"a":{"@x":""}}"#),
        Row("<a x=''/>", #"{"a":{"@x":""}}"#) { $0.empty = .string },
        Row("<a x='1'> </a>", ##"{"a":{"@x":"1","#text":" "}}"##),
        Row("<a x='1' y='2'>\n<b/>\n</a>", #"{"a":{"@x":"1","@y":"2","b":null}}"#),
        Row("<a>x<![CDATA[<y>]]>z</a>", #"{"a":"x<y>z"}"#),
        Row("<a>x<!-- - -->y<?p q?>z</a>", #"{"a":"xyz"}"#),
        Row("<!--a--><?b c?>\n<a/>\n<!--d-->", #"{"a":null}"#),
        Row("\u{FEFF}<a>\u{FEFF}</a>", "{\"a\":\"\u{FEFF}\"}"),
        Row("<a>\r\n\r</a>", #"{"a":"\n\n"}"#),
        Row("<a x='\r\n\t'>&#13;&#10;</a>", ##"{"a":{"@x":"  ","#text":"\r\n"}}"##),
        Row("<?xml version='1.0' encoding='us-ascii'?><a>&#233;</a>", #"{"a":"é"}"#),
        Row("<?xml version='1.1'?><a/>", #"{"a":null}"#),
        Row("<a>&lt;&amp;&gt;&quot;&apos;&#x1F600;&#0000065;</a>", #"{"a":"<&>\"'😀A"}"#),
        Row("<a x='&lt;&amp;&gt;&quot;&apos;&#x1F600;'/>", #"{"a":{"@x":"<&>\"'😀"}}"#),
        // Repeated siblings, also with others between them, stand where the first one stood.
        Row("<a><b/><c/><b/></a>", #"{"a":{"b":[null,null],"c":null}}"#),
        Row("<a><b>1</b><c>2</c><b>3</b><c>4</c><b>5</b></a>", #"{"a":{"b":["1","3","5"],"c":["2","4"]}}"#),
        Row("<a><b><c/></b><b x='1'/></a>", #"{"a":{"b":[{"c":null},{"@x":"1"}]}}"#),
        // The prefix and the text's name are options.
        Row("<a x='1'>t</a>", #"{"a":{"_x":"1","$":"t"}}"#) { ($0.attributePrefix, $0.textKey) = ("_", "$") },
        Row("<a x='1'><y/></a>", #"{"a":{"x":"1","y":null}}"#) { $0.attributePrefix = "" },
        // Elements that are arrays even when they stand alone.
        Row("<a><b>1</b></a>", #"{"a":{"b":["1"]}}"#) { $0.alwaysArray = [path("a.b")] },
        Row("<a><b>1</b><b>2</b></a>", #"{"a":{"b":["1","2"]}}"#) { $0.alwaysArray = [path("a.b")] },
        Row("<a><b><c/></b></a>", #"{"a":{"b":{"c":[null]}}}"#) { $0.alwaysArray = [path("a.*.c")] },
        Row("<a><b><c/></b><b><c/></b></a>", #"{"a":{"b":[{"c":[null]},{"c":[null]}]}}"#) {
            $0.alwaysArray = [path("a.b.c")]
        },
        Row("<a><b/></a>", #"{"a":[{"b":[null]}]}"#) { $0.alwaysArray = [path("a"), path("*.*")] },
        Row("<a><b/><c><b/></c></a>", #"{"a":{"b":null,"c":{"b":[null]}}}"#) {
            $0.alwaysArray = [path("b"), path("a.c.b"), path("a[0]")]
        },
        Row("<a><b><c/></b></a>", #"{"b":{"c":[null]}}"#) { ($0.root, $0.alwaysArray) = (.drop, [path("b.c")]) },
        // The root element's name.
        Row("<a><b/></a>", #"{"b":null}"#) { $0.root = .drop },
        Row("<a>x</a>", #""x""#) { $0.root = .drop },
        Row("<a/>", "null") { $0.root = .drop },
        Row("<a x='1'/>", #"{"@x":"1"}"#) { $0.root = .drop },
        // Namespaces are text unless they are stripped.
        Row("<p:a xmlns:p='u' p:x='1'><p:b/></p:a>", #"{"p:a":{"@xmlns:p":"u","@p:x":"1","p:b":null}}"#),
        Row("<a y='1' xmlns='u'><b xmlns=''/></a>", #"{"a":{"@xmlns":"u","@y":"1","b":{"@xmlns":""}}}"#),
        Row("<p:a p:x='1'/>", #"{"p:a":{"@p:x":"1"}}"#),
        Row("<p:a xmlns:p='u' p:x='1'><p:b/><b/></p:a>", #"{"a":{"@x":"1","b":[null,null]}}"#) {
            $0.namespaces = .strip
        },
        Row("<a xmlns='u' xml:lang='en'/>", #"{"a":{"@lang":"en"}}"#) { $0.namespaces = .strip },
        Row("<p:a xmlns:p='u'>t</p:a>", #"{"a":"t"}"#) { $0.namespaces = .strip },
        Row(
            "<a xmlns:xml='http://www.w3.org/XML/1998/namespace'/>",
            #"{"a":{"@xmlns:xml":"http://www.w3.org/XML/1998/namespace"}}"#),
        Row(
            "<a xmlns:p='u' xmlns:q='v' p:x='1' q:x='2'><b xmlns:q='u' q:x='3'/></a>",
            #"{"a":{"@xmlns:p":"u","@xmlns:q":"v","@p:x":"1","@q:x":"2","b":{"@xmlns:q":"u","@q:x":"3"}}}"#),
        Row("<a xmlns='u' xmlns:p='u' x='1' p:x='2'/>", #"{"a":{"@xmlns":"u","@xmlns:p":"u","@x":"1","@p:x":"2"}}"#),
        // Types only where they are asked for, and only text that is one as a whole.
        Row("<a x='1'><b>-1.50e+3</b><c>true</c></a>", #"{"a":{"@x":"1","b":"-1.50e+3","c":"true"}}"#),
        Row("<a x='1'><b>-1.50e+3</b><c>true</c></a>", #"{"a":{"@x":1,"b":-1.50e+3,"c":"true"}}"#) {
            $0.recognize = .numbers
        },
        Row(
            "<a><b>007</b><b>1.</b><b>+1</b><b> 1</b><b>0x1</b><b>NaN</b></a>",
            #"{"a":{"b":["007","1.","+1"," 1","0x1","NaN"]}}"#
        ) { $0.recognize = .numbers },
        Row("<a x='false'><b>true</b><b>True</b><b>1</b></a>", #"{"a":{"@x":false,"b":[true,"True","1"]}}"#) {
            $0.recognize = .booleans
        },
        Row("<a x='q'>9007199254740993</a>", ##"{"a":{"@x":"q","#text":9007199254740993}}"##) {
            $0.recognize = .numbers
        },
        Row("<a xmlns:xsi='u' xsi:nil='true'/>", #"{"a":null}"#) { ($0.recognize, $0.empty) = (.nulls, .string) },
        Row(
            "<a><b xsi:nil='1'/><b xsi:nil='false'/><b xsi:nil='true' x='1'/></a>",
            #"{"a":{"b":[null,{"@xsi:nil":"false"},{"@xsi:nil":"true","@x":"1"}]}}"#
        ) { $0.recognize = .nulls },
        Row("<a xsi:nil='true'>x</a>", ##"{"a":{"@xsi:nil":"true","#text":"x"}}"##) { $0.recognize = .nulls },
        Row("<a xsi:nil='true'><b/></a>", #"{"a":{"@xsi:nil":"true","b":null}}"#) { $0.recognize = .nulls },
        // Text beside children, only where it may lose its place.
        Row("<p>Hello <b>big</b> world</p>", ##"{"p":{"b":"big","#text":"Hello  world"}}"##) { $0.mixed = .join },
        Row("<p>\n<b>1</b> x <b>2</b>\n</p>", ##"{"p":{"b":["1","2"],"#text":" x "}}"##) { $0.mixed = .join },
        Row("<p><b>1</b>\n</p>", #"{"p":{"b":"1"}}"#) { $0.mixed = .join },
        // The lossless vocabulary.
        Row("<map xmlns='http://www.w3.org/2005/xpath-functions'> <string key='a'>x</string> </map>", #"{"a":"x"}"#) {
            $0.convention = .lossless
        },
        Row(
            "<j:array xmlns:j='http://www.w3.org/2005/xpath-functions'><j:map/><j:array/><j:null/><j:boolean>1</j:boolean>"
                + "<j:number>1.50</j:number><j:string/></j:array>", #"[{},[],null,true,1.50,""]"#
        ) { $0.convention = .lossless },
        Row(
            #"<map xmlns="http://www.w3.org/2005/xpath-functions"><string key="\u0041\n" escaped-key="true" "#
                + #"escaped="true">\u0001\"\\\/\b\f\n\r\t\ud83d\ude00"</string></map>"#,
            #"{"A\n":"\u0001\"\\/\b\f\n\r\t😀\""}"#
        ) { $0.convention = .lossless },
        Row(
            "<array xmlns='http://www.w3.org/2005/xpath-functions'><number> 1\n</number><boolean>\ttrue </boolean>"
                + "<boolean> 0</boolean><string> x </string><string escaped=' true '>\\n</string></array>",
            #"[1,true,false," x ","\n"]"#
        ) { $0.convention = .lossless },
        Row("<string xmlns='http://www.w3.org/2005/xpath-functions'>\\n</string>", #""\\n""#) {
            $0.convention = .lossless
        },
    ]

    @Test(arguments: rows)
    func `a document becomes these events however it is cut`(row: Row) {
        #expect(jsonFromXML(row.xml, row.options) == row.json)
        let bytes = Array(row.xml.utf8)
        let whole = recordXML(.whole(bytes), row.options)
        #expect(whole.failure == nil)
        #expect(whole.violations == [])
        for cut in Recut.cuts(of: bytes) {
            #expect(recordXML(cut, row.options) == whole, "\(cut)")
        }
    }

    @Test(arguments: rows)
    func `what is parsed in several blocks is the same wherever they end`(row: Row) {
        let body = row.xml.hasPrefix("\u{FEFF}") ? String(row.xml.unicodeScalars.dropFirst()) : row.xml
        // White space may stand before an XML declaration nowhere, so it stays first.
        let end = body.hasPrefix("<?xml") ? body.firstRange(of: "?>")!.upperBound : body.startIndex
        let length = body.utf8.count
        for padding in stride(from: 4096 - length - 12, through: 4096, by: 1) {
            let text = body[..<end] + String(repeating: " ", count: padding) + body[end...]
            #expect(jsonFromXML(String(text), row.options) == row.json, "\(padding)")
        }
    }

    @Test func `text longer than a block keeps all its bytes`() {
        for filler in ["x", "é", "漢", "😀", "]", "]]", "x]", "\r\n", "&amp;", "&#233;", "-->", " "] {
            for count in [1365, 2047, 2048, 4093, 4094, 4095, 4096, 4097, 9000] {
                let text = String(repeating: filler, count: count)
                let joined = String(repeating: "|", count: 4) + text
                let expected = joined.replacing("\r\n", with: "\n").replacing("&amp;", with: "&")
                    .replacing("&#233;", with: "é")
                let recording = recordXML(.whole(Array("<a>\(joined)</a>".utf8)))
                #expect(recording.events == [.beginObject, .key("a"), .string(ByteString(expected)), .endObject])
                let section = recordXML(.whole(Array("<a><![CDATA[\(joined)]]></a>".utf8)))
                let literal = joined.replacing("\r\n", with: "\n")
                #expect(section.events == [.beginObject, .key("a"), .string(ByteString(literal)), .endObject])
            }
        }
    }

    @Test func `a long tag, comment and instruction pass over blocks`() {
        let long = String(repeating: "z é ", count: 3000)
        let value = String(repeating: "z é ", count: 3000)
        let xml = "<!--\(long)--><?p \(long)?><a x='\(value)'><!--\(long)-->t</a><!--\(long)-->"
        let whole = recordXML(.whole(Array(xml.utf8)))
        #expect(
            whole.events == [
                .beginObject, .key("a"), .beginObject, .key("@x"), .string(ByteString(value)), .key("#text"),
                .string("t"), .endObject, .endObject,
            ])
        for size in [1, 1000, 4095, 4096, 4097] { #expect(recordXML(.every(size, of: Array(xml.utf8))) == whole) }
    }

    @Test func `feed takes all bytes and the sink is not looked at before the end`() throws {
        var decoder = XML.Decoder(limits: Limits())
        var recorder = EventRecorder(pauses: true)
        for slice in ["<a>", "<b/>", "</a>"] {
            let bytes = Array(slice.utf8)
            #expect(try decoder.feed(bytes.span, into: &recorder) == bytes.count)
        }
        #expect(recorder.events == [])
    }

    @Test func `finish sends everything to a sink that is full`() throws {
        let json = "{\"a\":{\"b\":[" + Array(repeating: "\"x\"", count: 500).joined(separator: ",") + "]}}"
        var decoder = XML.Decoder(limits: Limits())
        var encoder = JSON.Encoder(options: .init())
        encoder.output.highWatermark = 16
        let xml = Array(("<a>" + String(repeating: "<b>x</b>", count: 500) + "</a>").utf8)
        _ = try decoder.feed(xml.span, into: &encoder)
        try decoder.finish(into: &encoder)
        #expect(String(decoding: encoder.output.span.copied(), as: UTF8.self) == json)
    }

    @Test func `an error of the sink comes out, and the sink stays the caller's`() throws {
        var decoder = XML.Decoder(options: .with { $0.root = .drop }, limits: Limits())
        var encoder = XML.Encoder(options: .with { $0.nulls = .reject }, limits: Limits())
        _ = try decoder.feed(Array("<r><a>x</a><b/><c/></r>".utf8).span, into: &encoder)
        #expect { try decoder.finish(into: &encoder) } throws: { ($0 as? ConversionError)?.code == "xml_null" }
        #expect(String(decoding: encoder.output.span.copied(), as: UTF8.self) == "<root><a>x</a>")
    }

    @Test func `after reset a decoder reads another body, whatever state the first one left`() {
        for convention in XML.Convention.allCases {
            let options = XML.DecodingOptions.with {
                ($0.convention, $0.alwaysArray) = (convention, [Self.path("map.string")])
            }
            var decoder = XML.Decoder(options: options, limits: Limits())
            let good = Cut.whole(
                Array("<map xmlns='http://www.w3.org/2005/xpath-functions'><string key='k'>v</string></map>".utf8))
            let expected = EventRecorder.record(good, with: &decoder)
            #expect(expected.failure == nil)
            for vector in XMLDictVector.all {
                decoder.reset()
                _ = EventRecorder.record(.every(5, of: Array(vector.xml.utf8)), with: &decoder)
                decoder.reset()
                #expect(EventRecorder.record(good, with: &decoder) == expected, "\(vector.xml)")
            }
        }
    }
}
