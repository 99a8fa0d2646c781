internal import Foundation
internal import Serialization
internal import Transcoding

/// Types of a program to JSON and forms and back, beside Foundation's `JSONEncoder` and `JSONDecoder` on the same documents.
///
/// A case `codable -> json, SHAPE` has its peer `foundation -> json, SHAPE` in the same run, and so the other way round. The
/// bytes are those of the document, and both sides must read back what was written before anything is measured. The peer of a
/// form is Foundation's JSON of the same document: it has no coder of forms.
extension Benchmark {
    static func codable() -> [Benchmark] {
        shape("flat", FlatRecord.list) + shape("nested", NestedOrder.list) + shape("numbers", NumberSeries.sample)
            + shape("texts", LongTexts.sample) + shape("many keys", ManyKeys.sample)
            + shape("optionals", OptionalRecord.list) + shape("enums", EnumRecord.list)
            + shape("dates", DatedRecord.list) + formCases() + formShapes()
    }

    private static func shape<Document: Codable & Equatable>(_ name: String, _ document: Document) -> [Benchmark] {
        [
            Benchmark(name: "codable -> json, \(name)") {
                let size = json(document).count
                return (size, { json(document).count })
            },
            Benchmark(name: "foundation -> json, \(name)") {
                let encoder = JSONEncoder()
                encoder.outputFormatting = .withoutEscapingSlashes
                let size = foundation(document, encoder).count
                return (size, { foundation(document, encoder).count })
            },
            Benchmark(name: "json -> codable, \(name)") {
                let bytes = json(document)
                guard read(Document.self, bytes) == document else { fail("\(name) is another one when it is read") }
                return (bytes.count, { read(Document.self, bytes) == nil ? 0 : 1 })
            },
            Benchmark(name: "json -> foundation, \(name)") {
                let bytes = Data(json(document))
                let decoder = JSONDecoder()
                guard (try? decoder.decode(Document.self, from: bytes)) == document else {
                    fail("\(name) is another one when Foundation reads it")
                }
                return (bytes.count, { (try? decoder.decode(Document.self, from: bytes)) == nil ? 0 : 1 })
            },
        ]
    }

    private static func formCases() -> [Benchmark] {
        let document = FormOrders.sample
        return shape("form", document).filter { $0.name.contains("foundation") } + [
            Benchmark(name: "codable -> form") {
                let size = form(document).count
                return (size, { form(document).count })
            },
            Benchmark(name: "form -> codable") {
                let bytes = form(document)
                guard read(FormOrders.self, form: bytes) == document else {
                    fail("the form is another one when it is read")
                }
                return (bytes.count, { read(FormOrders.self, form: bytes) == nil ? 0 : 1 })
            },
        ]
    }

    /// The shapes as forms, whose root is an object; enums without a payment that leaves nothing, which a form can't say.
    private static func formShapes() -> [Benchmark] {
        formShape("flat", Listed(list: FlatRecord.list)) + formShape("nested", Listed(list: NestedOrder.list))
            + formShape("numbers", NumberSeries.sample) + formShape("texts", LongTexts.sample)
            + formShape("many keys", ManyKeys.sample) + formShape("optionals", Listed(list: OptionalRecord.list))
            + formShape("enums", Listed(list: EnumRecord.list.filter { $0.payment != .cash }))
            + formShape("dates", Listed(list: DatedRecord.list))
    }

    private static func formShape<Document: Codable & Equatable>(_ name: String, _ document: Document) -> [Benchmark] {
        [
            Benchmark(name: "codable -> form, \(name)") {
                let size = form(document).count
                return (size, { form(document).count })
            },
            Benchmark(name: "form -> codable, \(name)") {
                let bytes = form(document)
                guard read(Document.self, form: bytes) == document else { fail("the form of \(name) is another one") }
                return (bytes.count, { read(Document.self, form: bytes) == nil ? 0 : 1 })
            },
        ]
    }

    private static var options: DocumentOptions {
        var options = DocumentOptions()
        options.limits.tree = 256 * 1024 * 1024
        options.limits.fields = 1_000_000
        return options
    }

    private static func json(_ document: some Encodable) -> [UInt8] {
        do { return try ValueEncoder().encode(document, as: .json, options: options) } catch { fail("\(error)") }
    }

    private static func foundation(_ document: some Encodable, _ encoder: JSONEncoder) -> Data {
        do { return try encoder.encode(document) } catch { fail("\(error)") }
    }

    private static func read<Document: Decodable>(_ type: Document.Type, _ bytes: [UInt8]) -> Document? {
        try? ValueDecoder().decode(type, from: bytes, as: .json, options: options)
    }

    private static func form(_ document: some Encodable) -> [UInt8] {
        do { return try ValueEncoder().encode(document, as: .form, options: options) } catch { fail("\(error)") }
    }

    private static func read<Document: Decodable>(_ type: Document.Type, form bytes: [UInt8]) -> Document? {
        try? ValueDecoder(reading: .recast).decode(type, from: bytes, as: .form, options: options)
    }
}

// MARK: Documents

/// A list as a member, for formats whose root is an object.
private struct Listed<Element: Codable & Equatable>: Codable, Equatable {
    var list: [Element]
}

private struct FlatRecord: Codable, Equatable {
    var id: Int
    var name: String
    var email: String
    var age: UInt8
    var score: Double
    var isActive: Bool
    var city: String
    var balance: Int64

    static var list: [FlatRecord] {
        (0..<1500).map { index in
            FlatRecord(
                id: index, name: "Ada Lovelace \(index)", email: "ada\(index)@example.org", age: UInt8(index % 100),
                score: Double(index) / 7, isActive: index % 3 == 0, city: "M\u{FC}nchen",
                balance: Int64(index) * 1_000_003)
        }
    }
}

