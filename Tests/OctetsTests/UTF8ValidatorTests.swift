import Octets
import Testing

@Suite("UTF8Validator")
struct UTF8ValidatorTests {
    /// RFC 3629 §3 as it is written: assemble the number and look whether it is a scalar value in its shortest form.
    static func isOneCharacter(_ bytes: [UInt8]) -> Bool {
        guard let first = bytes.first, bytes.dropFirst().allSatisfy({ $0 & 0xC0 == 0x80 }) else { return false }
        let rest = bytes.dropFirst().reduce(UInt32(0)) { $0 << 6 | UInt32($1 & 0x3F) }
        switch bytes.count {
        case 1: return first < 0x80
        case 2: return first & 0xE0 == 0xC0 && UInt32(first & 0x1F) << 6 | rest >= 0x80
        case 3:
            let value = UInt32(first & 0x0F) << 12 | rest
            return first & 0xF0 == 0xE0 && value >= 0x800 && !(0xD800...0xDFFF).contains(value)
        case 4:
            let value = UInt32(first & 0x07) << 18 | rest
            return first & 0xF8 == 0xF0 && (0x1_0000...0x10_FFFF).contains(value)
        default: return false
        }
    }

    /// Both sides of each bound that a byte after the first can have.
    static let edges: [UInt8] = [0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF]

    @Test("Every first and second byte with every bound of the others is taken as RFC 3629 says")
    func everyCharacter() {
        var valid = 0
        func check(_ bytes: [UInt8]) {
            let expected = Self.isOneCharacter(bytes)
            // Sequences of several short characters are another matter.
            guard expected || bytes[0] >= 0x80 else { return }
            valid += expected ? 1 : 0
            if UTF8Validator.isValid(bytes.span) != expected { Issue.record("\(bytes)") }
        }
        for first in UInt8.min...UInt8.max {
            check([first])
            for second in UInt8.min...UInt8.max {
                check([first, second])
                guard first >= 0xE0 else { continue }
                for third in Self.edges {
                    check([first, second, third])
                    guard first >= 0xF0 else { continue }
                    for fourth in Self.edges { check([first, second, third, fourth]) }
                }
            }
        }
        #expect(valid > 7000)
    }

    @Test("Every scalar value is valid")
    func everyScalar() {
        var bytes: [UInt8] = []
        for value in UInt32(0)...0x10_FFFF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            bytes.append(contentsOf: UTF8.encode(scalar)!)
        }
        let isValid = UTF8Validator.isValid(bytes.span)
        #expect(isValid)
    }

    static let faults: [(bytes: [UInt8], index: Int)] = [
        ([0x80], 0), ([0x61, 0xFF], 1), ([0xC0, 0x80], 0), ([0xC1, 0xBF], 0), ([0xF5, 0x80], 0), ([0xC3, 0x28], 1),
        ([0xE0, 0x9F, 0x80], 1), ([0xED, 0xA0, 0x80], 1), ([0xF0, 0x8F, 0x80, 0x80], 1), ([0xF4, 0x90, 0x80, 0x80], 1),
        ([0xE2, 0x82, 0x28], 2), ([0xF0, 0x90, 0x80, 0x7F], 3), ([0x61, 0x62, 0xE2, 0x82, 0xAC, 0xAC], 5),
        (Array("0123456789abcdef".utf8) + [0xFE], 16), (Array("0123456é789abcdef".utf8) + [0xC3, 0xC3], 19),
    ]

    @Test("The first byte that can't be part of UTF-8 is named, wherever the bytes are cut", arguments: faults)
    func faultIndex(bytes: [UInt8], index: Int) {
        for cut in 0...bytes.count {
            var validator = UTF8Validator()
            let first = validator.check(bytes.span.extracting(0..<cut))
            if let first {
                #expect(first == index)
            } else {
                let second = validator.check(bytes.span.extracting(cut..<bytes.count))
                #expect(second.map { $0 + cut } == index)
            }
        }
    }

    /// Texts of one length of character each, and of all of them.
    static let texts = [
        "0123456789abcdef0123456789abcdef", "привет как дела сегодня", "これはテストの文章です日本語",
        "\u{1F600}\u{1F680}\u{1F44D}\u{1F3FD}\u{10FFFF}", "Größe ᄒ日 이 é\u{1F600}€€a€bcé€€€€€€é",
    ]

    @Test("A fault is named at every place of a long text, and a text without one is whole", arguments: texts)
    func faultInLongText(text: String) {
        for (fault, index) in Self.faults {
            var place = 0
            for scalar in text.unicodeScalars {
                var bytes = Array(text.utf8)
                bytes.insert(contentsOf: fault, at: place)
                for cut in [0, 1, place, place + 1, bytes.count] {
                    var validator = UTF8Validator()
                    let first = validator.check(bytes.span.extracting(0..<cut))
                    let second = first == nil ? validator.check(bytes.span.extracting(cut..<bytes.count)) : nil
                    #expect(first ?? second.map { $0 + cut } == place + index)
                }
                place += String(scalar).utf8.count
            }
            for cut in 0...text.utf8.count {
                var validator = UTF8Validator()
                let bytes = Array(text.utf8)
                let first = validator.check(bytes.span.extracting(0..<cut))
                let second = validator.check(bytes.span.extracting(cut..<bytes.count))
                #expect(first == nil && second == nil)
                #expect(validator.isComplete)
            }
        }
    }

    @Test("A text is complete between two characters only, wherever it is cut")
    func completeness() {
        let text = "aé€𐐷 0123456789 €"
        let bytes = Array(text.utf8)
        var ends: Set<Int> = [0]
        for scalar in text.unicodeScalars { ends.insert(ends.max()! + String(scalar).utf8.count) }
        for cut in 0...bytes.count {
            var validator = UTF8Validator()
            let first = validator.check(bytes.span.extracting(0..<cut))
            #expect(first == nil)
            #expect(validator.isComplete == ends.contains(cut))
            let isValid = UTF8Validator.isValid(bytes.span.extracting(0..<cut))
            #expect(isValid == ends.contains(cut))
            let second = validator.check(bytes.span.extracting(cut..<bytes.count))
            #expect(second == nil)
            #expect(validator.isComplete)
        }
    }
}
