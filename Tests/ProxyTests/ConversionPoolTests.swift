import Gateway
import Octets
import Testing
import Transcoding

@testable import Proxy

/// A conversion is the worker's: an exchange has one as long as its body is being converted, and no longer.
@Suite struct ConversionPoolTests {
    private static let form = Array(formType.utf8)
    private static let json = Array(jsonType.utf8)

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

    @Test("requests that await their responses hold no conversion, and each has its own body")
    func exchanges() throws {
        try withRig([convert(.form, .json)]) { rig in
            let clients = try (0..<20).map { try rig.connect(sending: post("/", formType, "n=\($0)")) }
            try rig.until("all requests are at the upstream") {
                rig.upstreams.count == clients.count && rig.upstreams.allSatisfy { $0.has() }
            }
            let exchanges = rig.worker.connections.compactMap(\.exchange)
            #expect(exchanges.count == clients.count)
            #expect(exchanges.allSatisfy { $0.conversion == nil && $0.machine.request == .sent })
            #expect(exchanges.allSatisfy { $0.record.input == .form && $0.record.output == .json })
            var bodies: [String] = []
            for peer in rig.upstreams {
                bodies.append(try #require(peer.take()).text)
                peer.send(ok)
            }
            #expect(Set(bodies) == Set((0..<20).map { #"{"n":"\#($0)"}"# }))
            for client in clients { #expect(try rig.response(to: client).text == "ok") }
        }
    }

    @Test("a body that comes in pieces keeps its conversion, and others are converted meanwhile")
    func pieces() throws {
        try withRig([convert(.form, .json)]) { rig in
            let slow = try rig.connect(sending: String(post("/", formType, "slow=12345678").dropLast(4)))
            rig.settle()
            let held = try #require(rig.worker.connections.first?.exchange?.conversion)
            rig.answers = [ok, ok]
            for number in 0..<2 {
                let client = try rig.connect(sending: post("/", formType, "n=\(number)"))
                #expect(try rig.response(to: client).text == "ok")
                #expect(rig.worker.connections.first?.exchange?.conversion === held)
            }
            slow.send("5678")
            #expect(try rig.request().text == #"{"slow":"12345678"}"#)
            rig.upstreams[0].send(ok)
            #expect(try rig.response(to: slow).text == "ok")
        }
    }
}