private struct NestedOrder: Codable, Equatable {
    struct Customer: Codable, Equatable {
        struct Address: Codable, Equatable {
            var city, street: String
        }
        var name, email: String
        var address: Address
    }
    struct Item: Codable, Equatable {
        var sku: String
        var quantity: Int
        var price: Double
        var note: String
    }
    var id: Int
    var customer: Customer
    var paid: Bool
    var items: [Item]
    var tags: [String]
    var comment: String

    static var list: [NestedOrder] {
        (0..<400).map { order in
            NestedOrder(
                id: order + 1000,
                customer: Customer(
                    name: "Ada Lovelace", email: "ada@example.org",
                    address: .init(city: "M\u{FC}nchen", street: "St James Square 12")),
                paid: order % 2 == 0,
                items: (0..<3).map { Item(sku: "A-\($0)", quantity: $0 + 1, price: 12.5, note: "left & right") },
                tags: ["new", "gift"], comment: "The engine weaves \"algebraic\" patterns.")
        }
    }
}

private struct NumberSeries: Codable, Equatable {
    var name: String
    var integers: [Int]
    var reals: [Double]
    var rows: [[Double]]
    var large: [UInt64]

    static var sample: NumberSeries {
        NumberSeries(
            name: "series", integers: (0..<8000).map { $0 * 7919 - 4_000_000 },
            reals: (0..<6000).map { Double($0) * 1.0625 + 0.1 },
            rows: (0..<60).map { row in (0..<60).map { Double($0 * row) / 64 } },
            large: (0..<2000).map { UInt64.max - UInt64($0) })
    }
}

private struct LongTexts: Codable, Equatable {
    var title: String
    var texts: [String]

    static var sample: LongTexts {
        let line = "Some text that a person wrote, in M\u{FC}nchen and \u{65E5}\u{672C}, with a \"quotation\".\n"
        return LongTexts(
            title: "texts",
            texts: (1...60).map { String(repeating: $0 % 2 == 0 ? line : "plain letters and words, ", count: $0 * 2) })
    }
}

private struct ManyKeys: Codable, Equatable {
    struct Wide: Codable, Equatable {
        var alpha = 1, beta = 2, gamma = 3, delta = 4, epsilon = 5, zeta = 6, eta = 7, theta = 8, iota = 9, kappa = 10
        var lambda = "l", mu = "m", nu = "n", xi = "x", omicron = "o", pi = "p", rho = "r", sigma = "s", tau = "t"
        var upsilon = true, phi = false, chi = 1.5, psi = 2.5, omega = 3.5
        var first = "1", second = "2", third = "3", fourth = "4", fifth = "5", sixth = "6", seventh = "7"
    }
    var wide: [Wide]
    var table: [String: Int]

    static var sample: ManyKeys {
        ManyKeys(
            wide: Array(repeating: Wide(), count: 250),
            table: Dictionary(uniqueKeysWithValues: (0..<4000).map { ("key number \($0)", $0) }))
    }
}

private struct OptionalRecord: Codable, Equatable {
    var id: Int
    var a: String?, b: Int?, c: Double?, d: Bool?, e: [Int]?, f: String?, g: Int?, h: Double?

    static var list: [OptionalRecord] {
        (0..<2000).map { index in
            var record = OptionalRecord(id: index)
            if index % 2 == 0 { (record.a, record.b) = ("text \(index)", index) }
            if index % 3 == 0 { (record.c, record.d) = (Double(index) + 0.5, true) }
            if index % 5 == 0 { (record.e, record.f) = ([index], "f") }
            return record
        }
    }
}

private struct EnumRecord: Codable, Equatable {
    enum State: String, Codable { case open, closed, cancelled }
    enum Level: Int, Codable { case low = 1, high = 2 }
    enum Payment: Codable, Equatable {
        case cash
        case card(number: String, month: Int)
    }
    var state: State
    var level: Level
    var payment: Payment
    var history: [State]

    static var list: [EnumRecord] {
        (0..<1500).map { index in
            EnumRecord(
                state: index % 2 == 0 ? .open : .closed, level: index % 3 == 0 ? .low : .high,
                payment: index % 4 == 0 ? .cash : .card(number: "4111", month: index % 12 + 1),
                history: [.open, .cancelled])
        }
    }
}

private struct DatedRecord: Codable, Equatable {
    var id: String
    var created, updated: String
    var url: String

    static var list: [DatedRecord] {
        (0..<2000).map { index in
            DatedRecord(
                id: "order-\(index)", created: "2026-11-23T10:15:00Z",
                updated: "2026-11-23T10:15:00.\(100 + index % 800)Z",
                url: "https://example.org/orders/\(index)?page=1&size=20")
        }
    }
}

private struct FormOrders: Codable, Equatable {
    struct Line: Codable, Equatable {
        var sku: String
        var quantity: Int
    }
    struct User: Codable, Equatable {
        var name, email: String
        var age: Int
    }
    var user: User
    var title: String
    var isPaid: Bool
    var price: Double
    var lines: [String: Line]
    var tags: [String]

    static var sample: FormOrders {
        FormOrders(
            user: User(name: "Ada Lovelace", email: "ada@example.org", age: 36), title: "The engine weaves & counts",
            isPaid: true, price: 12.5,
            lines: Dictionary(
                uniqueKeysWithValues: (0..<200).map { ("line\($0)", Line(sku: "A-\($0) left & right", quantity: $0)) }),
            tags: (0..<200).map { "tag \($0)" })
    }
}
