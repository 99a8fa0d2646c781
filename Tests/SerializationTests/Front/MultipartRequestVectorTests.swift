import HTTPTypes
import Serialization
import Testing
import Transcoding

/// The multipart rows of `afn-vectors.json`.
@Suite("Multipart request vectors")
struct MultipartRequestVectorTests {
    /// Rows that are not followed, each with the reason.
    static let notFollowed = [
        "afn-m-009": "a quote in a filename is %22, as WHATWG has it: a bare one ends the filename early",
        "afn-m-010": "a line break in a name is %0D%0A: a bare one begins a header field of the name's own",
        "afn-m-016": "an empty body has its Content-Length too, which AFNetworking leaves to NSURLSession",
        "afn-m-022":
            "a stream of another length than announced is an error: the request would be cut off or run into the next",
        "afn-m-023": "text is UTF-8, and no part is dropped because an encoding can't express it",
    ]

    private static let all = AFNetworkingVector.rows(["afn-m", "alf-m"])
    static let followed = all.filter { notFollowed[$0.id] == nil }

    private func append(_ part: Value, to form: inout MultipartFormData) throws {
        let name = part["name"]?.string ?? ""
        let body = Array((part["body"]?.string ?? "").utf8)
        let mimeType = part["mime"]?.string
        switch part["kind"]?.string {
        case "file" where part["url"] != nil: try form.append(fileURL: part["url"]!.string!, name: name)
        case "file": try form.append(fileAt: part["path"]!.string!, name: name)
        case "stream":
            let bytes = Array(part["actual"]!.string!.utf8)
            try form.append(
                .restartable {
                    var rest = bytes[...]
                    return { count in
                        defer { rest = rest.dropFirst(count) }
                        return Array(rest.prefix(count))
                    }
                }, length: part["declared_length"]!.int!, name: name, fileName: part["filename"]?.string,
                mimeType: mimeType!)
        default:
            if let length = part["body_length"]?.int {
                try form.append([UInt8](repeating: 0, count: length), name: "x")
            } else if let mimeType {
                try form.append(body, name: name, fileName: part["filename"]?.string, mimeType: mimeType)
            } else {
                try form.append(body, name: name)
            }
        }
    }

    /// What differs from the row, nothing where the request is as it says.
    private func difference(_ vector: AFNetworkingVector) -> String? {
        let expect = vector.expect
        if vector.options["function"]?.string == "mime_for_extension" {
            let type = MediaTypeTable.mediaType(forExtension: vector.rawInput.string!)
            return type == expect["mime"]?.string ? nil : type
        }
        do {
            let dialect = vector.row["source"]?.string == "Alamofire" ? Dialect.alamofire : .afnetworking
            let isJSON = vector.options["serializer"]?.string == "json"
            let serializer: any RequestSerializer =
                isJSON ? JSONRequestSerializer(dialect: dialect) : HTTPRequestSerializer(dialect: dialect)
            let request = try serializer.multipartRequest(
                method: HTTPRequest.Method(vector.options["method"]?.string ?? "POST")!, url: "http://example.com",
                parameters: vector.rawInput["parameters"].flatMap(AFNetworkingVector.value),
                boundary: vector.options["boundary"]?.string
            ) { form in
                for part in vector.rawInput["parts"]?.array ?? [] { try append(part, to: &form) }
            }
            if let stored = expect["stored"]?.string {
                return (request.multipart!.isSmall() ? "memory" : "disk") == stored ? nil : "elsewhere"
            }
            if vector.options["call"]?.string == "encode twice on the same object" { return nil }
            if expect["error"] != nil { return "no error" }
            let body = try request.multipart?.encode() ?? request.bodyBytes
            if let text = expect["body"], body?.text != text.string { return body?.text ?? "no body" }
            if let hex = expect["body_hex"]?.string, body != [UInt8](hex: hex) { return "other bytes" }
            for field in expect["headers"]?.object ?? [:] {
                let value = request.head.headerFields[HTTPField.Name(field.key)!]
                if value != field.value.string { return "\(field.key): \(value ?? "none")" }
            }
            if let body, request.contentLength != body.count { return "length \(request.contentLength ?? -1)" }
            return nil
        } catch let error as SerializationError {
            guard let expected = expect["error"] else { return "\(error)" }
            if expected["assertion"] != nil { return error.kind == .multipartMethod ? nil : "\(error)" }
            if expected["type"]?.string == "bodyPartFileIsDirectory" {
                return error.kind == .notRegularFile ? nil : "\(error)"
            }
            guard error.domain == expected["domain"]?.string, error.code == expected["code"]?.int,
                error.reason == expected["reason"]?.string
            else { return "\(error.domain) \(error.code) \(error.reason)" }
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test("A multipart request is the one that AFNetworking and Alamofire make", arguments: followed.map(\.id))
    func request(id: String) {
        #expect(difference(Self.followed.first { $0.id == id }!) == nil)
    }

    @Test("Rows that are not followed do differ")
    func listedRowsDiffer() {
        for id in Self.notFollowed.keys {
            #expect(difference(Self.all.first { $0.id == id }!) != nil, "\(id)")
        }
    }

    /// `alf-m-005`.
    @Test("A form whose stream has been read is not encoded a second time")
    func encodesOnce() throws {
        var form = MultipartFormData(dialect: .alamofire)
        let left = ByteQueue("Lorem ipsum dolor sit amet.")
        try form.append(.once { left.take($0) }, length: 27, name: "data", fileName: nil, mimeType: "")
        let body = try form.encode()
        #expect(body.count == form.contentLength)
        let error = #expect(throws: SerializationError.self) { try form.encode() }
        #expect(error?.kind == .streamConsumed)
    }

    @Test("Every row is run or listed")
    func counts() {
        #expect(Self.all.count == 23)
        #expect(Self.followed.count == Self.all.count - Self.notFollowed.count)
    }
}
