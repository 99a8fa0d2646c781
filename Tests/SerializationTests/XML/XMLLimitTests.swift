import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

@Suite struct XMLLimitTests {
    private func repeated(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }

    /// The error's code and setting, or nil.
    private func failure(
        _ xml: String, _ options: XML.DecodingOptions = .init(), _ limits: Limits = Limits()
    ) -> ConversionError? {
        let recording = recordXML(.whole(Array(xml.utf8)), options, limits: limits)
        #expect(recordXML(.every(5, of: Array(xml.utf8)), options, limits: limits) == recording)
        #expect(recording.failure == nil || recording.events == [])
        return recording.failure
    }

    @Test(arguments: [1, 2, 7, 128]) func `the limit of the depth counts open elements`(limit: Int) {
        for (depth, isFine) in [(limit - 1, true), (limit, true), (limit + 1, false)] where depth > 0 {
            let error = failure(repeated("<a>", depth) + repeated("</a>", depth), .init(), .with { $0.depth = limit })
            #expect(error?.code == (isFine ? nil : "limit_depth"))
            #expect(error?.setting == (isFine ? nil : "limits.depth"))
            #expect(error?.kind == (isFine ? nil : .limit))
            #expect(error?.offset == (isFine ? nil : depth * 3 - 1))
        }
        let options = XML.DecodingOptions.with { $0.convention = .lossless }
        for (depth, isFine) in [(limit - 1, true), (limit, true), (limit + 1, false)] where depth > 0 {
            let xml =
                "<array xmlns='http://www.w3.org/2005/xpath-functions'>" + repeated("<array>", depth - 1)
                + repeated("</array>", depth)
            let error = failure(xml, options, .with { $0.depth = limit })
            #expect(error?.code == (isFine ? nil : "limit_depth"))
        }
    }

    @Test(arguments: [0, 1, 5, 64]) func `the limit of attributes counts declarations of namespaces`(limit: Int) {
        for (count, isFine) in [(limit - 1, true), (limit, true), (limit + 1, false)] where count >= 0 {
            let attributes = (0..<count).map { $0 % 2 == 0 ? " a\($0)='='" : " xmlns:a\($0) = \"=\"" }.joined()
            for xml in ["<r\(attributes)/>", "<r><s\(attributes)></s></r>"] {
                let error = failure(xml, .with { $0.attributeLimit = limit })
                #expect(error?.code == (isFine ? nil : "limit_xml_attributes"))
                #expect(error?.kind == (isFine ? nil : .limit))
            }
        }
        #expect(XML.DecodingOptions().attributeLimit == 64)
    }

    @Test(arguments: [0, 1, 5, 1000])
    func `the limit of instructions counts those in and around the root element, not the declaration`(limit: Int) {
        for (count, isFine) in [(limit - 1, true), (limit, true), (limit + 1, false)] where count >= 0 {
            let before = (0..<count / 2).map { "<?p\($0)?>" }.joined()
            let inside = (count / 2..<count).map { "<?q\($0) x?>" }.joined()
            for xml in [
                "<?xml version='1.0'?>\(before)<a>\(inside)</a>", "<a/>\(before)\(inside)",
            ] {
                let error = failure(xml, .with { $0.instructionLimit = limit })
                #expect(error?.code == (isFine ? nil : "limit_xml_instructions"))
                #expect(error?.kind == (isFine ? nil : .limit))
            }
        }
        #expect(XML.DecodingOptions().instructionLimit == 1000)
    }

    @Test func `namespaces that are declared at a time count against the tree, where the tree doesn't have them`() {
        let options = XML.DecodingOptions.with { $0.namespaces = .strip }
        // A prefix and a namespace with a byte each, and what a table has for them.
        let cost = 2 + 128
        for (limit, isFine) in [(3 * cost - 1, false), (3 * cost, true), (3 * cost + 1, true)] {
            let open = (0..<3).map { "<a xmlns:p='\($0)'>" }.joined()
            let error = failure(open + repeated("</a>", 3), options, .with { $0.tree = max(limit, 3 * cost - 1) })
            #expect(error?.code == (isFine ? nil : "limit_tree"))
            // What has ended doesn't count.
            let ended = "<a>" + (0..<3).map { "<b xmlns:p='\($0)'/>" }.joined() + "</a>"
            #expect(failure(ended, options, .with { $0.tree = limit + 1000 }) == nil)
        }
    }

