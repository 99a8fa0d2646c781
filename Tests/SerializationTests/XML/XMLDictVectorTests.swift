import Serialization
import TestSupport
import Testing
import Transcoding

@Suite struct XMLDictVectorTests {
    /// Where this decoder does otherwise than xmltodict, on purpose.
    private static let exceptions: [String: String] = [
        // XML 1.0 §2.8: a version is 1 and a number; expat takes any.
        "<?xml version=\"2.0\"?><a/>": "!xml_syntax 19",
        "<?xml version=\"1.a0\"?><a/>": "!xml_syntax 17",
        // Namespaces in XML 1.0 §4: a name has one colon at most, inside; so for instructions. §2.2: no empty
        // namespace.
        "<a:/>": "!xml_name_syntax 3",
        "<:a/>": "!xml_name_syntax 1",
        "<a:b:c/>": "!xml_name_syntax 4",
        " <?x:ml vesion\n=\"1.0\"?><a/>": "!xml_name_syntax 4",
        "<p:a xmlns:p=\"urn:p\"><p:  p:x=\"1\"/></p:a>": "!xml_name_syntax 24",
        "<a xmlns:p=\"\"/>": "!xml_syntax 13",
        // White space between children isn't text.
        "<a><b>1</b> <c><b>2</b></c><b>3</b></a>": #"{"a":{"b":["1","3"],"c":{"b":"2"}}}"#,
    ]

    @Test(arguments: XMLDictVector.all)
    func `a document is read as xmltodict reads it, and refused where expat refuses it`(vector: XMLDictVector) {
        let result = jsonFromXML(vector.xml, .with { $0.mixed = .join })
        if let exception = Self.exceptions[vector.xml] {
            #expect(result == exception)
        } else if let json = vector.json {
            #expect(result == json)
        } else {
            #expect(result.hasPrefix("!xml_"), "expat: \(vector.error ?? "")")
        }
    }

    @Test(arguments: XMLDictVector.all)
    func `the cut of a vector makes no difference`(vector: XMLDictVector) {
        let bytes = Array(vector.xml.utf8)
        let whole = recordXML(.whole(bytes))
        #expect(whole.violations == [])
        for cut in [Cut.every(1, of: bytes), .every(3, of: bytes), Cut.every(7, of: bytes).withEmptySlices] {
            #expect(recordXML(cut) == whole, "\(cut)")
        }
    }
}
