import Foundation
import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

@Suite struct PropertyListDateTests {
    private func encode(
        _ date: String, _ options: PropertyList.EncodingOptions = .init()
    ) throws(ConversionError) -> [UInt8] {
        var encoder = PropertyList.Encoder(options: options, limits: Limits())
        try encoder.date(Array(date.utf8).span)
        try encoder.finish()
        return encoder.output.span.copied()
    }

    private func binary(_ seconds: Double) -> [UInt8] {
        hexBytes("62706c6973743030 33")
            + (0..<8).map { UInt8(truncatingIfNeeded: seconds.bitPattern >> UInt64(56 - 8 * $0)) }
            + hexBytes("08 000000000000 0101 0000000000000001 0000000000000000 0000000000000011")
    }

    static let texts: [(text: String, written: String)] = [
        ("2001-01-01T00:00:00Z", "2001-01-01T00:00:00Z"),
        ("2024-02-29t23:59:59z", "2024-02-29T23:59:59Z"),
        ("2001-01-01T00:30:00+01:00", "2000-12-31T23:30:00Z"),
        ("2001-12-31T23:30:00-02:45", "2002-01-01T02:15:00Z"),
        ("2001-01-01T00:00:00-00:00", "2001-01-01T00:00:00Z"),
        ("2001-01-01T00:00:00.000Z", "2001-01-01T00:00:00Z"),
        ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
        ("1900-03-01T00:00:00Z", "1900-03-01T00:00:00Z"),
        ("2000-02-29T12:00:00Z", "2000-02-29T12:00:00Z"),
    ]

    @Test(arguments: texts)
    func `a point in time is written in UTC`(_ row: (text: String, written: String)) throws {
        let xml = try encode(row.text)
        #expect(String(decoding: xml, as: UTF8.self).contains("<date>\(row.written)</date>"))
        for bytes in [xml, try encode(row.text, .init(.binary))] {
            #expect(recordPlist(bytes) == EventRecording([.date(ByteString(row.written))]))
        }
    }

    static let refused: [(text: String, fault: PropertyList.Fault)] = [
        ("2001-01-01", .dateWithoutTime), ("2001-02-30", .invalidDate), ("today", .invalidDate), ("", .invalidDate),
        ("2001-01-01T00:00:00", .invalidDate), ("2016-12-31T23:59:60Z", .leapSecond),
        ("0000-01-01T00:00:00+00:01", .dateRange), ("9999-12-31T23:59:59-00:01", .dateRange),
        ("2001-01-01T00:00:00.5", .invalidDate),
    ]

    @Test(arguments: refused)
    func `a text that is no point in time is refused, not guessed at`(
        _ row: (text: String, fault: PropertyList.Fault)
    ) {
        for format in PropertyList.Format.allCases {
            #expect(throws: ConversionError(plistFault: row.fault)) { try encode(row.text, .init(format)) }
        }
    }

    @Test func `a fraction is refused in XML, dropped where the options say so, and kept in binary`() throws {
        #expect(throws: ConversionError(plistFault: .dateFraction)) { try encode("2001-01-01T00:00:00.50Z") }
        for (text, written) in [
            ("2001-01-01T00:00:00.999Z", "2001-01-01T00:00:00Z"), ("2000-12-31T23:59:59.5Z", "2000-12-31T23:59:59Z"),
        ] {
            let xml = try encode(text, .init(.xml) { $0.dateFractions = .drop })
            #expect(String(decoding: xml, as: UTF8.self).contains("<date>\(written)</date>"))
        }
        #expect(
            recordPlist(try encode("2001-01-01T00:00:00.50Z", .init(.binary)))
                == EventRecording([.date("2001-01-01T00:00:00.5Z")]))
    }

    static let fractions: [(seconds: Double, text: String)] = [
        (0, "2001-01-01T00:00:00Z"), (-0.0, "2001-01-01T00:00:00Z"), (0.5, "2001-01-01T00:00:00.5Z"),
        (-0.5, "2000-12-31T23:59:59.5Z"), (-1.25, "2000-12-31T23:59:58.75Z"), (0.1, "2001-01-01T00:00:00.1Z"),
        (-0.1, "2000-12-31T23:59:59.9Z"), (700_000_000.123456, "2023-03-08T20:26:40.123456Z"),
        (-63_114_076_800, "0000-12-30T00:00:00Z"), (1e-5, "2001-01-01T00:00:00.00001Z"),
        (-1.5e-5, "2000-12-31T23:59:59.999985Z"), (86_400, "2001-01-02T00:00:00Z"),
    ]

    @Test(arguments: fractions)
    func `a binary date has the digits that its double stands for, and they give it back`(
        _ row: (seconds: Double, text: String)
    ) throws {
        let body = binary(row.seconds)
        #expect(recordPlist(body) == EventRecording([.date(ByteString(row.text))]))
        #expect(try reencodePlist(body, .init(.binary)) == binary(row.seconds + 0))
    }

    @Test func `any binary date of these centuries gives its double back`() throws {
        var generator = PlistGenerator(state: 7)
        for _ in 0..<2000 {
            let seconds = Double.random(in: -5e9...5e9, using: &generator)
            #expect(try reencodePlist(binary(seconds), .init(.binary)) == binary(seconds))
            let whole = seconds.rounded()
            let xml = try reencodePlist(binary(whole))
            #expect(try foundationObject(xml) == Date(timeIntervalSinceReferenceDate: whole) as NSDate)
        }
    }

    @Test(arguments: [
        (.infinity, "plist_invalid_date"), (-.infinity, "plist_invalid_date"), (.nan, "plist_invalid_date"),
        (1e300, "plist_date_range"), (252_423_993_600, "plist_date_range"), (-63_145_699_201, "plist_date_range"),
        (1e-300, "plist_date_precision"), (-1e-300, "plist_date_precision"),
        (.leastNonzeroMagnitude, "plist_date_precision"),
    ])
    func `a binary date that no calendar text has is refused`(_ seconds: Double, _ code: String) {
        #expect(recordPlist(binary(seconds)).failure?.code == code)
    }
}
