import Foundation
import Serialization

extension ValueEncoder {
    /// Writes times, bytes, URLs and decimal numbers of Foundation as what the format has for them.
    static var foundation: ValueEncoder {
        var encoder = ValueEncoder()
        encoder.transform = { value in
            switch value {
            case let date as Date:
                guard let time = Timestamp(secondsSince1970: date.timeIntervalSince1970) else {
                    throw Self.unwritable(date)
                }
                return .date(time)
            case let data as Data: return .data([UInt8](data))
            case let url as URL: return .string(url.absoluteString)
            case let number as Decimal:
                guard let text = Value.Number(number.description) else { throw Self.unwritable(number) }
                return .number(text)
            default: return nil
            }
        }
        return encoder
    }

    private static func unwritable(_ value: Any) -> EncodingError {
        .invalidValue(value, .init(codingPath: [], debugDescription: "a time beyond the years 1 to 9999, or no number"))
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

extension SerializationError {
    /// The error with a text for people, which `localizedDescription` gives.
    var forFoundation: NSError {
        NSError(domain: domain, code: code, userInfo: [NSLocalizedDescriptionKey: description])
    }
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

    // For code that shows an `NSError`.
    do {
        _ = try HTTPRequestSerializer().request(method: .get, url: "")
    } catch {
        let shown = error.forFoundation
        show("NSError", "\(shown.domain) \(shown.code)", shown.localizedDescription)
    }
}
