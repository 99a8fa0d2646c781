internal import Octets

/// Makes the bytes of a file from the text that stands for it, in pieces cut anywhere.
///
/// A data URL has at most 256 bytes before its comma; those are all that is held.
internal struct FileText {
    /// What is wrong with a text: the error's code and reason.
    struct Fault: Error {
        let code: String
        let reason: String
    }

    private enum Place {
        /// In what may be a data URL's part before the comma; goes to `body`.
        case lead
        /// In the base64 text, or in what a data URL has instead.
        case body
    }

    /// How far an escape of a data URL has come.
    private enum Escape {
        case none, percent
        /// With the first digit's value.
        case digit(UInt8)
    }

    /// Bytes of a data URL up to its comma.
    private static var leadLimit: Int { 256 }

    /// Bytes that are certain and not taken yet.
    var decoded = OutputBuffer()
    /// The file's type, where a data URL gives one.
    private(set) var mediaType = ByteStore()
    private var source = FileSource.base64
    private var place = Place.lead
    private var lead = ByteStore()
    private var base64 = Base64Decoder()
    /// A piece with the alphabet of RFC 4648 §4, and the characters so far, for the padding that may be missing.
    private var translated = ByteStore()
    private var characters = 0
    private var hasPadding = false
    private var isURL = false
    /// Whether a data URL says that its data are base64.
    private var isBase64 = true
    private var escape = Escape.none

    /// Begins another text.
    mutating func begin(_ source: FileSource) {
        self.source = source
        place = source == .base64 || source == .dataURL ? .lead : .body
        lead.removeAll()
        mediaType.removeAll()
        base64 = Base64Decoder()
        decoded.removeAll()
        (characters, hasPadding, isURL) = (0, false, false)
        (isBase64, escape) = (true, .none)
    }

    /// How a text is written that says what this one did; known at its end.
    var form: FileHold.Text {
        if source == .base64url { return .base64url(isPadded: hasPadding || characters % 4 == 0) }
        return isURL ? .dataURL : .base64
    }

    /// Whether it is known what the text says of the file before its bytes.
    var isOpen: Bool { place == .body }

    /// Takes a piece and adds to `decoded` what it makes certain. After the last one the file `isOpen` in any case.
    mutating func take(_ piece: Span<UInt8>, isLast: Bool) throws(Fault) {
        guard place == .lead else { return try takeBody(piece, isLast: isLast) }
        let scheme: StaticString = "data:"
        var at = 0
        var isURL: Bool?
        // A piece may end anywhere in what is quoted.
        var quotes = QuotedPlace(in: lead)
        while at < piece.count {
            let byte = piece[at]
            if lead.count < scheme.utf8CodeUnitCount {
                // SAFETY: the index is below the literal's length.
                guard unsafe ASCII.lowercased(byte) == scheme.utf8Start[lead.count] else {
                    isURL = false
                    break
                }
            } else if byte == UInt8(ascii: ","), !quotes.isQuoted {
                at += 1
                isURL = true
                break
            } else if lead.count == Self.leadLimit {
                throw urlFault("a data URL has at most \(Self.leadLimit) bytes before its comma")
            }
            lead.append(byte)
            quotes.move(over: byte)
            at += 1
        }
        guard isURL != nil || isLast else { return }
        place = .body
        if isURL == true {
            self.isURL = true
            try takeMediaType()
        } else if lead.count >= scheme.utf8CodeUnitCount {
            throw urlFault("the data URL has no comma")
        } else if source == .dataURL {
            throw urlFault("the text is no data URL (RFC 2397)")
        } else if !lead.isEmpty {
            let beginning = lead
            try takeBody(beginning.span, isLast: false)
        }
        try takeBody(piece.extracting(at..<piece.count), isLast: isLast)
    }

    /// Reads `data:TYPE` and what may follow, `;base64`, which `lead` holds.
    private mutating func takeMediaType() throws(Fault) {
        let mark: StaticString = ";base64"
        var end = lead.count - mark.utf8CodeUnitCount
        isBase64 = end >= 5 && lead.slice(end..<lead.count).isEqualIgnoringCase(to: mark)
        guard isBase64 || source == .dataURL else { throw urlFault("the data URL doesn't hold base64") }
        if !isBase64 { end = lead.count }
        // RFC 2397 §3: text/plain where no type is named.
        if end > 5 ? lead[5] == UInt8(ascii: ";") : source == .dataURL { mediaType.append("text/plain") }
        if end == 5, source == .dataURL { mediaType.append(";charset=US-ASCII") }
        mediaType.append(lead, 5..<end)
        if !mediaType.isEmpty, !ContentType.isMediaType(mediaType.span) {
            throw urlFault("the data URL's type is none")
        }
    }

