internal import Octets

/// A pair of a form as qs takes it apart, which needs the whole of it.
///
/// - `%5B` and `%5D` are brackets before anything else. The name ends at the first `]=`, and where there is none, at the
///   first `=`.
/// - A name or a value is decoded as a whole, or stays as it is but for `+`, which is a space: where a percent sign begins no
///   escape, or the escapes are not UTF-8 (`decodeURIComponent`). Under `arrays: comma` that goes for each value between
///   commas.
internal struct QSPair: Sendable {
    /// What stands in a value for a comma that came as `%2C`, under `arrays: comma`: no byte of UTF-8.
    static let textComma: UInt8 = 0xFF

    private(set) var name = ByteStore()
    private(set) var value = ByteStore()
    private(set) var hasValue = false
    private var pair = ByteStore()
    private var decoded = ByteStore()
    private let options: FieldDecodingOptions
    private let splitsAtCommas: Bool

    init(options: FieldDecodingOptions) {
        self.options = options
        splitsAtCommas = options.arrays == .comma && options.readsNamesAsLibrary
    }

    /// Takes a pair apart. `percent: strict` refuses a percent sign that begins no escape; bytes that are not UTF-8 are
    /// refused, or mended as `invalid_utf8` says, and then escapes that are not UTF-8 are mended too.
    ///
    /// Errors have the offset of the pair.
    mutating func read(_ raw: Span<UInt8>, offset: Int) throws(ConversionError) {
        pair.removeAll()
        var at = 0
        while let percent = Scan.firstIndex(of: UInt8(ascii: "%"), in: raw, from: at) {
            let stop = percent + 3
            if stop <= raw.count, raw[percent + 1] == UInt8(ascii: "5"),
                case let letter = raw[percent + 2] | 0x20, letter == UInt8(ascii: "b") || letter == UInt8(ascii: "d")
            {
                pair.append(contentsOf: raw.extracting(at..<percent))
                pair.append(UInt8(ascii: letter == UInt8(ascii: "b") ? "[" : "]"))
                at = stop
            } else {
                pair.append(contentsOf: raw.extracting(at...percent))
                at = percent + 1
            }
        }
        pair.append(contentsOf: raw.extracting(at...))
        let split = separator
        hasValue = split != nil
        try decode(0..<(split ?? pair.count), isValue: false, offset)
        swap(&name, &decoded)
        value.removeAll()
        guard let split else { return }
        guard splitsAtCommas else {
            try decode(split + 1..<pair.count, isValue: true, offset)
            return swap(&value, &decoded)
        }
        var start = split + 1
        for at in start...pair.count where at == pair.count || pair[at] == UInt8(ascii: ",") {
            if start > split + 1 { value.append(UInt8(ascii: ",")) }
            try decode(start..<at, isValue: true, offset)
            for index in 0..<decoded.count {
                value.append(decoded[index] == UInt8(ascii: ",") ? Self.textComma : decoded[index])
            }
            start = at + 1
        }
    }

    /// Where the `=` between name and value stands.
    private var separator: Int? {
        guard let first = Scan.firstIndex(of: UInt8(ascii: "="), in: pair.span) else { return nil }
        var at: Int? = first
        while let equals = at {
            if equals > 0, pair[equals - 1] == UInt8(ascii: "]") { return equals }
            at = Scan.firstIndex(of: UInt8(ascii: "="), in: pair.span, from: equals + 1)
        }
        return first
    }

    /// Makes the text of the bytes at `range`, in `decoded`.
    private mutating func decode(_ range: Range<Int>, isValue: Bool, _ offset: Int) throws(ConversionError) {
        // The bytes move out for the call, which is given a span into self.
        var text = ByteStore()
        swap(&text, &decoded)
        text.removeAll()
        // No pair has a `&`, so it ends with the range, or at a percent sign that begins no escape.
        let run = text.append(formDecoding: pair.span, from: range.lowerBound, to: range.upperBound)
        swap(&text, &decoded)
        let isWhole = run.end == range.upperBound
        if !isWhole, options.percent == .strict {
            throw Form.Fault.percent.error(offset: offset, field: isValue ? name.span.lossyString() : nil)
        }
        if isWhole, run.isASCII || UTF8Validator.isValid(decoded.span) { return }
        let isText = UTF8Validator.isValid(pair.slice(range))
        if isText, !isWhole || options.invalidUTF8 == .reject { return leaveEscaped(range) }
        guard var repair = options.repair else {
            throw Form.Fault.invalidUTF8.error(offset: offset, field: isValue ? name.span.lossyString() : nil)
        }
        if !isWhole { leaveEscaped(range) }
        var mended: [UInt8] = []
        repair.append(decoded.span, to: &mended)
        repair.finish(to: &mended)
        decoded.removeAll()
        decoded.append(contentsOf: mended)
    }

    private mutating func leaveEscaped(_ range: Range<Int>) {
        decoded.removeAll()
        for at in range { decoded.append(pair[at] == UInt8(ascii: "+") ? ASCII.space : pair[at]) }
    }
}
