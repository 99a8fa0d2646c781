internal import Octets
internal import Serialization
internal import Transcoding
import Transcoding

extension Benchmark {
    static let fileSize = 256 * 1024 * 1024
    private static let boundary = "----WebKitFormBoundaryAaB03xAaB03xAaB0"

    static func multipart() -> [Benchmark] {
        [
            Benchmark(name: "multipart scan, noise") { scan(Documents.noise(fileSize)) },
            Benchmark(name: "multipart scan, lines") { scan(Documents.repeating(line, fileSize)) },
            Benchmark(name: "multipart decode, fields") { decode(fields(1000)) },
            Benchmark(name: "multipart encode, fields") { encode(count: 1000) },
            Benchmark(name: "multipart -> multipart, noise") {
                let body = body(of: Documents.noise(fileSize))
                var plan = ConversionPlan(inputs: [.multipart], output: .multipart)
                plan.limits.body = .max
                return convert(body, plan, type: "multipart/form-data; boundary=" + boundary)
            },
        ]
    }

    /// 78 characters and the line end of a text file from Windows.
    private static let line = "GET /a/path?of=some&length=1 200 5120 \"Mozilla/5.0 (X11; Linux x86_64)\" 0.001\r\n"

    /// A body with one file.
    private static func body(of file: [UInt8]) -> [UInt8] {
        var body = Array("--\(boundary)\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f.bin\"\r\n".utf8)
        body.reserveCapacity(file.count + 512)
        body += "Content-Type: application/octet-stream\r\n\r\n".utf8
        body += file
        body += "\r\n--\(boundary)--\r\n".utf8
        return body
    }

    private static func fields(_ count: Int) -> [UInt8] {
        var body: [UInt8] = []
        for index in 0..<count {
            body += "--\(boundary)\r\nContent-Disposition: form-data; name=\"field\(index)\"\r\n\r\n".utf8
            body += "The value of the field \(index), of some length\r\n".utf8
        }
        body += "--\(boundary)--\r\n".utf8
        return body
    }

    private static func scan(_ file: [UInt8]) -> (Int, () -> Int) {
        let body = body(of: file)
        return (file.count, decode(body).1)
    }

    private static func decode(_ body: [UInt8]) -> (Int, () -> Int) {
        let type = Array("multipart/form-data; boundary=\(boundary)".utf8)
        guard let boundary = try? Multipart.Boundary(contentType: type.span, limits: Limits()) else {
            fail("the boundary is none")
        }
        let work = {
            var decoder = Multipart.Decoder(boundary: boundary, options: FieldDecodingOptions(), limits: Limits())
            var sink = CountingFieldSink()
            do throws(ConversionError) {
                let input = body.span
                var start = 0
                while start < input.count {
                    let slice = input.extracting(start..<min(start + Documents.slice, input.count))
                    start += try decoder.feed(slice, into: &sink)
                }
                try decoder.finish(into: &sink)
            } catch { fail(error.reason) }
            return sink.count
        }
        return (body.count, work)
    }

    private static func encode(count: Int) -> (Int, () -> Int) {
        var encoder = Multipart.Encoder(boundary: .random(), options: FieldEncodingOptions())
        let head = PartHead(name: Array("address[street]".utf8).span)
        let value = Documents.repeating("Some text that a person wrote into a field. ", 100)
        var bytes = 0
        for _ in 0..<count { bytes += head.name.count + value.count }
        let work = {
            encoder.output.removeAll()
            do throws(ConversionError) {
                for _ in 0..<count {
                    try encoder.beginPart(head)
                    try encoder.content(value.span, isLast: true)
                }
            } catch { fail(error.reason) }
            return encoder.output.count
        }
        return (bytes, work)
    }
}
