import Foundation
import Serialization
import TestSupport
import Testing
import Transcoding

/// A row of `Tests/Vectors/xml/well-formedness.json`: a production or constraint of XML 1.0 (fifth edition) or of Namespaces in
/// XML 1.0 (third edition), named by its section, with documents that keep it and such that don't.
struct XMLProduction: Decodable, Sendable, CustomTestStringConvertible {
    var section: String
    var rule: String
    var fine: [String]
    var refused: [String]

    var testDescription: String { "\(section) \(rule)" }

    static let all: [XMLProduction] = XMLDictVector.read("well-formedness")
}

@Suite struct XMLWellFormedTests {
    @Test(arguments: XMLProduction.all)
    func `what the grammar has is taken, and what it hasn't is refused`(production: XMLProduction) {
        let options = XML.DecodingOptions.with { ($0.mixed, $0.empty) = (.join, .string) }
        for xml in production.fine {
            let bytes = Array(xml.utf8)
            let whole = recordXML(.whole(bytes), options)
            #expect(whole.failure == nil, "\(xml)")
            for cut in [Cut.every(1, of: bytes), .every(2, of: bytes), .every(5, of: bytes)] {
                #expect(recordXML(cut, options) == whole, "\(xml)")
            }
        }
        for xml in production.refused {
            let result = jsonFromXML(xml, options)
            #expect(result.hasPrefix("!xml_"), "\(xml) became \(result)")
        }
        #expect(!production.fine.isEmpty && !production.refused.isEmpty)
    }

    private static let expat: [XMLDictVector] = XMLDictVector.read("expat")

    @Test func `a mutated document is what expat makes of it, or refused where expat refuses it`() {
        for vector in Self.expat {
            let result = jsonFromXML(vector.xml, .with { $0.mixed = .join })
            if let json = vector.json {
                #expect(result == json, "\(vector.xml)")
            } else {
                #expect(result.hasPrefix("!xml_"), "\(vector.xml): \(vector.error ?? "")")
            }
        }
        #expect(Self.expat.count == 1400)
    }
}
