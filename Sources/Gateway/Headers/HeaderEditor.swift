package import HTTPWire
package import Octets
internal import Transcoding

/// A route's `HeaderRules`, prepared; a route without any has none of these.
package final class HeaderEditors: Sendable {
    package let request: HeaderEditor?
    package let response: HeaderEditor?
    /// Whether a value is taken from the request.
    package let hasSources: Bool
    package let readsClient: Bool
    package let readsCertificate: Bool

    /// Nil when there are no rules.
    ///
    /// - Parameter editsResponses: whether fields are added to responses besides, so that there is an editor of theirs anyway: it
    ///   costs routes without nothing.
    package init?(_ rules: HeaderRules, editsResponses: Bool = false) {
        if rules.request.isEmpty, rules.response.isEmpty, !editsResponses { return nil }
        request = rules.request.isEmpty ? nil : HeaderEditor(rules.request)
        response = rules.response.isEmpty && !editsResponses ? nil : HeaderEditor(rules.response)
        hasSources = request?.hasSources == true || response?.hasSources == true
        let fields = [rules.request, rules.response].flatMap { $0.set + $0.add }
        readsClient = fields.contains { $0.value.readsClient }
        readsCertificate = fields.contains { $0.value.readsCertificate }
    }
}

/// How many lines rules left out or replaced, and how many they wrote.
public struct HeaderEditCount: Equatable, Sendable {
    public var dropped = 0
    public var written = 0

    @inlinable
    public init() {}
}

