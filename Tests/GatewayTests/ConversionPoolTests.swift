import Octets
import Testing
import Transcoding

@testable import Gateway

/// The conversions of a rule, which are lent for a body each.
@Suite struct ConversionPoolTests {
    private static let form = Array(BodyEncoding.form.mediaType.utf8)
    private static let json = Array(BodyEncoding.json.mediaType.utf8)

    private static func pool(_ inputs: [BodyEncoding], limits: Limits = Limits()) -> ConversionPool {
        var plan = ConversionPlan(inputs: inputs, output: .json)
        plan.limits = limits
        return ConversionPool(plan)
    }

    private static func take(_ pool: ConversionPool, _ type: [UInt8]) throws(ConversionError) -> Conversion {
        try pool.take(contentType: type.span, sources: [])
    }

    /// What `conversion` makes of `text`, to its end.
    private static func body(of conversion: Conversion, _ text: String) throws -> String {
        let output = try conversion.convert(Array(text.utf8)) + conversion.convertEnd()
        return String(decoding: output, as: UTF8.self)
    }

    @Test("the conversion that came back last serves the next body")
    func reuse() throws {
        let pool = Self.pool([.form])
        let (first, second) = (try Self.take(pool, Self.form), try Self.take(pool, Self.form))
        #expect(first !== second)
        #expect(try Self.body(of: first, "a=1&b[c]=2") == #"{"a":"1","b":{"c":"2"}}"#)
        #expect(try Self.body(of: second, "z=9") == #"{"z":"9"}"#)
        pool.recycle(second)
        pool.recycle(first)
        let third = try Self.take(pool, Self.form)
        #expect(third === first)
        #expect(try Self.body(of: third, "d=3") == #"{"d":"3"}"#)
        #expect(try Self.take(pool, Self.form) === second)
    }

    @Test("a rule with several input encodings reuses those of each")
    func severalInputs() throws {
        let pool = Self.pool([.form, .json])
        let (form, json) = (try Self.take(pool, Self.form), try Self.take(pool, Self.json))
        #expect(try Self.body(of: form, "a=1") == #"{"a":"1"}"#)
        #expect(try Self.body(of: json, #"{"a":1}"#) == #"{"a":1}"#)
        pool.recycle(form)
        pool.recycle(json)
        let again = (try Self.take(pool, Self.form), try Self.take(pool, Self.json))
        #expect(again.0 === form && again.1 === json)
        #expect(try Self.body(of: again.0, "b=2") == #"{"b":"2"}"#)
        #expect(try Self.body(of: again.1, "[2]") == "[2]")
    }

    @Test("a body that is refused for its type takes no conversion", arguments: [[BodyEncoding.form], [.form, .text]])
    func wrongType(_ inputs: [BodyEncoding]) throws {
        let pool = Self.pool(inputs)
        let conversion = try Self.take(pool, Self.form)
        #expect(try Self.body(of: conversion, "a=1") == #"{"a":"1"}"#)
        pool.recycle(conversion)
        for type in ["application/json", "application/x-www-form-urlencoded; charset=utf-7", "?"] {
            #expect(throws: ConversionError.self) { _ = try Self.take(pool, Array(type.utf8)) }
        }
        let again = try Self.take(pool, Self.form)
        #expect(again === conversion)
        #expect(try Self.body(of: again, "b=2") == #"{"b":"2"}"#)
    }

    @Test("what a conversion holds of its last body is bounded")
    func longDocument() throws {
        var limits = Limits()
        limits.field = 1 << 20
        let pool = Self.pool([.form], limits: limits)
        for (count, isKept) in [(ConversionPool.keptCapacity / 2, true), (ConversionPool.keptCapacity + 1, false)] {
            let conversion = try Self.take(pool, Self.form)
            #expect(try Self.body(of: conversion, "a=" + String(repeating: "x", count: count)).utf8.count == count + 8)
            pool.recycle(conversion)
            #expect((try Self.take(pool, Self.form) === conversion) == isKept)
        }
    }

    @Test("no more than the limit are kept", arguments: [-1, 0, 1])
    func limit(_ more: Int) throws {
        let pool = Self.pool([.form])
        let count = ConversionPool.limit + more
        let taken = try (0..<count).map { _ in try Self.take(pool, Self.form) }
        for conversion in taken {
            #expect(try Self.body(of: conversion, "a=1") == #"{"a":"1"}"#)
            pool.recycle(conversion)
        }
        let again = try (0..<count).map { _ in try Self.take(pool, Self.form) }
        #expect(again.count { conversion in taken.contains { $0 === conversion } } == min(count, ConversionPool.limit))
    }
}
