internal import Octets

/// A character encoding of the WHATWG Encoding standard, by one of the labels that it lists (§4.2).
///
/// All are there that iconv knows, so without `replacement` and `x-user-defined`. As that standard has it, the labels of ISO 8859-1 and
/// US-ASCII stand for windows-1252, those of GB2312 and GBK are read as GB 18030, and `utf-16` is `utf-16le`, unless a byte order mark
/// says otherwise. Of the charsets of East Asia iconv's tables differ from the standard's in characters that makers have added.
/// (`StringResponseSerializer` reads ISO 8859-1 and US-ASCII by themselves.)
public struct Charset: Hashable, Sendable {
    /// The standard's name of it, in lower case.
    public let name: String
    /// iconv's name of it.
    internal let system: String

    /// UTF-8, which every text is in that goes on.
    public static let utf8 = Charset(name: "utf-8", system: "UTF-8")

    private init(name: String, system: String) {
        self.name = name
        self.system = system
    }

    /// Nil for what is no label. White space around it and case don't matter.
    public init?(label: String) {
        let trimmed = label.lowercased().split(whereSeparator: { " \t\r\n\u{c}".contains($0) })
        guard trimmed.count == 1, let charset = Self.labels[String(trimmed[0])] else { return nil }
        self = charset
    }

    internal init?(label: Span<UInt8>) {
        guard label.count <= Self.longestLabel else { return nil }
        self.init(label: String(decoding: label.copied(), as: UTF8.self))
    }

    internal var isUTF8: Bool { system == "UTF-8" }

    /// Bytes by which one goes on behind what is no text: what follows half of a surrogate pair is text again.
    internal var unitSize: Int { name.hasPrefix("utf-16") ? 2 : 1 }

    /// Whether the bytes 0x80 to 0x9F that stand for nothing are controls, as in the standard's tables of one byte a
    /// character.
    internal var hasControls: Bool { name.hasPrefix("windows-") }

    /// Where each byte is a character by itself, whatever follows: for those that iconv composes with the next one, and those of which it
    /// has another table than the standard. What it has otherwise is here.
    internal var ownBytes: [UInt8: Unicode.Scalar]? {
        switch name {
        case "koi8-u": [0xAE: "\u{45E}", 0xBE: "\u{40E}"]
        case "macintosh": [0xC6: "\u{2206}", 0xF0: "\u{F8FF}"]
        case "windows-1255": [0xCA: "\u{5BA}"]
        case "windows-1258": [:]
        case "x-mac-cyrillic": [0xFF: "\u{20AC}"]
        default: nil
        }
    }

    /// Whether this system can convert from it: glibc keeps most charsets in files of their own.
    public var isInstalled: Bool { isUTF8 || Transcoder(self, mode: nil) != nil }

    private static let longestLabel = 64

    /// A charset in each row: its name, iconv's name, and the labels other than the name.
    private static let table = """
        utf-8 UTF-8 unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf8 x-unicode20utf8
        ibm866 IBM866 866 cp866 csibm866
        iso-8859-2 ISO-8859-2 csisolatin2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2
        iso-8859-3 ISO-8859-3 csisolatin3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3
        iso-8859-4 ISO-8859-4 csisolatin4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4
        iso-8859-5 ISO-8859-5 csisolatincyrillic cyrillic iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988
        iso-8859-6 ISO-8859-6 arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6-e \
            iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987
        iso-8859-7 ISO-8859-7 csisolatingreek ecma-118 elot_928 greek greek8 iso-ir-126 iso8859-7 iso88597 \
            iso_8859-7 iso_8859-7:1987 sun_eu_greek
        iso-8859-8 ISO-8859-8 csiso88598e csisolatinhebrew hebrew iso-8859-8-e iso-ir-138 iso8859-8 iso88598 \
            iso_8859-8 iso_8859-8:1988 visual
        iso-8859-8-i ISO-8859-8 csiso88598i logical
        iso-8859-10 ISO-8859-10 csisolatin6 iso-ir-157 iso8859-10 iso885910 l6 latin6
        iso-8859-13 ISO-8859-13 iso8859-13 iso885913
        iso-8859-14 ISO-8859-14 iso8859-14 iso885914
        iso-8859-15 ISO-8859-15 csisolatin9 iso8859-15 iso885915 iso_8859-15 l9
        iso-8859-16 ISO-8859-16
        koi8-r KOI8-R cskoi8r koi koi8 koi8_r
        koi8-u KOI8-U koi8-ru
        macintosh MACINTOSH csmacintosh mac x-mac-roman
        windows-874 CP874 dos-874 iso-8859-11 iso8859-11 iso885911 tis-620
        windows-1250 CP1250 cp1250 x-cp1250
        windows-1251 CP1251 cp1251 x-cp1251
        windows-1252 CP1252 ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 \
            iso88591 iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii x-cp1252
        windows-1253 CP1253 cp1253 x-cp1253
        windows-1254 CP1254 cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 \
            l5 latin5 x-cp1254
        windows-1255 CP1255 cp1255 x-cp1255
        windows-1256 CP1256 cp1256 x-cp1256
        windows-1257 CP1257 cp1257 x-cp1257
        windows-1258 CP1258 cp1258 x-cp1258
        x-mac-cyrillic MAC-UK x-mac-ukrainian
        gbk GB18030 chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 iso-ir-58 x-gbk
        gb18030 GB18030
        big5 BIG5-HKSCS big5-hkscs cn-big5 csbig5 x-x-big5
        euc-jp EUC-JP-MS cseucpkdfmtjapanese x-euc-jp
        iso-2022-jp ISO-2022-JP csiso2022jp
        shift_jis CP932 csshiftjis ms932 ms_kanji shift-jis sjis windows-31j x-sjis
        euc-kr UHC cseuckr csksc56011987 iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 \
            windows-949
        utf-16be UTF-16BE unicodefffe
        utf-16le UTF-16LE csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16
        """

    private static let labels: [String: Charset] = {
        var labels: [String: Charset] = [:]
        for row in table.split(separator: "\n") {
            let words = row.split(separator: " ").map(String.init)
            let charset = Charset(name: words[0], system: words[1])
            for (index, label) in words.enumerated() where index != 1 { labels[label] = charset }
        }
        return labels
    }()
}

extension Charset {
    /// What is wrong with a text and its charset.
    internal enum Fault: ConversionFault {
        /// The bytes are none of the charset's.
        case invalid
        /// Nobody knows the charset, or it is not one that is taken.
        case unknown

        var row: ConversionError {
            switch self {
            case .invalid:
                .malformed(
                    "charset_invalid", "a name or a text has bytes that its charset has not", setting: "invalid_utf8")
            case .unknown:
                .unsupported("charset_unknown", "the text is in a charset that can't be read here", setting: "charset")
            }
        }
    }
}

/// The value of a field `_charset_`: the name of the charset that the texts to come are in.
internal struct CharsetField {
    static let name: StaticString = "_charset_"
    /// Bytes of the name of a charset.
    private static let limit = 64
    private var label = ByteStore()

    mutating func begin() { label.removeAll() }

    /// Takes a piece. Returns the charset behind the last one; throws where it isn't known.
    mutating func take(_ piece: Span<UInt8>, isLast: Bool, offset: Int) throws(ConversionError) -> Charset? {
        let isShort = label.count + piece.count <= Self.limit
        if isShort { label.append(contentsOf: piece) }
        if isShort, !isLast { return nil }
        guard isShort, let charset = Charset(label: label.span), charset.isInstalled else {
            throw Charset.Fault.unknown.error(offset: offset, field: "_charset_")
        }
        return charset
    }
}
