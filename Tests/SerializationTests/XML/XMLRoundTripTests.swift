import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// Documents that nobody wrote down, from fixed seeds.
@Suite struct XMLRoundTripTests {
    private static let names = ["a", "b", "c", "xml:e", "_f", "é", "long-name.1"]
    private static let texts = [
        "", " ", "x", "<&>\"'", "\t\n\r", " two words ", "漢字😀", "]]>", "0", "true", "null", "&amp;", "\u{7F}\u{85}",
    ]

    private func quoted(_ text: String) -> String {
        var encoder = JSON.Encoder(options: .init())
        encoder.string(Array(text.utf8).span, isLast: true)
        return String(decoding: encoder.output.span.copied(), as: UTF8.self)
    }

    /// Any JSON.
    private func anyJSON(_ depth: Int, _ generator: inout XMLGenerator) -> String {
        let count = generator.below(4)
        switch depth == 0 ? 2 + generator.below(5) : generator.below(7) {
        case 0: return "[" + (0..<count).map { _ in anyJSON(depth - 1, &generator) }.joined(separator: ",") + "]"
        case 1:
            let members = (0..<count).map { index in
                quoted("\(index)" + generator.pick(Self.texts)) + ":" + anyJSON(depth - 1, &generator)
            }
            return "{" + members.joined(separator: ",") + "}"
        case 2: return generator.pick(["0", "-1.50e+3", "9007199254740993", "1E400"])
        case 3: return generator.pick(["true", "false"])
        case 4: return "null"
        default: return quoted(generator.pick(Self.texts))
        }
    }

    @Test(arguments: 0..<200)
    func `any JSON comes back the same from the lossless vocabulary`(seed: Int) {
        var generator = XMLGenerator(state: UInt64(seed))
        let json = anyJSON(5, &generator)
        for indentation in [0, 2] {
            let xml = xmlFromJSON(json, .with { ($0.convention, $0.indentation) = (.lossless, indentation) })
            #expect(jsonFromXML(xml, .with { $0.convention = .lossless }) == json, "\(xml)")
        }
    }

    /// An element's value under the convention of attributes: strings, not empty ones, as leaves; objects that begin
    /// with their attributes and have text or children; arrays of two and more.
    private func element(_ depth: Int, _ generator: inout XMLGenerator) -> String {
        let leaf = quoted(generator.pick(Array(Self.texts.dropFirst())))
        guard depth > 0, generator.below(3) > 0 else { return leaf }
        var members: [String] = []
        let names = Self.names.shuffled(using: &generator)
        for name in names.prefix(generator.below(3)) {
            members.append(quoted("@" + name) + ":" + quoted(generator.pick(Self.texts)))
        }
        if generator.below(3) == 0, !members.isEmpty {
            members.append("\"#text\":" + leaf)
        } else {
            for name in names.prefix(1 + generator.below(4)) {
                if generator.below(3) == 0 {
                    let items = (0..<2 + generator.below(3)).map { _ in element(depth - 1, &generator) }
                    members.append(quoted(name) + ":[" + items.joined(separator: ",") + "]")
                } else {
                    members.append(quoted(name) + ":" + element(depth - 1, &generator))
                }
            }
        }
        return "{" + members.joined(separator: ",") + "}"
    }

    @Test(arguments: 0..<200)
    func `a document of strings comes back the same from elements and attributes`(seed: Int) {
        var generator = XMLGenerator(state: UInt64(seed))
        let json = "{\"doc\":" + element(5, &generator) + "}"
        for indentation in [0, 2] {
            let xml = xmlFromJSON(json, .with { $0.indentation = indentation })
            #expect(jsonFromXML(xml) == json, "\(xml)")
            // And the XML from that is the same again.
            #expect(xmlFromJSON(jsonFromXML(xml), .with { $0.indentation = indentation }) == xml)
        }
    }

    @Test func `arrays of one come back with always_array, types and nulls with recognize`() throws {
        let json = #"{"doc":{"one":["x"],"rows":[{"id":1,"on":true,"tags":["t"],"note":null}]}}"#
        let xml = xmlFromJSON(json, .with { $0.nulls = .nilAttribute })
        var options = XML.DecodingOptions.with { $0.recognize = [.numbers, .booleans, .nulls] }
        options.alwaysArray = try ["doc.one", "doc.rows", "doc.rows.tags"].map { try FieldPath(parsing: $0) }
        #expect(jsonFromXML(xml, options) == json)
    }

    @Test func `a document in a root element of its own comes back without it`() {
        for json in [#"{"a":"1","b":["2","3"]}"#, #""text""#, #"{"@a":"1","b":"2"}"#] {
            let xml = xmlFromJSON(json, .with { ($0.root, $0.rootName) = (.wrap, "r") })
            #expect(jsonFromXML(xml, .with { $0.root = .drop }) == json)
        }
    }

    @Test(arguments: 0..<100)
    func `any JSON becomes XML that reads back, or a typed error`(seed: Int) {
        var generator = XMLGenerator(state: UInt64(seed))
        let json = anyJSON(4, &generator).replacing("\"0", with: generator.pick(["\"n", "\"@n", "\"#text", "\"0"]))
        for names in XML.EncodingOptions.Names.allCases {
            for root in XML.EncodingOptions.Root.allCases {
                let options = XML.EncodingOptions.with {
                    ($0.names, $0.root, $0.empties, $0.mixed) = (names, root, .marker, .join)
                }
                let xml = xmlFromJSON(json, options)
                for size in [1, 4] { #expect(xmlFromJSON(json, options, size: size) == xml) }
                if xml.hasPrefix("!") {
                    // Only bad names, an order that attributes don't have, and what `member` refuses.
                    let special = json.contains("\"@") || json.contains("\"#text")
                    #expect(xml.hasPrefix("!xml_"))
                    #expect(names == .reject || root == .member || special, "\(json): \(xml)")
                } else {
                    let back = jsonFromXML(xml, .with { ($0.mixed, $0.textKey) = (.join, "\u{1}") })
                    #expect(!back.hasPrefix("!"), "\(xml): \(back)")
                }
            }
        }
    }
}
