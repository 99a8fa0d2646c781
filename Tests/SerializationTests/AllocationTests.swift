import CAllocations
import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// Once a pipeline has converted a body, the next one costs no allocation for each of its fields, parts and members.
@Suite(.enabled(if: allocations_are_counted() != 0, "a sanitizer has an allocator of its own"))
struct AllocationTests {
    struct Pipeline: Sendable, CustomTestStringConvertible {
        var input: BodyEncoding
        var output: BodyEncoding
        var first = ""
        var item: @Sendable (Int) -> String
        var last = ""

        var testDescription: String { "\(input.rawValue) -> \(output.rawValue)" }

        func body(_ items: Int) -> [UInt8] { Array((first + (0..<items).map(item).joined() + last).utf8) }
    }

    static let pipelines: [Pipeline] = {
        let field: @Sendable (Int) -> String = { "user[\($0)][na%20me]=J%C3%BCrgen+of+the+value+\($0)&" }
        let text: @Sendable (Int) -> String = {
            "--b\r\nContent-Disposition: form-data; name=\"user[\($0)]\"\r\n\r\nThe value \($0)\r\n"
        }
        let file: @Sendable (Int) -> String = {
            "--b\r\nContent-Disposition: form-data; name=\"f\($0)\"; filename=\"\($0).txt\"\r\n"
                + "Content-Type: text/plain\r\n\r\nThe content \($0)\r\n"
        }
        let member: @Sendable (Int) -> String = {
            "\"m\\u00fc\($0)\":{\"id\":\($0),\"name\":\"J\u{FC}rgen \\\"\\u00df\\\"\",\"on\":true,\"tags\":[1,2.5]},"
        }
        return [
            Pipeline(input: .form, output: .form, item: field),
            Pipeline(input: .form, output: .multipart, item: field),
            Pipeline(input: .multipart, output: .form, item: text, last: "--b--\r\n"),
            Pipeline(input: .multipart, output: .multipart, item: text, last: "--b--\r\n"),
            Pipeline(input: .multipart, output: .multipart, item: file, last: "--b--\r\n"),
            Pipeline(input: .json, output: .json, first: "{", item: member, last: "\"end\":null}"),
            Pipeline(input: .json, output: .form, first: "{", item: member, last: "\"end\":null}"),
            Pipeline(input: .json, output: .multipart, first: "{", item: member, last: "\"end\":null}"),
        ]
    }()

    /// Unoptimised code allocates for iterators and accessors that optimised code has in registers, where it reads the
    /// headers of a part; `make bench-codecs` counts those pipelines too.
    #if DEBUG
        static let counted = pipelines.filter { $0.input != .multipart }
    #else
        static let counted = pipelines
    #endif

    @Test(arguments: counted) func aStreamingPipelineAllocatesNothingForAnItem(_ pipeline: Pipeline) throws {
        let few = try allocations(of: pipeline, items: 20)
        let many = try allocations(of: pipeline, items: 200)
        // 180 items more. What is held of a body may double a few times, and where unoptimised code goes on after a slice's
        // end it allocates; both are far from one for an item.
        #expect(many <= few + 45, "\(many) allocations for 200 items, \(few) for 20")
    }

    @Test func anAllocationOfTheThreadIsCounted() {
        let before = allocations_of_thread()
        let block = [UInt8](repeating: UInt8(before & 1), count: 5000)
        #expect(block.count == 5000)
        #expect(allocations_of_thread() > before)
    }

    /// The allocations of a body after one of the same items has passed.
    private func allocations(of pipeline: Pipeline, items: Int) throws -> UInt64 {
        let type = Array(ConversionRun.defaultType(pipeline.input).utf8)
        let body = pipeline.body(items)
        var plan = ConversionPlan(inputs: [pipeline.input], output: pipeline.output)
        plan.jsonDuplicates = .reject
        let conversion = try Conversion.make(plan: plan, contentType: type.span)
        try convert(body, type, with: conversion)
        let before = allocations_of_thread()
        try convert(body, type, with: conversion)
        return allocations_of_thread() - before
    }

    private func convert(
        _ body: [UInt8], _ type: [UInt8], with conversion: Conversion
    ) throws(ConversionError) {
        try conversion.restart(contentType: type.span, sources: [])
        var start = 0
        while start < body.count {
            // Slices that cut names, values and escapes, as a network does.
            let slice = body.span.extracting(start..<min(start + 1460, body.count))
            start += try conversion.feed(slice)
            if conversion.isFull { conversion.withOutput { $0.drop($0.count) } }
        }
        while try !conversion.finish() { conversion.withOutput { $0.drop($0.count) } }
        conversion.withOutput { $0.drop($0.count) }
    }
}
