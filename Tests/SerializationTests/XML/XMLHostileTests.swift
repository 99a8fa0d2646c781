import Foundation
import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

@Suite struct XMLHostileTests {
    @Test func `a billion laughs are refused at the first byte of their declaration`() {
        var xml = "<?xml version=\"1.0\"?>\n<!DOCTYPE lolz [<!ENTITY lol \"lol\">"
        for index in 1...9 {
            xml += "<!ENTITY lol\(index) \"" + String(repeating: "&lol\(index - 1);", count: 10) + "\">"
        }
        xml += "]><lolz>&lol9;</lolz>"
        #expect(jsonFromXML(xml) == "!xml_doctype 22")
    }

    @Test func `no file that a document names is opened`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "recast-xml-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        // Opening a pipe that nobody writes to would never return.
        let pipe = folder.appending(path: "pipe")
        // SAFETY: the path is a string for the length of the call.
        let made = unsafe mkfifo(pipe.path, 0o600)
        #expect(made == 0)
        let secret = folder.appending(path: "secret")
        try Data("secret".utf8).write(to: secret)
        for file in [pipe, secret] {
            let url = file.absoluteString
            for xml in [
                "<!DOCTYPE a [<!ENTITY x SYSTEM \"\(url)\">]><a>&x;</a>",
                "<!DOCTYPE a [<!ENTITY % x SYSTEM \"\(url)\"> %x;]><a/>",
                "<!DOCTYPE a SYSTEM \"\(url)\"><a/>",
                "<!DOCTYPE a PUBLIC \"-//x//y\" \"\(url)\"><a>&x;</a>",
            ] {
                #expect(jsonFromXML(xml) == "!xml_doctype 0")
            }
            // These name it, and have nothing that would be fetched.
            #expect(jsonFromXML("<?xml-stylesheet href=\"\(url)\"?><a/>") == #"{"a":null}"#)
            #expect(jsonFromXML("<?oasis-xml-catalog catalog=\"\(url)\"?><a/>") == #"{"a":null}"#)
            let include = "<a xmlns:xi=\"http://www.w3.org/2001/XInclude\"><xi:include href=\"\(url)\"/></a>"
            #expect(
                jsonFromXML(include, .with { $0.namespaces = .strip }) == "{\"a\":{\"include\":{\"@href\":\"\(url)\"}}}"
            )
            let schema = "<a xsi:noNamespaceSchemaLocation=\"\(url)\"/>"
            #expect(jsonFromXML(schema) == "{\"a\":{\"@xsi:noNamespaceSchemaLocation\":\"\(url)\"}}")
        }
    }

    @Test func `work is linear in a tag's attributes, in a comment and in a reference that doesn't end`() {
        // Where work is quadratic, these take many times as long as all other tests together.
        let many = "<a" + (0..<100_000).map { " a\($0)=''" }.joined()
        #expect(jsonFromXML(many).hasPrefix("!limit_xml_attributes"))
        let limits = Limits.with { ($0.tree, $0.field, $0.body) = (8 << 20, 8 << 20, 64 << 20) }
        let long = String(repeating: "- ", count: 1 << 20)
        for xml in ["<!--\(long)--><a/>", "<?p \(long)?><a/>"] {
            #expect(jsonFromXML(xml, limits: limits) == #"{"a":null}"#)
        }
        for xml in ["<a><![CDATA[\(long)]]></a>", "<a x='\(long)'/>", "<a>\(long)</a>"] {
            #expect(recordXML(.whole(Array(xml.utf8)), limits: limits).failure == nil)
        }
        #expect(jsonFromXML("<a>&" + long, limits: limits) == "!xml_entity 3")
        #expect(jsonFromXML("<a>&" + String(repeating: "x", count: 2 << 20), limits: limits) == "!xml_entity 3")
        let comments = "<a>" + String(repeating: "<!---->", count: 100_000) + "</a>"
        #expect(jsonFromXML(comments) == #"{"a":null}"#)
        let references = "<a>" + String(repeating: "&lt;", count: 60_000) + "</a>"
        #expect(jsonFromXML(references, limits: limits).utf8.count == 60_000 + 8)
    }

    @Test func `members of one object are found in constant time`() {
        let limits = Limits.with { $0.tree = 16 << 20 }
        let xml = "<a>" + (0..<20_000).map { "<n\($0)/><n\($0)/>" }.joined() + "</a>"
        let json = "{\"a\":{" + (0..<20_000).map { "\"n\($0)\":[null,null]" }.joined(separator: ",") + "}}"
        #expect(jsonFromXML(xml, limits: limits) == json)
    }

    @Test func `names, instructions and prefixes that are all different cost no more than others`() {
        // What counts the work is scripts/linear; where it were quadratic, these would take minutes.
        let limits = Limits.with { ($0.tree, $0.field) = (64 << 20, 64 << 20) }
        let options = XML.DecodingOptions.with {
            ($0.instructionLimit, $0.attributeLimit, $0.namespaces) = (1 << 20, 1 << 20, .strip)
        }
        let count = 50_000
        let bodies = [
            (0..<count).map { "<?p\($0)?>" }.joined(),
            (0..<count).map { "<n\($0)/>" }.joined(),
            (0..<count).map { "<b xmlns:p\($0)='u\($0)' p\($0):x='1'/>" }.joined(),
            "<b " + (0..<count).map { " xmlns:p\($0)='u\($0)'" }.joined() + "/>",
            "<b " + (0..<count).map { " xmlns:p\($0)='u\($0)'" }.joined() + ">"
                + (0..<count).map { "<c p\($0):x='' q:x=''/>" }.joined() + "</b>",
            "<b " + (0..<count).map { " p\($0):x=''" }.joined() + "/>",
        ]
        for (index, body) in bodies.enumerated() {
            let code = recordXML(.whole(Array("<a>\(body)</a>".utf8)), options, limits: limits).failure?.code
            // Without their prefixes some attributes of one element have one name.
            #expect(code == (index >= 4 ? "xml_conflict" : nil))
        }
    }

    @Test func `one tag, comment and text may be as long as the tree`() {
        let long = String(repeating: "x", count: 12 << 20)
        let limits = Limits.with { ($0.tree, $0.field, $0.key) = (64 << 20, 64 << 20, 64 << 20) }
        let options = XML.DecodingOptions.with { $0.nameLimit = 64 << 20 }
        for xml in ["<a x='\(long)'/>", "<!--\(long)--><a/>", "<\(long)/>", "<a>\(long)</a>"] {
            #expect(recordXML(.whole(Array(xml.utf8)), options, limits: limits).failure == nil)
        }
    }

    @Test(arguments: 0..<60)
    func `a mutated document gives the same events or the same typed error however it is cut`(seed: Int) {
        var generator = XMLGenerator(state: UInt64(seed))
        let sources = XMLDictVector.all.map(\.xml)
        let interesting =
            Array("<>/&;'\"=!?-[]:# \nx1\u{0}\u{7f}".utf8) + [0xC3, 0xA9, 0xED, 0xA0, 0xF0, 0x80, 0xFF, 0xFE]
        var bytes = Array((generator.pick(sources) + generator.pick(sources)).utf8)
        for _ in 0..<tries(30) {
            switch generator.below(4) {
            case 0: bytes.insert(generator.pick(interesting), at: generator.below(bytes.count + 1))
            case 1 where !bytes.isEmpty: bytes[generator.below(bytes.count)] = generator.pick(interesting)
            case 2: bytes += Array(generator.pick(sources).utf8).prefix(20)
            default: if !bytes.isEmpty { bytes.remove(at: generator.below(bytes.count)) }
            }
            for convention in XML.Convention.allCases {
                let options = XML.DecodingOptions.with { ($0.convention, $0.mixed) = (convention, .join) }
                let whole = recordXML(.whole(bytes), options)
                #expect(whole.violations == [])
                #expect(whole.failure == nil || whole.events == [])
                for cut in [Cut.every(1, of: bytes), .every(9, of: bytes)] {
                    #expect(recordXML(cut, options) == whole, "\(ByteString(bytes)) \(cut)")
                }
            }
        }
    }
}
