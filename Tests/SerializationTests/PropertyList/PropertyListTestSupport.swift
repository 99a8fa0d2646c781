import Foundation
import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// What a new decoder makes of `cut`.
func recordPlist(
    _ cut: Cut, options: PropertyList.DecodingOptions = .init(), limits: Limits = Limits(), pauses: Bool = false
) -> EventRecording {
    var decoder = PropertyList.Decoder(options: options, limits: limits)
    return EventRecorder.record(cut, with: &decoder, pauses: pauses)
}

func recordPlist(
    _ bytes: [UInt8], options: PropertyList.DecodingOptions = .init(), limits: Limits = Limits()
) -> EventRecording {
    recordPlist(.whole(bytes), options: options, limits: limits)
}

/// The XML property list with `content` in its `plist` element.
func plistXML(_ content: String) -> [UInt8] { Array("<plist version=\"1.0\">\(content)</plist>".utf8) }

extension PropertyList.EncodingOptions {
    init(_ format: PropertyList.Format, _ change: (inout Self) -> Void = { _ in }) {
        self.init()
        self.format = format
        change(&self)
    }
}

/// What an encoder makes of a JSON text's events.
func encodePlist(
    json: String, _ options: PropertyList.EncodingOptions = .init(), limits: Limits = Limits()
) throws(ConversionError) -> [UInt8] {
    var jsonOptions = JSON.DecodingOptions()
    jsonOptions.duplicates = .keep
    var decoder = JSON.Decoder(options: jsonOptions, limits: limits)
    return try encodePlist(Array(json.utf8), from: &decoder, options, limits: limits)
}

/// What an encoder makes of another property list.
func reencodePlist(
    _ bytes: [UInt8], _ options: PropertyList.EncodingOptions = .init(),
    reading: PropertyList.DecodingOptions = .init(), limits: Limits = Limits()
) throws(ConversionError) -> [UInt8] {
    var decoder = PropertyList.Decoder(options: reading, limits: limits)
    return try encodePlist(bytes, from: &decoder, options, limits: limits)
}

private func encodePlist<Decoder: EventDecoder & ~Copyable>(
    _ bytes: [UInt8], from decoder: inout Decoder, _ options: PropertyList.EncodingOptions, limits: Limits
) throws(ConversionError) -> [UInt8] {
    var encoder = PropertyList.Encoder(options: options, limits: limits)
    encoder.output.highWatermark = .max
    let consumed = try decoder.feed(bytes.span, into: &encoder)
    precondition(consumed == bytes.count, "the encoder is never full")
    try decoder.finish(into: &encoder)
    try encoder.finish()
    return encoder.output.span.copied()
}

/// The JSON text of a property list.
func jsonText(
    _ bytes: [UInt8], options: PropertyList.DecodingOptions = .init(), limits: Limits = Limits()
) throws(ConversionError) -> String {
    var decoder = PropertyList.Decoder(options: options, limits: limits)
    var encoder = JSON.Encoder(options: .init())
    encoder.output.highWatermark = .max
    _ = try decoder.feed(bytes.span, into: &encoder)
    try decoder.finish(into: &encoder)
    encoder.finish()
    return String(decoding: encoder.output.span.copied(), as: UTF8.self)
}

/// Hexadecimal digits, white space between them ignored, as bytes.
func hexBytes(_ text: String) -> [UInt8] {
    let digits = Array(text.utf8.filter { $0 > 0x20 })
    return stride(from: 0, to: digits.count, by: 2).map {
        UInt8(String(decoding: digits[$0...($0 + 1)], as: UTF8.self), radix: 16)!
    }
}
