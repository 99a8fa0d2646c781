import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

@Suite struct XMLRejectTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var bytes: [UInt8]
        var code: String
        var offset: Int
        var field: String?
        var kind: ConversionError.Kind
        var options: XML.DecodingOptions
        init(
            _ xml: String, _ code: String, _ offset: Int, _ field: String? = nil,
            _ kind: ConversionError.Kind = .malformed, _ change: (inout XML.DecodingOptions) -> Void = { _ in }
        ) {
            self.init(Array(xml.utf8), code, offset, field, kind, change)
        }
        init(
            _ bytes: [UInt8], _ code: String, _ offset: Int, _ field: String? = nil,
            _ kind: ConversionError.Kind = .malformed, _ change: (inout XML.DecodingOptions) -> Void = { _ in }
        ) {
            (self.bytes, self.code, self.offset, self.field, self.kind) = (bytes, code, offset, field, kind)
            options = .with(change)
        }
        var testDescription: String { ByteString(bytes).description }
    }

    private static let vocabulary = "xmlns='http://www.w3.org/2005/xpath-functions'"
    private static func lossless(_ options: inout XML.DecodingOptions) { options.convention = .lossless }

    private static let rows: [Row] = [
        // Nothing, or not enough.
        Row("", "xml_empty_body", 0),
        Row(" \r\n\t", "xml_empty_body", 4),
        Row("\u{FEFF}", "xml_empty_body", 3),
        Row("<", "xml_unexpected_end", 1),
        Row("<a", "xml_unexpected_end", 2),
        Row("<a>", "xml_unexpected_end", 3, "/a"),
        Row("<a><b>", "xml_unexpected_end", 6, "/a/b"),
        Row("<a></a", "xml_unexpected_end", 6, "/a"),
        Row("<a x='1", "xml_unexpected_end", 7),
        Row("<a>&am", "xml_unexpected_end", 6, "/a"),
        Row("<!-- x", "xml_unexpected_end", 6),
        Row("<!-- x -->", "xml_unexpected_end", 10),
        Row("<?p x?>", "xml_unexpected_end", 7),
        Row("<a/><!--", "xml_unexpected_end", 8),
        Row("<a><![CDATA[x]]", "xml_unexpected_end", 15, "/a"),
        Row([0x3C, 0x61, 0x3E, 0xC3], "xml_unexpected_end", 4, "/a"),
        // No root element, or more than it.
        Row("abc", "xml_no_root", 0),
        Row(" {\"a\":1}", "xml_no_root", 1),
        Row("bplist00", "xml_no_root", 0),
        Row("<a/>x", "xml_trailing_data", 4),
        Row("<a/><b/>", "xml_trailing_data", 4),
        // Names, tags, attributes.
        Row("<1a/>", "xml_name_syntax", 1),
        Row("< a/>", "xml_name_syntax", 1),
        Row("<a></b>", "xml_tag_mismatch", 7, "/a"),
        Row("<a><b></a></b>", "xml_tag_mismatch", 10, "/a/b"),
        Row("<a x='1' x='2'/>", "xml_repeated_attribute", 14),
        Row("<a p:x='1' q:x='2' xmlns:p='u' xmlns:q='u'/>", "xml_repeated_attribute", 42),
        Row("<a xmlns:p='u'><b p:x='1' xmlns:q='&#117;' q:x='2'/></a>", "xml_repeated_attribute", 50, "/a"),
        Row("<a xml:x='1' p:x='2' xml:x='3'/>", "xml_repeated_attribute", 30),
        Row("<a 0='' 1=''/>", "xml_syntax", 3),
        Row("<a" + (0..<12).map { " x\($0)=''" }.joined() + " x3=''/>", "xml_repeated_attribute", 82),
        Row("<a xmlns:p=''/>", "xml_syntax", 13),
        Row("<a xmlns:xml='u'/>", "xml_syntax", 16),
        Row("<a xmlns:xmlns='u'/>", "xml_syntax", 18),
        Row("<a xmlns:p='http://www.w3.org/XML/1998/namespace'/>", "xml_syntax", 49),
        Row("<a xmlns='http://www.w3.org/2000/xmlns/'/>", "xml_syntax", 40),
        Row("<xmlns:a/>", "xml_name_syntax", 1),
        Row("</a>", "xml_tag_mismatch", 0),
        Row("<a></a>\n</a>", "xml_trailing_data", 8),
        Row("<![CDATA[x]]>", "xml_no_root", 0),
        Row("<a></a x>", "xml_syntax", 7, "/a"),
        Row("<a><?xml version='1.0'?></a>", "xml_syntax", 3, "/a"),
        Row("<a/><?XML?>", "xml_syntax", 4),
        Row("<?p:q?><a/>", "xml_name_syntax", 3),
        Row("<a>x]\u{1}", "xml_character", 5, "/a"),
        Row("<a><!-- \u{1} --></a>", "xml_character", 8, "/a"),
        Row("<a><!-- \u{FFFF} --></a>", "xml_character", 8, "/a"),
        Row("<a><?p \u{1}?></a>", "xml_character", 7, "/a"),
        Row("<a><![CDATA[\u{1}]]></a>", "xml_character", 12, "/a"),
        Row("<a x=1/>", "xml_syntax", 5),
        Row("<a x/>", "xml_syntax", 4),
        Row("<a x='<'/>", "xml_syntax", 6),
        Row("<a 'x'/>", "xml_syntax", 3),
        Row("<a>]]></a>", "xml_syntax", 3, "/a"),
        Row("<a><!-- -- --></a>", "xml_syntax", 8, "/a"),
        Row("<a><![cdata[x]]></a>", "xml_syntax", 3, "/a"),
        // Declarations and references.
        Row("<!DOCTYPE a><a/>", "xml_doctype", 0),
        Row("<!doctype html><html/>", "xml_doctype", 0),
        Row(" <!DOCTYPE", "xml_doctype", 1),
        Row("<!D", "xml_doctype", 0),
        Row("<a><!DOCTYPE a></a>", "xml_doctype", 3, "/a"),
        Row("<a>&x;</a>", "xml_entity", 6, "/a"),
        Row("<a y='&x;'/>", "xml_entity", 9),
        Row("<a>&nbsp;</a>", "xml_entity", 9, "/a"),
        Row("<a>&</a>", "xml_entity", 3, "/a"),
        Row("<a>& b;</a>", "xml_entity", 3, "/a"),
        Row("<a>&;</a>", "xml_entity", 3, "/a"),
        Row("<a>&#;</a>", "xml_character", 6, "/a"),
        Row("<a>&#x;</a>", "xml_character", 7, "/a"),
        Row("<a>&#x0000000000000000000000000000000041;</a>", "xml_entity", 3, "/a"),
        // Characters.
        Row("<a>&#0;</a>", "xml_character", 7, "/a"),
        Row("<a>&#xFFFF;</a>", "xml_character", 11, "/a"),
        Row("<a>&#xD800;</a>", "xml_character", 11, "/a"),
        Row("<a x='&#1;'/>", "xml_character", 10),
        Row("<a>x\u{0}</a>", "xml_character", 4, "/a"),
        Row("<a>\u{1}</a>", "xml_character", 3, "/a"),
        Row("<a x='\u{8}'/>", "xml_character", 6),
        Row("<a>\u{FFFE}</a>", "xml_character", 3, "/a"),
        Row("<\u{B7}a/>", "xml_name_syntax", 1),
        Row([0x3C, 0x61, 0x3E, 0xFF, 0x3C, 0x2F, 0x61, 0x3E], "xml_invalid_utf8", 3, "/a"),
        Row([0x3C, 0x61, 0x3E, 0xC3, 0x28, 0x3C, 0x2F, 0x61, 0x3E], "xml_invalid_utf8", 4, "/a"),
        Row([0x3C, 0x61, 0x3E, 0xED, 0xA0, 0x80, 0x3C, 0x2F, 0x61, 0x3E], "xml_invalid_utf8", 4, "/a"),
        Row([0x3C, 0x61, 0x3E, 0xC0, 0x80], "xml_invalid_utf8", 3, "/a"),
        // Encodings.
        Row([0xFE, 0xFF, 0, 0x3C, 0, 0x61], "xml_unsupported_encoding", 0, nil, .unsupported),
        Row([0xFF, 0xFE, 0x3C, 0, 0x61, 0], "xml_unsupported_encoding", 0, nil, .unsupported),
        Row([0, 0x3C, 0, 0x61], "xml_unsupported_encoding", 0, nil, .unsupported),
        Row([0x3C, 0, 0x61, 0], "xml_unsupported_encoding", 0, nil, .unsupported),
        Row([0, 0, 0xFE, 0xFF], "xml_unsupported_encoding", 0, nil, .unsupported),
        Row([0xFF, 0xFE, 0, 0], "xml_unsupported_encoding", 0, nil, .unsupported),
        Row("<?xml version='1.0' encoding='ISO-8859-1'?><a/>", "xml_unsupported_encoding", 0, nil, .unsupported),
        Row("<?xml version=\"1.0\" encoding = \"utf-16\" ?><a/>", "xml_unsupported_encoding", 0, nil, .unsupported),
        Row("\u{FEFF}<?xml version='1.0' encoding='latin1'?><a/>", "xml_unsupported_encoding", 3, nil, .unsupported),
        Row("<?xml version='1.0' encoding='UTF-7'?><a/>", "xml_unsupported_encoding", 0, nil, .unsupported),
        Row("<?xml version='1.0' encoding='us-ascii'?><a>é</a>", "xml_encoding_mismatch", 44, "/a"),
        Row("<?xml version='1.0' encoding='UTF-8'encoding='x'?><a/>", "xml_syntax", 36),
        Row("<?xml% version='1.0'?><a/>", "xml_syntax", 5),
        // Structure that has no place.
        Row("<a>x<b/></a>", "xml_mixed_content", 6, "/a"),
        Row("<a><b/>x</a>", "xml_mixed_content", 7, "/a"),
        Row("<a><b/> &#65; </a>", "xml_mixed_content", 13, "/a"),
        Row("<a>&#65;<b/></a>", "xml_mixed_content", 10, "/a"),
        Row("<a x='1'><x/></a>", "xml_conflict", 13, "/a/x") { $0.attributePrefix = "" },
        Row("<a x='1'><x/><x/></a>", "xml_conflict", 13, "/a/x") { $0.attributePrefix = "" },
        Row("<a x='1'><_x/></a>", "xml_conflict", 14, "/a/_x") { $0.attributePrefix = "_" },
        Row("<a x='1'>t</a>", "xml_conflict", 14, "/a/x") { ($0.attributePrefix, $0.textKey) = ("", "x") },
        Row("<a>t<b/></a>", "xml_conflict", 12, "/a/b") { ($0.mixed, $0.textKey) = (.join, "b") },
        Row("<a p:x='1' q:x='2'/>", "xml_conflict", 18, "/a/@x") { $0.namespaces = .strip },
        // The lossless vocabulary.
        Row("<map/>", "xml_vocabulary", 6, "/map", .malformed, lossless),
        Row("<map xmlns='u'/>", "xml_vocabulary", 14, "/map", .malformed, lossless),
        Row("<a \(vocabulary)/>", "xml_vocabulary", 51, "/a", .malformed, lossless),
        Row("<map \(vocabulary) x='1'/>", "xml_vocabulary", 57, "/map", .malformed, lossless),
        Row("<map \(vocabulary)><j:map/></map>", "xml_vocabulary", 60, "/map/j:map", .malformed, lossless),
        Row("<map \(vocabulary)><null/></map>", "xml_vocabulary_key", 59, "/map/null", .malformed, lossless),
        Row(
            "<array \(vocabulary)><null key='a'/></array>", "xml_vocabulary_key", 69, "/array/null", .malformed,
            lossless),
        Row(
            "<map \(vocabulary)><null key='a'/><null key='a'/></map>", "xml_vocabulary_key", 82, "/map/null",
            .malformed, lossless),
        Row("<null key='' \(vocabulary)/>", "xml_vocabulary_key", 61, "/null", .malformed, lossless),
        Row("<map \(vocabulary)>x</map>", "xml_vocabulary_value", 52, "/map", .malformed, lossless),
        Row("<null \(vocabulary)>x</null>", "xml_vocabulary_value", 61, "/null", .malformed, lossless),
        Row("<null \(vocabulary)><map/></null>", "xml_vocabulary_value", 57, "/null", .malformed, lossless),
        Row("<number \(vocabulary)>1 1</number>", "xml_vocabulary_value", 67, "/number", .malformed, lossless),
        Row("<number \(vocabulary)/>", "xml_vocabulary_value", 56, "/number", .malformed, lossless),
        Row("<boolean \(vocabulary)>yes</boolean>", "xml_vocabulary_value", 69, "/boolean", .malformed, lossless),
        Row(
            "<string escaped='true' \(vocabulary)>\\x</string>", "xml_vocabulary_value", 81, "/string", .malformed,
            lossless),
        Row(
            "<string escaped='true' \(vocabulary)>\\ud800</string>", "xml_vocabulary_value", 85, "/string", .malformed,
            lossless),
        Row("<string escaped='maybe' \(vocabulary)/>", "xml_vocabulary_value", 70, "/string", .malformed, lossless),
        Row("<null escaped='true' \(vocabulary)/>", "xml_vocabulary", 69, "/null", .malformed, lossless),
    ]

    @Test(arguments: rows)
    func `a bad document is refused with the same code, offset and path however it is cut`(row: Row) {
        let whole = recordXML(.whole(row.bytes), row.options)
        #expect(whole.failure?.code == row.code)
        #expect(whole.failure?.offset == row.offset)
        #expect(whole.failure?.field == row.field)
        #expect(whole.failure?.kind == row.kind)
        #expect(whole.events == [])
        for cut in Recut.cuts(of: row.bytes) {
            #expect(recordXML(cut, row.options) == whole, "\(cut)")
        }
    }

    @Test(arguments: rows)
    func `the same fault is found in a later block, at its own offset`(row: Row) {
        // What depends on the body's first bytes can't be moved.
        let start = row.bytes.prefix(5)
        guard row.kind == .malformed, start.first == UInt8(ascii: "<"), !start.elementsEqual("<?xml".utf8) else {
            return
        }
        for padding in [4090, 4096, 5000] {
            let comment = Array("<!--".utf8) + [UInt8](repeating: 0x20, count: padding - 7) + Array("-->".utf8)
            let failure = recordXML(.whole(comment + row.bytes), row.options).failure
            #expect(failure?.code == row.code)
            #expect(failure?.offset == row.offset + padding)
            #expect(failure?.field == row.field)
        }
    }

    @Test func `a document that is cut off anywhere is not complete`() {
        let document = Array(
            """
            <?xml version="1.0" encoding="UTF-8"?><!-- c --><?p i?>
            <a x="1" y='é'><b>t &amp; &#233;</b><![CDATA[ ]]><c/><b xml:lang="en">漢</b></a>
            """.utf8)
        #expect(recordXML(.whole(document)).failure == nil)
        for length in document.indices {
            let recording = recordXML(.whole(Array(document[..<length])))
            #expect(recording.failure?.code == (length == 0 ? "xml_empty_body" : "xml_unexpected_end"), "\(length)")
            #expect(recording.failure?.offset == length)
            #expect(recording.events == [])
        }
    }

    @Test func `every fault has a stable code of its own, and a sentence`() {
        for fault in XML.Fault.allCases {
            #expect(fault.code.hasPrefix("xml_") || fault.code.hasPrefix("limit_xml_"))
            #expect(!fault.reason.isEmpty && !fault.reason.hasSuffix("."))
        }
        #expect(Set(XML.Fault.allCases.map(\.reason)).count == XML.Fault.allCases.count)
    }
}
