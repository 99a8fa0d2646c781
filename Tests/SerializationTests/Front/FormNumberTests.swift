import Serialization
import Testing
import Transcoding

/// Numbers, arrays and long values that a type reads of a form.
@Suite("Types of forms: numbers, arrays and long values")
struct FormNumberTests {
    struct Listed<Element: Codable & Equatable>: Codable, Equatable {
        var list: [Element]
    }

    private func decode<T: Decodable>(_ type: T.Type, _ form: String) throws -> T {
        try ValueDecoder(reading: .recast).decode(type, from: form, as: .form)
    }

    /// Texts with up to 20 digits and a point anywhere among them, and around what a `Double` holds exactly.
    private static func texts() -> [String] {
        var random = SystemRandomNumberGenerator()
        let near = (-3...3).flatMap { ["\((1 << 53) + $0)", "\((1 << 53) + $0).5", "0.\((1 << 53) + $0)"] }
        let drawn = (0..<4000).map { _ in
            var digits = String(UInt64.random(in: 1...UInt64.max, using: &random))
            digits.removeLast(Int.random(in: 0..<digits.count, using: &random))
            let point = Int.random(in: 1...digits.count, using: &random)
            let fraction = digits.dropFirst(point)
            let sign = Bool.random(using: &random) ? "-" : ""
            return fraction.isEmpty ? sign + digits : "\(sign)\(digits.prefix(point)).\(fraction)"
        }
        let halves = (0..<500).map { _ in
            // Half way between two numbers, and next to it.
            let whole = UInt64.random(in: 1 << 53...1 << 54, using: &random) | 1
            return "\(whole).\(Bool.random(using: &random) ? "0" : "1")"
        }
        return near + drawn + halves + ["0.00000000000000000019", "18446744073709551615", "-0", "-0.0", "1e3", "0.1"]
    }

    @Test("A real number is the one that Swift reads")
    func reals() throws {
        for text in Self.texts() {
            let made = try decode(Listed<Double>.self, "list[]=\(text)&list[]=1").list[0]
            #expect(made.bitPattern == Double(text)?.bitPattern, "\(text)")
        }
    }

    @Test("An integer is the one that Swift reads, and no other fits")
    func integers() throws {
        let texts = Self.texts().filter { !$0.contains(".") && !$0.contains("e") }
        for text in texts + [
            "18446744073709551616", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
        ] {
            #expect((try? decode(Listed<Int>.self, "list[]=\(text)"))?.list == Int(text).map { [$0] }, "\(text)")
            #expect((try? decode(Listed<UInt64>.self, "list[]=\(text)"))?.list == UInt64(text).map { [$0] }, "\(text)")
            #expect((try? decode(Listed<Int128>.self, "list[]=\(text)"))?.list == Int128(text).map { [$0] }, "\(text)")
        }
    }

    @Test(
        "What is no number of JSON's is none",
        arguments: [
            "", "-", "01", "1.", ".5", "-.5", "1.e3", "+1", "1e", "0x10", "1_0", " 1", "1 ", "nan", "00.5", "1.2.3",
        ])
    func refused(_ text: String) throws {
        let form = "list[]=1&list[]=\(text == "+1" ? "%2B1" : text)"
        #expect(throws: DecodingError.self) { try decode(Listed<Double>.self, form) }
        #expect(throws: DecodingError.self) { try decode(Listed<Int>.self, form) }
    }

    @Test("An element that doesn't fit is named by its place")
    func path() throws {
        do {
            _ = try decode(Listed<Int>.self, "list[]=1&list[]=two")
            Issue.record("a text is an integer")
        } catch DecodingError.typeMismatch(let type, let context) {
            #expect(type is Int.Type)
            #expect(context.codingPath.map { $0.intValue.map(String.init) ?? $0.stringValue } == ["list", "1"])
            #expect(context.debugDescription == "found a string")
        }
    }

    @Test("A value of any length is the same whole and in a path, with and without escapes")
    func lengths() throws {
        struct Texts: Codable, Equatable {
            var a: [String: String]
            var b: String
        }
        for length in [0, 1, 60, 66, 100] + Array(120...136) + Array(1016...1030) + [4096] {
            for (raw, text) in [("x", "x"), ("+", " "), ("%26", "&"), ("%C3%BC", "\u{FC}")] {
                let padding = String(repeating: "p", count: max(0, length - 1 - raw.utf8.count))
                for (encoded, decoded) in [
                    (padding + raw, padding + text), (raw + padding, text + padding),
                    (padding + raw + raw, padding + text + text),
                ] {
                    let made = try decode(Texts.self, "a[b]=1&a[k]=\(encoded)&a%5Bl%5D=\(encoded)&b=\(encoded)")
                    #expect(made == Texts(a: ["b": "1", "k": decoded, "l": decoded], b: decoded), "\(length) \(raw)")
                }
            }
        }
    }
}
