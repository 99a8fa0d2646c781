internal import Octets
internal import Serialization
internal import Transcoding
import Transcoding

/// Bodies of the size of a request, converted as the proxy does it: for `codec-bench requests COUNT [WORD...]`, whose
/// instructions callgrind counts.
struct RequestCase {
    let name: String
    let plan: ConversionPlan
    let type: String
    let body: [UInt8]

    /// Converts the body `count` times and returns the bytes written.
    func run(_ count: Int) -> Int {
        let work = Benchmark.convert(body, plan, type: type).1
        var written = 0
        for _ in 0..<count { written += work() }
        return written
    }

    static var all: [RequestCase] {
        let form = "application/x-www-form-urlencoded"
        let small =
            "name=Ada+Lovelace&email=ada%40example.org&age=36&plan=professional&newsletter=true&city=London"
            + "&street=St+James+Square+12&user[id]=1815&user[role]=owner&comment=The+engine+weaves+algebraic+patterns.+OK"
        return [
            RequestCase(name: "form -> json", plan: plan(.form, .json), type: form, body: Array(small.utf8)),
            RequestCase(name: "form -> form", plan: plan(.form, .form), type: form, body: Array(small.utf8)),
            RequestCase(name: "json -> json", plan: plan(.json, .json), type: "application/json", body: nested),
            RequestCase(name: "json -> form", plan: plan(.json, .form), type: "application/json", body: nested),
            RequestCase(
                name: "json -> multipart", plan: plan(.json, .multipart), type: "application/json", body: nested),
            RequestCase(
                name: "multipart -> json", plan: plan(.multipart, .json), type: "multipart/form-data; boundary=b",
                body: parts),
        ]
    }

    private static func plan(_ input: BodyEncoding, _ output: BodyEncoding) -> ConversionPlan {
        ConversionPlan(inputs: [input], output: output)
    }

    /// About 16 KiB of orders with items.
    private static var nested: [UInt8] {
        var text = "{\"orders\":["
        for order in 0..<40 {
            if order > 0 { text += "," }
            text += "{\"id\":\(order + 1000),\"customer\":{\"name\":\"Ada Lovelace\",\"email\":\"ada@example.org\","
            text +=
                "\"address\":{\"city\":\"M\u{FC}nchen\",\"street\":\"St James Square 12\"}},\"paid\":true,\"items\":["
            for item in 0..<3 {
                if item > 0 { text += "," }
                text += "{\"sku\":\"A-\(item)\",\"quantity\":\(item + 1),\"price\":12.50,\"note\":\"left & right\"}"
            }
            text += "],\"comment\":\"The engine weaves \\\"algebraic\\\" patterns.\"}"
        }
        return Array((text + "]}").utf8)
    }

    private static var parts: [UInt8] {
        let fields = [
            ("name", "Ada Lovelace"), ("email", "ada@example.org"), ("age", "36"), ("plan", "professional"),
            ("newsletter", "true"), ("city", "London"), ("street", "St James Square 12"), ("user[id]", "1815"),
            ("user[role]", "owner"), ("comment", "The engine weaves algebraic patterns. OK"),
        ]
        var text = ""
        for (name, value) in fields {
            text += "--b\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\n\(value)\r\n"
        }
        return Array((text + "--b--\r\n").utf8)
    }
}