    @Test func `a name goes out up to the length at which it is read`() {
        for (length, isFine) in [(255, true), (256, true), (257, false)] {
            let name = repeated("n", length)
            for json in ["{\"\(name)\":1}", "{\"a\":{\"@\(name)\":\"1\"}}", "{\"a\":{\"\(name)\":[[1],2]}}"] {
                let xml = xmlFromJSON(json)
                #expect(xml.hasPrefix("!limit_xml_name") == !isFine, "\(length)")
                if isFine { #expect(!jsonFromXML(xml).hasPrefix("!")) }
            }
            // Where other names become an attribute, a long one does too.
            let item = xmlFromJSON("{\"a\":{\"\(name)\":1}}", .with { $0.names = .item })
            #expect(item == (isFine ? "<a><\(name)>1</\(name)></a>" : "<a><item key=\"\(name)\">1</item></a>"))
            #expect(!jsonFromXML(item).hasPrefix("!"))
            let root = xmlFromJSON("[1]", .with { $0.rootName = name })
            #expect(root.hasPrefix("!limit_xml_name") == !isFine)
        }
        #expect(xmlFromJSON("{\"abc\":1}", .with { $0.nameLimit = 2 }) == "!limit_xml_name /abc")
        #expect(XML.EncodingOptions().nameLimit == XML.DecodingOptions().nameLimit)
    }

    @Test(arguments: [1, 4, 256]) func `the limit of names holds for elements and attributes`(limit: Int) {
        for (length, isFine) in [(limit - 1, true), (limit, true), (limit + 1, false)] where length > 0 {
            let name = repeated("n", length)
            for xml in ["<\(name)/>", "<a \(name)=''/>"] {
                let byOption = failure(xml, .with { $0.nameLimit = limit })
                #expect(byOption?.code == (isFine ? nil : "limit_xml_name"))
                #expect(byOption?.kind == (isFine ? nil : .limit))
                let byKey = failure(xml, .init(), .with { $0.key = limit })
                #expect(byKey?.code == (isFine ? nil : "limit_key"))
            }
        }
        #expect(XML.DecodingOptions().nameLimit == 256)
    }

    @Test(arguments: [1, 4, 4096, 64 * 1024]) func `the limit of a field holds for text and attributes`(limit: Int) {
        for (length, isFine) in [(limit - 1, true), (limit, true), (limit + 1, false)] where length > 0 {
            let value = repeated("v", length)
            for xml in [
                "<a>\(value)</a>", "<a x='\(value)'/>", "<a><![CDATA[\(value)]]></a>",
                "<a>v<!-- -->\(value.dropFirst())</a>",
            ] {
                let error = failure(xml, .init(), .with { $0.field = limit })
                #expect(error?.code == (isFine ? nil : "limit_field"))
                #expect(error?.setting == (isFine ? nil : "limits.field"))
            }
            let string = "<string xmlns='http://www.w3.org/2005/xpath-functions'>\(value)</string>"
            let error = failure(string, .with { $0.convention = .lossless }, .with { $0.field = limit })
            #expect(error?.code == (isFine ? nil : "limit_field"))
        }
        #expect(Limits().field == 64 * 1024)
    }

    @Test func `the limit of a key and of a number hold for the lossless vocabulary`() {
        let options = XML.DecodingOptions.with { $0.convention = .lossless }
        for (length, isFine) in [(9, true), (10, true), (11, false)] {
            let map =
                "<map xmlns='http://www.w3.org/2005/xpath-functions'><null key='\(repeated("k", length))'/></map>"
            #expect(failure(map, options, .with { $0.key = 10 })?.code == (isFine ? nil : "limit_key"))
            let number = "<number xmlns='http://www.w3.org/2005/xpath-functions'>\(repeated("1", length))</number>"
            #expect(failure(number, options, .with { $0.number = 10 })?.code == (isFine ? nil : "limit_number"))
        }
    }

    @Test func `a number beyond its limit stays a string where numbers are recognized`() {
        let limits = Limits.with { $0.number = 3 }
        #expect(jsonFromXML("<a>123</a>", .with { $0.recognize = .numbers }, limits: limits) == #"{"a":123}"#)
        #expect(jsonFromXML("<a>1234</a>", .with { $0.recognize = .numbers }, limits: limits) == #"{"a":"1234"}"#)
    }

    @Test func `the limit of the tree counts what the document becomes`() {
        // The document's object, the root element's and one string below: three nodes, two names and the text.
        let cost = 3 * Tree.nodeCost + 2 + 100
        for (limit, isFine) in [(cost - 1, false), (cost, true), (cost + 1, true)] {
            let error = failure("<a><b>\(repeated("v", 100))</b></a>", .init(), .with { $0.tree = limit })
            #expect(error?.code == (isFine ? nil : "limit_tree"))
            #expect(error?.setting == (isFine ? nil : "limits.tree"))
        }
        #expect(failure("<a>" + repeated("<b/>", 30_000) + "</a>")?.code == "limit_tree")
        #expect(failure("<a>" + repeated("<b/>", 20_000) + "</a>") == nil)
    }

    @Test func `the limit of the tree holds for one tag, comment, instruction and CDATA section in its bytes`() {
        for (start, end) in [("<!--", "--><a/>"), ("<?p ", "?><a/>"), ("<a><!--", "--></a>"), ("<a ", "/>")] {
            let token = 10_000
            let tail = end == "/>" ? 2 : end.hasPrefix("?>") ? 2 : 3
            let head = start.hasPrefix("<a>") ? start.utf8.count - 3 : start.utf8.count
            for (length, isFine) in [(token - 1, true), (token, true), (token + 1, false)] {
                let xml = start + repeated(" ", length - head - tail) + end
                let error = failure(xml, .init(), .with { $0.tree = token })
                #expect(error?.code == (isFine ? nil : "limit_tree"), "\(start)\(length)")
            }
        }
        // What never ends isn't held either.
        for start in ["<!--", "<?p ", "<a ", "<a x='", "<a><![CDATA["] {
            var decoder = XML.Decoder(limits: .with { $0.tree = 10_000 })
            var recorder = EventRecorder()
            let filler = [UInt8](repeating: UInt8(ascii: " "), count: 1000)
            #expect(throws: ConversionError.self) {
                _ = try decoder.feed(Array(start.utf8).span, into: &recorder)
                for _ in 0..<20 { _ = try decoder.feed(filler.span, into: &recorder) }
            }
        }
    }

    @Test func `text of many elements that is held counts against the tree`() {
        let text = repeated("v", 1000)
        let xml = repeated("<a>\(text)", 50) + repeated("</a>", 50)
        let options = XML.DecodingOptions.with { $0.mixed = .join }
        #expect(failure(xml, options, .with { $0.tree = 40_000 })?.code == "limit_tree")
        #expect(failure(xml, options) == nil)
    }

    @Test func `an encoder holds the first member up to the limit of the tree`() {
        let value = repeated("v", 1000)
        let cost = Tree.nodeCost + 1000
        for (limit, isFine) in [(cost - 1, false), (cost, true), (cost + 1, true)] {
            let limits = Limits.with { $0.tree = limit }
            let json = "{\"a\":\"\(value)\"}"
            #expect(xmlFromJSON(json, limits: limits) == (isFine ? "<a>\(value)</a>" : "!limit_tree"))
            #expect(
                xmlFromJSON(json, .with { $0.root = .wrap }, limits: limits) == "<root><a>\(value)</a></root>")
        }
    }
}
