import Foundation
import Serialization
import Testing

@testable import serialization_examples

/// The recipe of the page `FoundationTypes` for types of Foundation, which `Examples` has, in both directions.
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

    @Test("They go out as what each format has for them, and come back")
    func roundTrip() throws {
        let json = try ValueEncoder.foundation.encode(Self.photo, as: .json)
        #expect(
            String(decoding: json, as: UTF8.self)
                == #"{"taken":"2001-09-09T01:46:40Z","pixels":"AP8+","source":"https://example.com/a?b=c#d","#
                + #""price":12345678901234567890.01,"links":["mailto:a@b.c",null]}"#)
        #expect(try ValueDecoder.foundation().decode(Photo.self, from: json, as: .json) == Self.photo)
        let value = try ValueEncoder.foundation.encode(Self.photo)
        #expect(value["pixels"] == .data([0, 255, 62]))
        #expect(try ValueDecoder.foundation().decode(Photo.self, from: value) == Self.photo)

        var whole = Self.photo
        whole.links = []
        whole.links.append(whole.source)
        let form = try ValueEncoder.foundation.encode(whole, as: .form)
        #expect(
            try ValueDecoder.foundation(ValueDecoder(reading: .recast)).decode(Photo.self, from: form, as: .form)
                == whole)
        // A property list's real is a `Double`, so the digits of a `Decimal` are kept as text there.
        whole.price = 12.5
        let list = try ValueEncoder.foundation.encode(whole, as: .propertyList)
        #expect(try ValueDecoder.foundation().decode(Photo.self, from: list, as: .propertyList) == whole)
    }

    @Test("What no format has is refused, not written as the type would by itself")
    func unwritable() {
        let values: [any Encodable] = [
            Date(timeIntervalSince1970: 1e12), Date(timeIntervalSince1970: .infinity),
            Date.distantPast.addingTimeInterval(-1e9),
            Decimal.nan, [Decimal.nan], ["a": Date(timeIntervalSince1970: 1e12)],
        ]
        for value in values {
            #expect(throws: EncodingError.self) { try ValueEncoder.foundation.encode(value, as: .json) }
        }
    }

    @Test("A date of now goes into XML property lists without its fraction, once that may go")
    func fractions() throws {
        let date = Date(timeIntervalSince1970: 1_700_000_000.25)
        var serializer = PropertyListRequestSerializer()
        serializer.encoder = .foundation
        let error = #expect(throws: SerializationError.self) {
            try serializer.request(method: .post, url: "/", encoding: ["at": date])
        }
        #expect(error?.conversion?.property == "dateFractions")
        #expect(error?.description.contains("in Swift dateFractions") == true)
        serializer.writingOptions.dateFractions = .drop
        let body = try serializer.request(method: .post, url: "/", encoding: ["at": date]).bodyBytes ?? []
        let read = try ValueDecoder.foundation().decode([String: Date].self, from: body, as: .propertyList)
        #expect(read == ["at": Date(timeIntervalSince1970: 1_700_000_000)])
        serializer.writingOptions = .init()
        serializer.writingOptions.format = .binary
        let binary = try serializer.request(method: .post, url: "/", encoding: ["at": date]).bodyBytes ?? []
        #expect(
            try ValueDecoder.foundation().decode([String: Date].self, from: binary, as: .propertyList) == ["at": date])
    }

    @Test("Foundation sees AFNetworking's domain and number, and the text that was made for it")
    func bridging() {
        for kind in SerializationError.Kind.allCases {
            let error = SerializationError(kind, reason: "why")
            let bridged = (error as any Error) as NSError
            #expect(bridged.domain == error.domain && bridged.code == error.code, "\(kind)")
            #expect(error.forFoundation.localizedDescription == "why")
        }
    }

    @Test("What is none of them is refused where it stands")
    func faults() throws {
        let value = try ValueEncoder.foundation.encode(Self.photo)
        for key in ["taken", "pixels", "source", "price"] {
            var broken = value
            broken[key] = [true]
            let error = #expect(throws: DecodingError.self) {
                try ValueDecoder.foundation().decode(Photo.self, from: broken)
            }
            #expect("\(String(describing: error))".contains(key))
        }
    }
}
