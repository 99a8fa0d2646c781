public import HTTPWire
internal import Octets
public import Transcoding

/// What a client's certificate says of it.
public enum CertificatePart: String, Hashable, Sendable, CaseIterable {
    /// Its subject (RFC 4514).
    case subject
    /// The names of hosts among its alternative names, with a comma and a space between them.
    case dns
    /// The only URI among its alternative names; several are nobody's name.
    case uri
    /// SHA-256 of the certificate itself, in hexadecimal digits.
    case sha256
}

/// A certificate that a client has shown, and that was verified.
package protocol ClientCertificate {
    /// Appends that part of it, or nothing where it has none.
    func append(_ part: CertificatePart, to output: inout [UInt8])
}

/// A value that is taken from the request's head: `${header.x-tenant}`, `${path.id}`, `${query.q}`, `${client.ip}`,
/// or from the certificate of its connection, `${client.certificate.subject}`, alone or inside a longer text. It is a value only:
/// whatever it holds is never read as syntax.
public indirect enum SourceReference: Hashable, Sendable {
    /// A field's value by its name in lower case; several lines are joined by a comma and a space (RFC 9110 §5.2), and
    /// a field that is missing is the empty text.
    case header(String)
    /// The variable at this index of the route's path, percent-decoded, and its name.
    case path(Int, String)
    /// The first parameter of this name in the target's query, decoded as forms are; empty when there is none.
    case query(String)
    /// The address of the client's end of the connection, without a port.
    case clientAddress
    /// A part of the certificate that the client's end of the connection has shown; empty where it has shown none. For fields alone.
    case clientCertificate(CertificatePart)
    /// Texts and values one behind the other.
    case literalMix([Piece])

    public enum Piece: Hashable, Sendable {
        case literal(String)
        case source(SourceReference)
    }

    /// Appends the value. Throws when it is not UTF-8, because then neither JSON nor a form can carry it.
    public func append(
        from head: borrowing MessageHead, captures: PathCaptures, client: Span<UInt8>,
        to output: inout [UInt8]
    ) throws(ConversionError) {
        if case .literalMix(let pieces) = self {
            for piece in pieces {
                switch piece {
                case .literal(let text): output.append(contentsOf: text.utf8)
                case .source(let source):
                    try source.append(from: head, captures: captures, client: client, to: &output)
                }
            }
            return
        }
        let start = output.count
        appendOctets(from: head, captures: captures, client: client, to: &output)
        guard UTF8Validator.isValid(output.span.extracting(start..<output.count)) else {
            throw ConversionError(
                .malformed, code: "source_invalid_utf8", reason: "the value of \(description) is not UTF-8")
        }
    }

    /// What Vary is to name for what has the value: the fields that are the value or parts of it, in lower case, and a star for the
    /// client's address and its certificate, which no field tells (RFC 9110 §12.5.5).
    package var fieldNames: [String] {
        switch self {
        case .header(let name): [name]
        case .literalMix(let pieces):
            pieces.flatMap { if case .source(let source) = $0 { source.fieldNames } else { [String]() } }
        case .clientAddress, .clientCertificate: ["*"]
        case .path, .query: []
        }
    }

    /// Whether a variable of the path is the value or part of it.
    var readsPath: Bool {
        switch self {
        case .path: true
        case .literalMix(let pieces):
            pieces.contains { if case .source(let source) = $0 { source.readsPath } else { false } }
        case .header, .query, .clientAddress, .clientCertificate: false
        }
    }

    /// Whether the client's address is the value or part of it.
    var readsClient: Bool {
        switch self {
        case .clientAddress: true
        case .literalMix(let pieces):
            pieces.contains { if case .source(let source) = $0 { source.readsClient } else { false } }
        case .header, .path, .query, .clientCertificate: false
        }
    }

    /// Whether the client's certificate is the value or part of it.
    package var readsCertificate: Bool {
        switch self {
        case .clientCertificate: true
        case .literalMix(let pieces):
            pieces.contains { if case .source(let source) = $0 { source.readsCertificate } else { false } }
        case .header, .path, .query, .clientAddress: false
        }
    }

    /// Appends the value, whatever bytes it has: a field takes more than UTF-8, but not all of them.
    public func appendOctets(
        from head: borrowing MessageHead, captures: PathCaptures, client: Span<UInt8>, to output: inout [UInt8]
    ) {
        appendOctets(from: head, captures: captures, client: client, nil, to: &output)
    }

    private func appendOctets(
        from head: borrowing MessageHead, captures: PathCaptures, client: Span<UInt8>,
        _ certificate: (any ClientCertificate)?, to output: inout [UInt8]
    ) {
        switch self {
        case .literalMix(let pieces):
            for piece in pieces {
                switch piece {
                case .literal(let text): output.append(contentsOf: text.utf8)
                case .source(let source):
                    source.appendOctets(from: head, captures: captures, client: client, certificate, to: &output)
                }
            }
        case .clientAddress:
            output.append(contentsOf: client)
        case .clientCertificate(let part): certificate?.append(part, to: &output)
        case .path(let index, _):
            PercentText.decode(head.path.extracting(captures[index]), plusIsSpace: false, to: &output)
        case .query(let name):
            if let query = head.query, let value = QueryText.value(of: name.utf8Span.span, in: query) {
                PercentText.decode(query.extracting(value), plusIsSpace: true, to: &output)
            }
        case .header(let name): _ = head.appendValue(named: name.utf8Span.span, to: &output)
        }
    }

    /// As above, for a field's value: white space at its ends is none of it (RFC 9110 §5.5), and no message of HTTP/2 has any there
    /// (RFC 9113 §8.2.1).
    package func appendFieldValue(
        from head: borrowing MessageHead, captures: PathCaptures, client: Span<UInt8>,
        _ certificate: (any ClientCertificate)? = nil, to output: inout [UInt8]
    ) {
        let start = output.count
        appendOctets(from: head, captures: captures, client: client, certificate, to: &output)
        let value = output.span.rangeWithoutBlanks(in: start..<output.count)
        output.removeLast(output.count - value.upperBound)
        if value.lowerBound > start { output.removeSubrange(start..<value.lowerBound) }
    }
}

extension MessageHead {
    /// Appends the value of the field of this name; those of several lines with a comma and a space between them (RFC 9110 §5.2). Returns
    /// whether there is one.
    package func appendValue(named name: Span<UInt8>, to output: inout [UInt8]) -> Bool {
        var start = 0
        while let line = first(named: name, from: start) {
            if start > 0 { output.append(contentsOf: ", ".utf8) }
            output.append(contentsOf: value(line))
            start = line + 1
        }
        return start > 0
    }
}

extension SourceReference: CustomStringConvertible {
    /// As the settings write it; a variable of the path by its number.
    public var description: String {
        switch self {
        case .header(let name): "${header.\(name)}"
        case .path(_, let name): "${path.\(name)}"
        case .query(let name): "${query.\(name)}"
        case .clientAddress: "${client.ip}"
        case .clientCertificate(let part): "${client.certificate.\(part.rawValue)}"
        case .literalMix(let pieces):
            pieces.map { piece in
                switch piece {
                case .literal(let text): text.replacing("${", with: "$${")
                case .source(let source): source.description
                }
            }.joined()
        }
    }
}
