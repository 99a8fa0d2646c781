import Foundation
import Serialization
import TestSupport
import Testing
import Transcoding

/// The rows of `Tests/Vectors/plist-vectors.json` that a codec can run: what AFNetworking's property list serializers send and
/// read. Rows about their placement in a request, and about bodies that are absent, belong to the request and response front.
@Suite struct PropertyListVectorTests {
    struct Row: @unchecked Sendable, CustomTestStringConvertible {
        let id: String
        let options: [String: Any]
        let input: Any
        let expect: [String: Any]
        var testDescription: String { id }
    }

    static let rows: [Row] = {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let file = folder.appending(path: "Vectors/plist-vectors.json")
        do {
            let whole = try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: [[String: Any]]]
            return (whole?["vectors"] ?? []).map { row in
                Row(
                    id: row["id"] as? String ?? "", options: row["options"] as? [String: Any] ?? [:],
                    input: row["input"] ?? NSNull(), expect: row["expect"] as? [String: Any] ?? [:])
            }
        } catch {
            fatalError("the vectors \(file.path) can't be read: \(error)")
        }
    }()

    @Test func `the vectors are there`() { #expect(Self.rows.count == 9) }

    @Test(arguments: rows.filter { $0.id.hasPrefix("afn-p-") })
    func `a property list is sent byte by byte as AFNetworking sends it`(_ row: Row) throws {
        let json = try JSONSerialization.data(withJSONObject: row.input, options: [.fragmentsAllowed])
        let format = (row.options["format"] as? String).flatMap(PropertyList.Format.init) ?? .xml
        func encoded() throws(ConversionError) -> [UInt8] {
            try encodePlist(json: String(decoding: json, as: UTF8.self), .init(format))
        }
        if row.expect["error"] != nil {
            #expect(throws: ConversionError.self) { try encoded() }
        } else if let body = row.expect["body"] as? String {
            #expect(try encoded() == Array(body.utf8))
        } else {
            let body = try #require(row.expect["body_hex"] as? String)
            #expect(try encoded() == hexBytes(body))
        }
    }

    /// Foundation reads old text property lists, and any bare word as one; no route wants that of its clients.
    static let oldTextFormat: Set<String> = ["afn-r-039", "afn-r-040"]

    @Test(arguments: rows.filter { $0.id.hasPrefix("afn-r-") })
    func `a response is read as AFNetworking reads it, but for the old text format`(_ row: Row) throws {
        let input = try #require(row.input as? [String: Any])
        let body = try #require(input["body"] as? String)
        let recording = recordPlist(Array(body.utf8))
        if Self.oldTextFormat.contains(row.id) {
            #expect(recording.failure?.code == "plist_unknown_format")
        } else if let object = row.expect["object"], !(object is NSNull) {
            let json = Data(try jsonText(Array(body.utf8)).utf8)
            let read = try JSONSerialization.jsonObject(with: json, options: [.fragmentsAllowed])
            #expect(read as? NSObject == object as? NSObject)
        } else {
            #expect(recording.failure != nil)
        }
    }
}
