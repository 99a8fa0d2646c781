import Foundation
import Serialization

extension ValueEncoder {
    /// Writes times, bytes, URLs and decimal numbers of Foundation as what the format has for them.
    static var foundation: ValueEncoder {
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
}

extension ValueDecoder {
    /// Reads them again with the settings of `plain`.
    static func foundation(_ plain: ValueDecoder = ValueDecoder()) -> ValueDecoder {
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
}

private struct Photo: Codable {
    var taken: Date
    var pixels: Data
    var source: URL
    var price: Decimal
}

func foundationTypes() throws {
    // There and back. A request serializer takes the encoder as its own.
    let photo = Photo(
        taken: Date(timeIntervalSince1970: 1_000_000_000), pixels: Data([1, 2, 3]),
        source: URL(string: "https://example.com/p")!, price: Decimal(string: "19.90")!)
    var serializer = JSONRequestSerializer(dialect: .recast)
    serializer.encoder = .foundation
    let request = try serializer.request(method: .post, url: "https://example.com/", encoding: photo)
    let body = request.bodyBytes ?? []
    show("Foundation", String(decoding: body, as: UTF8.self))
    let read = try ValueDecoder.foundation().decode(Photo.self, from: body, as: .json)
    show("read", "\(read.taken.timeIntervalSince1970) \(read.pixels.count) \(read.source) \(read.price)")
}