/// The edits of one side's heads. What needs nothing of the request is encoded once, here.
package final class HeaderEditor: Sendable {
    private enum Line {
        /// With its line end.
        case constant([UInt8])
        /// `Name: `, and what follows it.
        case source([UInt8], SourceReference)
    }

    /// In lower case, with `-` for `_`, so that no name passes that a server of the CGI family reads as one that went.
    private let names: [[UInt8]]
    private let prefixes: [[UInt8]]
    private let lines: [Line]
    /// The lines that need nothing of the request.
    package let constants: [UInt8]
    package let hasSources: Bool
    /// The request's fields among the values, in lower case: with another one the head would be another.
    package let sourceFields: [String]
    /// The fields with such values: their names, in lower case, and which of the request's they are taken from.
    let sources: [(name: String, fields: [String])]

    package init(_ edits: HeaderEdits) {
        func folded(_ name: String) -> [UInt8] { name.utf8.map(Self.folded) }
        names = edits.remove.filter { !$0.isPrefix }.map { folded($0.name) } + edits.set.map { folded($0.name) }
        prefixes = edits.remove.filter(\.isPrefix).map { folded($0.name) }
        lines = (edits.set + edits.add).map { field in
            if case .literalMix(let pieces) = field.value, let text = Self.text(of: pieces) {
                return .constant(Array("\(field.name): \(text)\r\n".utf8))
            }
            return .source(Array("\(field.name): ".utf8), field.value)
        }
        constants = lines.flatMap { if case .constant(let line) = $0 { line } else { [UInt8]() } }
        hasSources = lines.contains { if case .source = $0 { true } else { false } }
        sources = (edits.set + edits.add).map { ($0.name.lowercased(), $0.value.fieldNames) }.filter { !$0.1.isEmpty }
        sourceFields = Set(sources.flatMap(\.fields)).sorted()
    }

    private static func text(of pieces: [SourceReference.Piece]) -> String? {
        var text = ""
        for piece in pieces {
            guard case .literal(let literal) = piece else { return nil }
            text += literal
        }
        return text
    }

    @inline(__always)
    private static func folded(_ byte: UInt8) -> UInt8 {
        if byte == UInt8(ascii: "_") { return UInt8(ascii: "-") }
        return byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
    }

    /// Appends all lines, with values from the request. Throws, in mid-line, for a value that no field can have.
    package func appendLines(
        from head: borrowing MessageHead, captures: PathCaptures, client: Span<UInt8>,
        _ certificate: (any ClientCertificate)? = nil, to output: inout [UInt8]
    ) throws(HeaderValueFault) {
        for line in lines { try append(line, from: head, captures, client, certificate, to: &output) }
    }

    /// As `appendLines`, without the lines whose value no field can have.
    package func appendFittingLines(
        from head: borrowing MessageHead, captures: PathCaptures, client: Span<UInt8>,
        _ certificate: (any ClientCertificate)? = nil, to output: inout [UInt8]
    ) {
        for line in lines {
            let start = output.count
            do throws(HeaderValueFault) {
                try append(line, from: head, captures, client, certificate, to: &output)
            } catch {
                output.removeLast(output.count - start)
            }
        }
    }

    private func append(
        _ line: Line, from head: borrowing MessageHead, _ captures: PathCaptures, _ client: Span<UInt8>,
        _ certificate: (any ClientCertificate)?, to output: inout [UInt8]
    ) throws(HeaderValueFault) {
        switch line {
        case .constant(let bytes): output.append(contentsOf: bytes)
        case .source(let name, let source):
            let start = output.count
            output.append(contentsOf: name)
            let value = output.count
            source.appendFieldValue(from: head, captures: captures, client: client, certificate, to: &output)
            guard output.count > value else { return output.removeLast(output.count - start) }
            guard output.count - value <= HeaderEdits.valueLimit else { throw .tooLong }
            guard HeadWriter.isFieldValue(output.span.extracting(value..<output.count)) else { throw .control }
            output.append(ASCII.carriageReturn)
            output.append(ASCII.lineFeed)
        }
    }

    /// Edits the field lines that `output` ends with, as `PassedFields.write` and what follows it have written them; from
    /// `position.new` on they are ours, which no prefix removes. `lines` are those to write.
    package func apply(
        to output: inout OutputBuffer, at position: PassedFields.Position, adding lines: Span<UInt8>
    ) -> HeaderEditCount {
        var count = HeaderEditCount()
        if !names.isEmpty || !prefixes.isEmpty {
            var at = position.fields
            var own = position.new
            // Neighbours that go, go together.
            var first: Int?
            while true {
                let isEnd = at >= output.count
                let next = isEnd ? at : Self.lineEnd(output.span, at)
                if !isEnd, removes(output.span.extracting(at..<next), isOurs: at >= own) {
                    count.dropped += 1
                    if first == nil { first = at }
                    at = next
                    continue
                }
                if let from = first {
                    output.remove(from..<at)
                    if from < own { own -= at - from }
                    first = nil
                    at = from
                    continue
                }
                if isEnd { break }
                at = next
            }
        }
        output.append(lines)
        count.written = Self.lineCount(lines)
        return count
    }

    /// Appends those of `lines` whose names aren't among the field lines that `output` ends with, from `start` on: in an
    /// answer of ours, what we say of it stands. Returns how many.
    package static func appendOthers(_ lines: Span<UInt8>, to output: inout OutputBuffer, from start: Int) -> Int {
        let ours = output.count
        var written = 0
        var at = 0
        while at < lines.count {
            let end = lineEnd(lines, at)
            let line = lines.extracting(at..<end)
            at = end
            let name = line.extracting(0..<nameEnd(line))
            var isThere = false
            var at = start
            while at < ours, !isThere {
                let next = lineEnd(output.span, at)
                let other = output.span.extracting(at..<next)
                isThere = other.extracting(0..<nameEnd(other)).isEqualIgnoringCase(to: name)
                at = next
            }
            if isThere { continue }
            output.append(line)
            written += 1
        }
        return written
    }

    func removes(_ line: Span<UInt8>, isOurs: Bool) -> Bool {
        let end = Self.nameEnd(line)
        for name in names where name.count == end && Self.begins(line, with: name.span) { return true }
        if isOurs { return false }
        for prefix in prefixes where prefix.count <= end && Self.begins(line, with: prefix.span) { return true }
        return false
    }

    private static func begins(_ line: Span<UInt8>, with name: Span<UInt8>) -> Bool {
        for index in name.indices where folded(line[index]) != name[index] { return false }
        return true
    }

    /// The index behind the line that starts at `start`: every one ends in CRLF, and no value holds LF.
    private static func lineEnd(_ bytes: Span<UInt8>, _ start: Int) -> Int {
        guard let end = Scan.firstIndex(of: ASCII.lineFeed, in: bytes, from: start) else { return bytes.count }
        return end + 1
    }

    private static func nameEnd(_ line: Span<UInt8>) -> Int {
        Scan.firstIndex(of: UInt8(ascii: ":"), in: line, from: 0) ?? line.count
    }

    private static func lineCount(_ lines: Span<UInt8>) -> Int {
        var count = 0
        for index in lines.indices where lines[index] == ASCII.lineFeed { count += 1 }
        return count
    }
}

extension HeaderEdits {
    /// Whether a field of that name is taken away, or replaced. `isOurs`: whether the proxy itself has written it.
    public func removes(_ name: String, isOurs: Bool = false) -> Bool {
        HeaderEditor(self).removes(Array("\(name):".utf8).span, isOurs: isOurs)
    }
}

/// Why a value that a header rule takes from the request can be none of a field.
package enum HeaderValueFault: Error {
    /// It holds CR, LF, NUL or another control: a line of its own could begin there.
    case control
    /// It is longer than `HeaderEdits.valueLimit`.
    case tooLong
}
