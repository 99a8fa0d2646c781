import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// What has come of a body and hasn't gone out is held, and whoever bounds memory is told of it, wherever it lies: with the
/// decoder, in a tree, or with the encoder.
@Suite("What conversions hold")
struct HeldCountTests {
    struct Row: CustomTestStringConvertible {
        var input: BodyEncoding
        var output: BodyEncoding
        var name = ""
        var change: @Sendable (inout ConversionPlan) -> Void = { _ in }

        var testDescription: String { "\(input) -> \(output) \(name)" }
    }

    static let encodings = BodyEncoding.structured + [.bplist]

    static let rows: [Row] = encodings.flatMap { input in
        encodings.flatMap { output -> [Row] in
            var rows = [Row(input: input, output: output)]
            if output == .form || output == .multipart {
                for dialect in [Dialect.afnetworking, .alamofire] {
                    rows.append(
                        Row(input: input, output: output, name: dialect.rawValue) {
                            $0.fieldEncoding = FieldEncodingOptions(dialect: dialect)
                        })
                }
            }
            if output == .multipart {
                rows.append(Row(input: input, output: output, name: "auto") { $0.outputWithoutFiles = .form })
                rows.append(Row(input: input, output: output, name: "auto json") { $0.outputWithoutFiles = .json })
            }
            return rows
        }
    }

    /// A hundred texts of a thousand characters, which every encoding writes as they are, and each once.
    private static func body(_ encoding: BodyEncoding) throws -> (bytes: [UInt8], type: String) {
        let members = (0..<100).map { "\"k\($0)\":\"\($0)\(String(repeating: "x", count: 1000))\"" }
        let json = Array("{\"r\":{\(members.joined(separator: ","))}}".utf8)
        if encoding == .json { return (json, encoding.mediaType) }
        let plan = ConversionPlan(inputs: [.json], output: encoding)
        let conversion = try Conversion.make(plan: plan, contentType: BodyEncoding.json.mediaType)
        let bytes = try conversion.convert(json) + conversion.convertEnd()
        return (bytes, String(decoding: conversion.contentType, as: UTF8.self))
    }

    @Test("what has come and not gone out counts as held", arguments: rows)
    func counts(_ row: Row) throws {
        let (body, type) = try Self.body(row.input)
        var plan = ConversionPlan(inputs: [row.input], output: row.output)
        row.change(&plan)
        let conversion = try Conversion.make(plan: plan, contentType: type)
        var taken = 0
        let end = body.count * 9 / 10
        for start in stride(from: 0, to: end, by: 4096) {
            var piece = Array(body[start..<min(start + 4096, end)])
            while !piece.isEmpty {
                piece.removeFirst(try conversion.feed(piece.span))
                taken += conversion.takeOutput().count
            }
        }
        // Some of what has come is names and what stands around them; what is at hand may be a field, a block or less.
        #expect(conversion.heldCount + taken >= end - 10_000)
        #expect(conversion.allocatedCount + taken >= end - 10_000)
        // The rest of the body, and another one: nothing is left of this one.
        taken += try conversion.convert(Array(body[end...])).count
        taken += try conversion.convertEnd().count
        #expect(taken > 100_000)
        try conversion.restart(contentType: type.utf8Span.span, sources: [])
        #expect(conversion.heldCount == 0)
        #expect(conversion.allocatedCount == 0)
    }

    @Test(
        "the names of an object's members count as memory, also when it has ended",
        arguments: [BodyEncoding.form, .multipart, .json])
    func names(_ output: BodyEncoding) throws {
        var plan = ConversionPlan(inputs: [.json], output: output)
        plan.jsonDuplicates = .reject
        let conversion = try Conversion.make(plan: plan, contentType: BodyEncoding.json.mediaType)
        let members = (0..<20_000).map { "\"\($0)\":0" }.joined(separator: ",")
        _ = try conversion.convert(Array("{\"a\":{\(members)".utf8))
        #expect(conversion.heldCount == 0)
        #expect(conversion.allocatedCount >= 20_000 * 36)
        _ = try conversion.convert(Array("},\"b\":\"".utf8))
        #expect(conversion.allocatedCount >= 20_000 * 36)
        _ = try conversion.convert(Array("\"}".utf8))
        _ = try conversion.convertEnd()
        try conversion.restart(contentType: BodyEncoding.json.mediaType.utf8Span.span, sources: [])
        #expect(conversion.allocatedCount == 0)
    }
}
