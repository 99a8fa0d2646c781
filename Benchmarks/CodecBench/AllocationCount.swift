internal import CAllocations
internal import Octets
internal import Serialization
internal import Transcoding
import Transcoding

/// Counts what a pipeline allocates for one body, once it has converted another one.
struct AllocationCount {
    let name: String
    let plan: ConversionPlan
    let type: String
    let body: (_ items: Int) -> [UInt8]

    /// The allocations of the second body of `items` fields, parts or members.
    func allocations(items: Int) -> UInt64 {
        let work = Benchmark.convert(body(items), plan, type: type).1
        _ = work()
        let before = allocations_of_thread()
        _ = work()
        return allocations_of_thread() - before
    }

    static var pipelines: [AllocationCount] {
        [
            AllocationCount(name: "form -> form", plan: plan(.form, .form), type: form, body: formBody),
            AllocationCount(name: "form -> multipart", plan: plan(.form, .multipart), type: form, body: formBody),
            AllocationCount(name: "multipart -> form", plan: plan(.multipart, .form), type: multipart, body: textBody),
            AllocationCount(
                name: "multipart -> multipart", plan: plan(.multipart, .multipart), type: multipart, body: mixedBody),
            AllocationCount(name: "json -> json", plan: plan(.json, .json), type: json, body: jsonBody),
            AllocationCount(name: "json -> form", plan: plan(.json, .form), type: json, body: jsonBody),
            AllocationCount(name: "json -> multipart", plan: plan(.json, .multipart), type: json, body: jsonBody),
        ]
    }

    private static let form = BodyEncoding.form.mediaType
    private static let json = BodyEncoding.json.mediaType
    private static let multipart = "multipart/form-data; boundary=b"

    private static func plan(_ input: BodyEncoding, _ output: BodyEncoding) -> ConversionPlan {
        ConversionPlan(inputs: [input], output: output)
    }

    private static func formBody(_ items: Int) -> [UInt8] {
        var text = ""
        for index in 0..<items { text += "user[\(index)][na%20me]=J%C3%BCrgen+of+the+value+\(index)&" }
        return Array(text.utf8)
    }

    private static func textBody(_ items: Int) -> [UInt8] {
        var text = ""
        for index in 0..<items {
            text += "--b\r\nContent-Disposition: form-data; name=\"user[\(index)]\"\r\n\r\nThe value \(index)\r\n"
        }
        return Array((text + "--b--\r\n").utf8)
    }

    private static func mixedBody(_ items: Int) -> [UInt8] {
        var text = ""
        for index in 0..<items {
            text += "--b\r\nContent-Disposition: form-data; name=\"user[\(index)]\""
            if index % 2 == 0 { text += "; filename=\"file \(index).txt\"\r\nContent-Type: text/plain" }
            text += "\r\n\r\nThe value \(index)\r\n"
        }
        return Array((text + "--b--\r\n").utf8)
    }

    private static func jsonBody(_ items: Int) -> [UInt8] {
        var text = "{\"items\":{"
        for index in 0..<items {
            if index > 0 { text += "," }
            text += "\"m\\u00fc\(index)\":{\"id\":\(index),\"name\":\"J\u{FC}rgen \\\"the\\u00df\\\" \(index)\","
            text += "\"on\":true,\"tags\":[1,2.5]}"
        }
        return Array((text + "}}").utf8)
    }
}
