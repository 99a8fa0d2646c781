import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// What is written of namespaces is what readers take: expat, which has judged the vectors, and our own.
@Suite struct XMLWrittenNamespaceTests {
    private static let vectors: [XMLDictVector] = XMLDictVector.read("namespaces")

    @Test func `what expat takes is written as it is, and what it refuses is refused, by our reader too`() {
        for vector in Self.vectors {
            let json = vector.json ?? ""
            let isFine = vector.error == nil
            for size in [1, 7, Int.max] {
                let xml = xmlFromJSON(json, size: size)
                #expect(isFine ? xml == vector.xml : xml.hasPrefix("!xml_"), "\(json): \(xml), \(vector.error ?? "")")
            }
            let read = jsonFromXML(vector.xml)
            #expect(read.hasPrefix("!xml_") != isFine, "\(vector.xml): \(read)")
        }
        #expect(Self.vectors.count == 700)
    }

    private static let xml = "http://www.w3.org/XML/1998/namespace"

    @Test(
        arguments: [
            (##"{"a":{"@xmlns:p":""}}"##, "!xml_namespace /a/@xmlns:p"),
            (##"{"a":{"@xmlns:p":null}}"##, "!xml_namespace /a/@xmlns:p"),
            (##"{"a":{"@xmlns":""}}"##, #"<a xmlns=""/>"#),
            (##"{"a":{"@xmlns:xml":"u"}}"##, "!xml_namespace /a/@xmlns:xml"),
            (##"{"a":{"@xmlns:xmlns":"u"}}"##, "!xml_namespace /a/@xmlns:xmlns"),
            (##"{"a":{"@xmlns:p":"\##(xml)"}}"##, "!xml_namespace /a/@xmlns:p"),
            (##"{"a":{"@xmlns:xml":"\##(xml)"}}"##, "<a xmlns:xml=\"\(xml)\"/>"),
            (
                ##"{"a":{"b":{"c":{"@xmlns:p":"u","@xmlns:q":"u","@p:x":1,"@q:x":2}}}}"##,
                "!xml_written_twice /a/b/c/@q:x"
            ),
            (##"{"a":{"@p:x":1,"@q:x":2,"@xmlns:p":"u","@xmlns:q":"u","b":1}}"##, "!xml_written_twice /a/@q:x"),
            (##"{"a":{"@p:x":1,"@q:x":2,"@xmlns:p":"u","@xmlns:q":"u","#text":"t"}}"##, "!xml_written_twice /a/@q:x"),
            (##"{"a":{"#text":"t","@p:x":1,"@q:x":2,"@xmlns:p":"u","@xmlns:q":"u"}}"##, "!xml_written_twice /a/@q:x"),
            (
                ##"{"a":{"@xmlns:p":"u","@xmlns:q":"u","b":[{"@p:x":1},{"@p:x":1,"@q:x":2}]}}"##,
                "!xml_written_twice /a/b/1/@q:x"
            ),
            // What an element declares ends with it.
            (##"{"a":{"b":{"@xmlns:p":"u","@xmlns:q":"u"},"c":{"@p:x":1,"@q:x":2}}}"##, "!xml_prefix /a/c/@p:x"),
            (
                ##"{"a":{"@xmlns:p":"v","@xmlns:q":"w","b":{"@xmlns:p":"u","@xmlns:q":"u"},"c":{"@p:x":1,"@q:x":2}}}"##,
                #"<a xmlns:p="v" xmlns:q="w"><b xmlns:p="u" xmlns:q="u"/><c p:x="1" q:x="2"/></a>"#
            ),
            (##"{"a":{"xmlns:b":1}}"##, "!xml_name /a/xmlns:b"),
            (##"{"a":{"@xmlns:":"u"}}"##, "!xml_name /a/@xmlns:"),
            (##"{"a":{"@xmlns:p":"\u0000"}}"##, "!xml_forbidden_character /a/@xmlns:p"),
            (##"{"a":{"@xmlns:p":"<&\"\n"}}"##, #"<a xmlns:p="&lt;&amp;&quot;&#10;"/>"#),
            (##"{"a":{"@p:x":1,"@q:x":2}}"##, "!xml_prefix /a/@p:x"),
            (##"{"a":{"@xmlns:p":5}}"##, #"<a xmlns:p="5"/>"#),
        ])
    func `a mistake in a declaration names its place`(json: String, xml: String) {
        for size in [1, 3, Int.max] { #expect(xmlFromJSON(json, size: size) == xml) }
    }

    @Test func `a wrong declaration is refused before anything of it is written`() {
        var encoder = XML.Encoder(options: .with { _ in }, limits: Limits())
        #expect(xmlFromJSON(##"{"a":{"@x":1,"@xmlns:p":"","b":2}}"##, with: &encoder) == "!xml_namespace /a/@xmlns:p")
        #expect(String(decoding: encoder.output.span.copied(), as: UTF8.self) == #"<a x="1""#)
    }

    @Test func `a name of names item carries what would be a declaration's`() {
        #expect(
            xmlFromJSON(#"{"a":{"xmlns:b":1}}"#, .with { $0.names = .item })
                == #"<a><item key="xmlns:b">1</item></a>"#)
    }

    @Test func `a namespace is held up to the limit of a field, and all that are declared up to that of the tree`() {
        for length in [7, 8, 9] {
            let json = "{\"a\":{\"@xmlns:p\":\"" + String(repeating: "u", count: length) + "\"}}"
            let xml = xmlFromJSON(json, limits: .with { $0.field = 8 }, size: 1)
            #expect(xml.hasPrefix(length <= 8 ? "<a " : "!limit_field"), "\(length): \(xml)")
        }
        // A prefix and a namespace with a byte each, and what a table has for them.
        for limit in [129, 130, 131] {
            let xml = xmlFromJSON(#"{"a":{"@xmlns:p":"u"}}"#, limits: .with { $0.tree = limit })
            #expect(xml == (limit < 130 ? "!limit_tree /a/@xmlns:p" : #"<a xmlns:p="u"/>"#), "\(limit)")
        }
    }
}
