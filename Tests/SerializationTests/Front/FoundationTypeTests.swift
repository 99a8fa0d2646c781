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
