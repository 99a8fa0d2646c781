import Foundation
import Serialization
import TestSupport
import Testing

/// Foundation's PropertyListSerialization as a second opinion.
@Suite struct PropertyListFoundationTests {
    @Test func `a small document is written as Foundation writes it, in both formats`() throws {
        let document: [String: Any] = [
            "list": ["a", 1, 2.5, true, Data([1, 2, 3]), Date(timeIntervalSinceReferenceDate: 86400), [] as [Any]]
        ]
        let xml = try PropertyListSerialization.data(fromPropertyList: document, format: .xml, options: 0)
        let ours = try reencodePlist([UInt8](xml))
        #expect(String(decoding: ours, as: UTF8.self) == String(decoding: xml, as: UTF8.self))
        let binary = try PropertyListSerialization.data(fromPropertyList: document, format: .binary, options: 0)
        #expect(try reencodePlist([UInt8](xml), .init(.binary)) == [UInt8](binary))
        #expect(try reencodePlist([UInt8](binary)) == ours)
        #expect(try jsonText([UInt8](binary)) == "{\"list\":[\"a\",1,2.5,true,\"AQID\",\"2001-01-02T00:00:00Z\",[]]}")
    }
}