    private mutating func takeBody(_ piece: Span<UInt8>, isLast: Bool) throws(Fault) {
        if source == .base64url {
            try takeURLSafe(piece, isLast: isLast)
        } else if isURL {
            try takeURLData(piece, isLast: isLast)
        } else if base64.decode(piece, into: &decoded) != nil {
            throw Fault(code: "file_base64", reason: "the text is not base64 (RFC 4648 section 4)")
        }
        if isLast, !base64.finish() {
            throw Fault(code: "file_base64", reason: "the base64 text ends within four characters")
        }
    }

    /// Takes what stands behind the comma of a data URL: characters, of which any may be percent-encoded (RFC 2397 §3).
    private mutating func takeURLData(_ piece: Span<UInt8>, isLast: Bool) throws(Fault) {
        if case .none = escape, Scan.firstIndex(of: UInt8(ascii: "%"), in: piece) == nil {
            return try takeData(piece)
        }
        translated.removeAll()
        for index in piece.indices {
            let byte = piece[index]
            switch escape {
            case .none where byte == UInt8(ascii: "%"): escape = .percent
            case .none: translated.append(byte)
            case .percent:
                guard let high = ASCII.hexValue(byte) else { throw urlFault(Self.escapeReason) }
                escape = .digit(high)
            case .digit(let high):
                guard let low = ASCII.hexValue(byte) else { throw urlFault(Self.escapeReason) }
                translated.append(high << 4 | low)
                escape = .none
            }
        }
        if isLast {
            guard case .none = escape else { throw urlFault(Self.escapeReason) }
        }
        let characters = translated
        try takeData(characters.span)
    }

    private mutating func takeData(_ piece: Span<UInt8>) throws(Fault) {
        guard isBase64 else { return decoded.append(piece) }
        guard base64.decode(piece, into: &decoded) == nil else {
            throw Fault(code: "file_base64", reason: "the data URL's data are not base64 (RFC 4648 section 4)")
        }
    }

    private static var escapeReason: String { "the data URL has a percent sign without two digits" }

    private mutating func takeURLSafe(_ piece: Span<UInt8>, isLast: Bool) throws(Fault) {
        translated.removeAll()
        for index in piece.indices {
            switch piece[index] {
            case UInt8(ascii: "-"): translated.append(UInt8(ascii: "+"))
            case UInt8(ascii: "_"): translated.append(UInt8(ascii: "/"))
            case UInt8(ascii: "+"), UInt8(ascii: "/"): throw Self.urlSafeFault
            case let byte:
                if byte == UInt8(ascii: "=") { hasPadding = true }
                translated.append(byte)
            }
        }
        characters += piece.count
        // Four characters hold three bytes; what misses at the end is padding, unless some of it is there.
        if isLast, !hasPadding, characters % 4 > 1 {
            for _ in 0..<4 - characters % 4 { translated.append(UInt8(ascii: "=")) }
        }
        guard base64.decode(translated, into: &decoded) == nil else { throw Self.urlSafeFault }
    }

    private static var urlSafeFault: Fault {
        Fault(code: "file_base64", reason: "the text is not base64url (RFC 4648 section 5)")
    }

    private func urlFault(_ reason: String) -> Fault {
        Fault(code: source == .dataURL ? "file_data_url" : "file_base64", reason: reason)
    }
}

/// Whether the next character of a data URL's type stands in quotes, where a comma is one of a parameter's.
private struct QuotedPlace {
    private(set) var isQuoted = false
    private var isAfterBackslash = false

    init(in lead: ByteStore) {
        for at in 0..<lead.count { move(over: lead[at]) }
    }

    mutating func move(over byte: UInt8) {
        if isAfterBackslash {
            isAfterBackslash = false
        } else if byte == UInt8(ascii: "\"") {
            isQuoted.toggle()
        } else {
            isAfterBackslash = isQuoted && byte == UInt8(ascii: "\\")
        }
    }
}

extension Base64Decoder {
    fileprivate mutating func decode(_ text: ByteStore, into output: inout OutputBuffer) -> Int? {
        decode(text.span, into: &output)
    }
}
