internal import Octets

/// Undoes the Content-Transfer-Encoding of a part (RFC 2045 §6), wherever it is cut.
internal struct TransferDecoder {
    enum Encoding {
        case identity, base64, quotedPrintable

        /// Nil for what can't be undone.
        init?(_ token: Span<UInt8>) {
            if PartHeadReader.isIdentity(token) {
                self = .identity
            } else if token.isEqualIgnoringCase(to: "base64") {
                self = .base64
            } else if token.isEqualIgnoringCase(to: "quoted-printable") {
                self = .quotedPrintable
            } else {
                return nil
            }
        }
    }

    /// Bytes that are certain and not taken yet.
    var decoded = OutputBuffer()
    private var encoding = Encoding.identity
    private var base64 = Base64Decoder()
    private var quotedPrintable = QuotedPrintableDecoder()

    mutating func begin(_ encoding: Encoding) {
        self.encoding = encoding
        base64 = Base64Decoder()
        quotedPrintable = QuotedPrintableDecoder()
        decoded.removeAll()
    }

    /// Takes a piece. Returns nil, or the index of the byte at fault, which is the count where the end is too early.
    mutating func decode(_ piece: Span<UInt8>, isLast: Bool) -> Int? {
        switch encoding {
        case .identity: decoded.append(piece)
        case .base64:
            if let fault = decodeLines(piece) { return fault }
            if isLast, !base64.finish() { return piece.count }
        case .quotedPrintable:
            if let fault = quotedPrintable.decode(piece, into: &decoded) { return fault }
            if isLast, !quotedPrintable.finish() { return piece.count }
        }
        return nil
    }

    /// Base64 in lines (§6.8), whose ends are no part of it.
    private mutating func decodeLines(_ piece: Span<UInt8>) -> Int? {
        let (cr, lf) = (ASCII.carriageReturn, ASCII.lineFeed)
        var at = 0
        while at < piece.count {
            let end = Scan.firstIndex(ofAny: cr, lf, cr, lf, in: piece, from: at)
            if let fault = base64.decode(piece.extracting(at..<end), into: &decoded) { return at + fault }
            at = end
            while at < piece.count, piece[at] == cr || piece[at] == lf { at += 1 }
        }
        return nil
    }
}
