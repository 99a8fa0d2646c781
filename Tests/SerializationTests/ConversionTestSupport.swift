import Octets
import Serialization
import TestSupport
import Transcoding

/// A plan from one encoding to another, changed by `change`.
func plan(
    _ input: BodyEncoding, _ output: BodyEncoding, _ change: (inout ConversionPlan) -> Void = { _ in }
) -> ConversionPlan {
    var plan = ConversionPlan(inputs: [input], output: output)
    change(&plan)
    return plan
}

/// What comes out of a whole body, as text, or `!code field`. Brackets of forms are readable.
func convert(
    _ plan: ConversionPlan, _ input: String, type: String? = nil, sources: [String] = []
) -> String {
    let run = ConversionRun.run(plan, .whole(Array(input.utf8)), type: type, sources: sources)
    if !run.violations.isEmpty { return "violations: \(run.violations)" }
    guard run.failure == nil else { return run.result }
    switch plan.output {
    case .form: return readable(run.result)
    case .multipart: return summary(ofMultipart: run.output.bytes)
    default: return run.result
    }
}

/// What is wrong with a body of that encoding, by a conversion to JSON; nil when it can be read.
func readingFailure(_ body: [UInt8], of encoding: BodyEncoding) -> ConversionError? {
    ConversionRun.run(plan(encoding, .json) { $0.jsonDuplicates = .keep }, .whole(body)).failure
}

/// A path that is known to be well written.
func path(_ text: String) -> FieldPath { try! FieldPath(parsing: text) }

/// A multipart body with the boundary `b`: a field is `name=value`, a file `name:filename:type=content`.
func multipart(_ parts: String...) -> String { multipart(parts) }

/// As above.
func multipart(_ parts: [String]) -> String {
    var body = ""
    for part in parts {
        let at = part.firstIndex(of: "=") ?? part.endIndex
        let head = part[..<at].split(separator: ":", omittingEmptySubsequences: false)
        body += "--b\r\nContent-Disposition: form-data; name=\"\(head[0])\""
        if head.count > 1 { body += "; filename=\"\(head[1])\"" }
        if head.count > 2 { body += "\r\nContent-Type: \(head[2])" }
        body += "\r\n\r\n\(part[at...].dropFirst())\r\n"
    }
    return body + "--b--\r\n"
}

/// The parts of a multipart body that came out, in the notation of `multipart`, with `|` between.
func summary(ofMultipart body: [UInt8]) -> String {
    let type = Array("multipart/form-data; boundary=BOUNDARY".utf8)
    guard let boundary = try? Multipart.Boundary(contentType: type.span, limits: .init()) else { return "no boundary" }
    var decoder = Multipart.Decoder(boundary: boundary, options: .init(), limits: .init())
    let recording = FieldRecorder.record(.whole(body), with: &decoder)
    if let failure = recording.failure { return "unreadable: \(failure)" }
    func text(_ bytes: ByteString) -> String { String(decoding: bytes.bytes, as: UTF8.self) }
    return recording.parts.map { part in
        var head = text(part.name)
        if let filename = part.filename { head += ":" + text(filename) }
        if let type = part.mediaType { head += ":" + text(type) }
        return head + "=" + text(part.content)
    }.joined(separator: "|")
}
