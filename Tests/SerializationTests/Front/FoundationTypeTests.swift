import Foundation
import Serialization
import Testing

/// The recipe of the page `FoundationTypes` for types of Foundation, in both directions.
@Suite("Foundation's types")
struct FoundationTypeTests {
    struct Photo: Codable, Equatable {
        var taken: Date
        var pixels: Data
        var source: URL
        var price: Decimal
        var thumbnail: Data?
        var links: [URL?]
    }

    static let photo = Photo(
        taken: Date(timeIntervalSince1970: 1_000_000_000), pixels: Data([0, 255, 62]),
        source: URL(string: "https://example.com/a?b=c#d")!, price: Decimal(string: "12345678901234567890.01")!,
        thumbnail: nil, links: [URL(string: "mailto:a@b.c")!, nil])

    static var encoder: ValueEncoder {
        var encoder = ValueEncoder()
        encoder.transform = { value in
            switch value {
            case let date as Date: Timestamp(secondsSince1970: date.timeIntervalSince1970).map(Value.date)
            case let data as Data: .data([UInt8](data))
            case let url as URL: .string(url.absoluteString)
            case let number as Decimal: Value.Number(number.description).map(Value.number)
            default: nil
            }
        }
        return encoder
    }

    static func decoder(_ plain: ValueDecoder = ValueDecoder()) -> ValueDecoder {
        var decoder = plain
        decoder.transform = { value, type in
            if type == Date.self {
                return (try? plain.decode(Timestamp.self, from: value)).map {
                    Date(timeIntervalSince1970: $0.secondsSince1970)
                }
            }
            if type == Data.self { return (try? plain.decode([UInt8].self, from: value)).map { Data($0) } }
            if type == URL.self { return value.string.flatMap { URL(string: $0) } }
            if type == Decimal.self { return (value.number?.text ?? value.string).flatMap { Decimal(string: $0) } }
            return nil
        }
        return decoder
    }

    @Test("They go out as what each format has for them, and come back")
    func roundTrip() throws {
        let json = try Self.encoder.encode(Self.photo, as: .json)
        #expect(
            String(decoding: json, as: UTF8.self)
                == #"{"taken":"2001-09-09T01:46:40Z","pixels":"AP8+","source":"https://example.com/a?b=c#d","#
                + #""price":12345678901234567890.01,"links":["mailto:a@b.c",null]}"#)
        #expect(try Self.decoder().decode(Photo.self, from: json, as: .json) == Self.photo)
        let value = try Self.encoder.encode(Self.photo)
        #expect(value["pixels"] == .data([0, 255, 62]))
        #expect(try Self.decoder().decode(Photo.self, from: value) == Self.photo)

        var whole = Self.photo
        whole.links = []
        whole.links.append(whole.source)
        let form = try Self.encoder.encode(whole, as: .form)
        #expect(try Self.decoder(ValueDecoder(reading: .recast)).decode(Photo.self, from: form, as: .form) == whole)
        // A property list's real is a `Double`, so the digits of a `Decimal` are kept as text there.
        whole.price = 12.5
        let list = try Self.encoder.encode(whole, as: .propertyList)
        #expect(try Self.decoder().decode(Photo.self, from: list, as: .propertyList) == whole)
    }

    @Test("What is none of them is refused where it stands")
    func faults() throws {
        let value = try Self.encoder.encode(Self.photo)
        for key in ["taken", "pixels", "source", "price"] {
            var broken = value
            broken[key] = [true]
            let error = #expect(throws: DecodingError.self) { try Self.decoder().decode(Photo.self, from: broken) }
            #expect("\(String(describing: error))".contains(key))
        }
    }
}
