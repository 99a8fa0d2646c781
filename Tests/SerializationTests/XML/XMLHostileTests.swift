import CXMLMemory
import Foundation
import Octets
import Serialization
import TestSupport
import Testing

@Suite struct XMLHostileTests {
    /// Counters stand before libxml2's allocator from here on, and what it takes once is taken.
    private static let counting: Bool = {
        recast_xml_count_memory()
        for vector in XMLDictVector.all { _ = recordXML(.whole(Array(vector.xml.utf8))) }
        return true
    }()

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

    @Test func `tokens longer than libxml2's own limits are refused by ours`() {
        let limits = Limits.with { ($0.tree, $0.field) = (64 << 20, 64 << 20) }
        let long = String(repeating: "x", count: 8 << 20)
        for xml in ["<a x='\(long)'/>", "<!--\(long)--><a/>", "<\(long)/>"] {
            let failure = recordXML(.whole(Array(xml.utf8)), limits: limits).failure
            #expect(failure?.code == "limit_tree")
            #expect(failure?.kind == .limit)
        }
        #expect(recordXML(.whole(Array("<a>\(long)</a>".utf8)), limits: limits).failure == nil)
        // A name's limit in libxml2 is 50,000 bytes, and ours is looked at behind it.
        let name = String(repeating: "n", count: 60_000)
        #expect(jsonFromXML("<\(name)/>", limits: limits).hasPrefix("!limit_xml_parser"))
    }

    @Test(arguments: XMLDictVector.all)
    func `a parser gives back all memory wherever it stops`(vector: XMLDictVector) {
        #expect(Self.counting)
        let bytes = Array(vector.xml.utf8)
        let before = recast_xml_blocks()
        for convention in XML.Convention.allCases {
            let options = XML.DecodingOptions.with { $0.convention = convention }
            for length in 0...bytes.count {
                let taken = recast_xml_blocks_taken()
                var decoder = XML.Decoder(options: options, limits: Limits())
                var recorder = EventRecorder()
                do throws(ConversionError) {
                    _ = try decoder.feed(bytes.span.extracting(0..<length), into: &recorder)
                    try decoder.finish(into: &recorder)
                } catch {
                    // Before the decoder itself goes.
                    #expect(recast_xml_blocks() == before)
                }
                decoder.reset()
                #expect(recast_xml_blocks() == before)
                #expect(length < 4 || recast_xml_blocks_taken() > taken || !vector.xml.hasPrefix("<"))
            }
        }
    }

    @Test func `a decoder that is dropped in the middle gives back all memory`() {
        #expect(Self.counting)
        let before = recast_xml_blocks()
        let document = Array(("<a>" + String(repeating: "<b x='1'>t</b>", count: 2000)).utf8)
        for length in [0, 4095, 4096, 5000, document.count] {
            do {
                var decoder = XML.Decoder(limits: Limits())
                var recorder = EventRecorder()
                #expect((try? decoder.feed(document.span.extracting(0..<length), into: &recorder)) == length)
                #expect((recast_xml_blocks() > before) == (length >= 4096))
            }
            #expect(recast_xml_blocks() == before)
        }
        for error in ["<", "&x;", "\u{1}", "</b>", "]]>", "<!DOCTYPE", "<c x='1' x='1'/>", "x", "&#0;"] {
            var decoder = XML.Decoder(limits: Limits())
            var recorder = EventRecorder()
            let bytes = document + Array(error.utf8) + [UInt8](repeating: UInt8(ascii: "\n"), count: 5000)
            var failed = false
            do { _ = try decoder.feed(bytes.span, into: &recorder) } catch { failed = true }
            #expect(failed || error == "<")
            #expect((recast_xml_blocks() > before) == (error == "<"), "\(error)")
        }
        #expect(recast_xml_blocks() == before)
    }

    @Test func `without memory for a parser there is an error`() {
        #expect(Self.counting)
        let before = recast_xml_blocks()
        recast_xml_fail_after(0)
        let result = jsonFromXML("<a/>")
        recast_xml_fail_after(-1)
        #expect(result == "!limit_xml_memory -1")
        #expect(recast_xml_blocks() == before)
    }

    @Test(arguments: 0..<60)
    func `a mutated document gives the same events or the same typed error however it is cut`(seed: Int) {
        var generator = XMLGenerator(state: UInt64(seed))
        let sources = XMLDictVector.all.map(\.xml)
        let interesting =
            Array("<>/&;'\"=!?-[]:# \nx1\u{0}\u{7f}".utf8) + [0xC3, 0xA9, 0xED, 0xA0, 0xF0, 0x80, 0xFF, 0xFE]
        var bytes = Array((generator.pick(sources) + generator.pick(sources)).utf8)
        for _ in 0..<30 {
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
