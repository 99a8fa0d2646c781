import Octets
import Serialization
import Transcoding

/// A document of a test, written as JSON, that keeps the order of keys and the text of numbers and sends its events.
///
/// It takes what the tables and vectors of this folder hold and stops with a precondition at anything else.
struct FormTestDocument {
    private indirect enum Node {
        case null
        case bool(Bool)
        case number([UInt8])
        case string([UInt8])
        case array([Node])
        case object([([UInt8], Node)])
    }

    private let root: Node

    init(_ json: String) {
        var reader = Reader(bytes: Array(json.utf8))
        root = reader.value()
        reader.space()
        precondition(reader.at == reader.bytes.count, "text after the document: \(json)")
    }

    private init(_ node: Node) { root = node }

    /// The value of a member of an object, or nil.
    subscript(key: String) -> FormTestDocument? {
        guard case .object(let members) = root else { return nil }
        return members.first { $0.0 == Array(key.utf8) }.map { FormTestDocument($0.1) }
    }

    /// The names of an object's members.
    var memberNames: [String] {
        guard case .object(let members) = root else { return [] }
        return members.map { String(decoding: $0.0, as: UTF8.self) }
    }

    /// The document with the tags of `afn-vectors.json` replaced: `$double` by a number with a fraction or an exponent,
    /// `$dict` by an object, `$data` by its base64 text, which a sink without bytes gets too.
    var untagged: FormTestDocument { FormTestDocument(Self.untagged(root)) }

    private static func untagged(_ node: Node) -> Node {
        switch node {
        case .null, .bool, .number, .string: return node
        case .array(let nodes): return .array(nodes.map(untagged))
        case .object(let members):
            guard members.count == 1, let (name, value) = members.first else {
                return .object(members.map { ($0, untagged($1)) })
            }
            switch (String(decoding: name, as: UTF8.self), value) {
            case ("$double", .string(let text)):
                let isInteger = text.allSatisfy { $0 == UInt8(ascii: "-") || ASCII.isDigit($0) }
                return .number(isInteger ? text + Array(".0".utf8) : text)
            case ("$data", .string): return value
            case ("$dict", .array(let pairs)):
                return .object(
                    pairs.map { pair in
                        guard case .array(let both) = pair else { preconditionFailure("a pair") }
                        let key = FormTestDocument(both[0])
                        return (key.bytes ?? Array(key.canonical.utf8), untagged(both[1]))
                    })
            default: return .object([(name, untagged(value))])
            }
        }
    }

    var elements: [FormTestDocument] {
        guard case .array(let nodes) = root else { return [] }
        return nodes.map { FormTestDocument($0) }
    }

    /// The members of an object, each name as a string of its own.
    var members: [(name: FormTestDocument, value: FormTestDocument)] {
        guard case .object(let members) = root else { return [] }
        return members.map { (FormTestDocument(.string($0.0)), FormTestDocument($0.1)) }
    }

    var text: String? {
        guard case .string(let bytes) = root else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    var bytes: [UInt8]? {
        guard case .string(let bytes) = root else { return nil }
        return bytes
    }

    /// The document as JSON without spaces, for keys of tables.
    var canonical: String {
        switch root {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .number(let text): String(decoding: text, as: UTF8.self)
        case .string(let text): "\"" + String(decoding: text, as: UTF8.self) + "\""
        case .array(let nodes): "[" + nodes.map { FormTestDocument($0).canonical }.joined(separator: ",") + "]"
        case .object(let members):
            "{"
                + members.map { "\"" + String(decoding: $0, as: UTF8.self) + "\":" + FormTestDocument($1).canonical }
                .joined(separator: ",") + "}"
        }
    }

    /// Sends the events; strings in pieces of `pieceSize` bytes.
    func send<Sink: EventSink & ~Copyable>(into sink: inout Sink, pieceSize: Int = .max) throws(ConversionError) {
        try Self.send(root, into: &sink, pieceSize)
    }

    private static func send<Sink: EventSink & ~Copyable>(
        _ node: Node, into sink: inout Sink, _ pieceSize: Int
    ) throws(ConversionError) {
        switch node {
        case .null: try sink.null()
        case .bool(let value): try sink.bool(value)
        case .number(let text): try sink.number(text.span)
        case .string(let text):
            var start = 0
            while text.count - start > pieceSize {
                try sink.string(text.span.extracting(start..<start + pieceSize), isLast: false)
                start += pieceSize
            }
            try sink.string(text.span.extracting(start..<text.count), isLast: true)
        case .array(let nodes):
            try sink.beginArray()
            for node in nodes { try send(node, into: &sink, pieceSize) }
            try sink.endArray()
        case .object(let members):
            try sink.beginObject()
            for (key, node) in members {
                try sink.key(key.span)
                try send(node, into: &sink, pieceSize)
            }
            try sink.endObject()
        }
    }

    private struct Reader {
        let bytes: [UInt8]
        var at = 0

        mutating func space() {
            while at < bytes.count, [0x20, 0x0A, 0x0D, 0x09].contains(bytes[at]) { at += 1 }
        }

        mutating func take(_ character: Character) -> Bool {
            space()
            guard at < bytes.count, bytes[at] == character.asciiValue else { return false }
            at += 1
            return true
        }

        mutating func word(_ word: String) -> Bool {
            guard bytes[at...].starts(with: word.utf8) else { return false }
            at += word.utf8.count
            return true
        }

        mutating func value() -> Node {
            if take("{") {
                var members: [([UInt8], Node)] = []
                if take("}") { return .object(members) }
                repeat {
                    precondition(take("\""), "a key")
                    let key = string()
                    precondition(take(":"), "a colon")
                    members.append((key, value()))
                } while take(",")
                precondition(take("}"), "the end of an object")
                return .object(members)
            }
            if take("[") {
                var nodes: [Node] = []
                if take("]") { return .array(nodes) }
                repeat { nodes.append(value()) } while take(",")
                precondition(take("]"), "the end of an array")
                return .array(nodes)
            }
            if take("\"") { return .string(string()) }
            if word("true") { return .bool(true) }
            if word("false") { return .bool(false) }
            if word("null") { return .null }
            let start = at
            while at < bytes.count, "+-.0123456789eE".utf8.contains(bytes[at]) { at += 1 }
            precondition(at > start, "a value at \(start)")
            return .number(Array(bytes[start..<at]))
        }

        /// The rest of a string whose opening quote was taken.
        mutating func string() -> [UInt8] {
            var units: [UInt16] = []
            var text: [UInt8] = []
            func flush(_ units: inout [UInt16], _ text: inout [UInt8]) {
                text += Array(String(decoding: units, as: UTF16.self).utf8)
                units = []
            }
            while bytes[at] != UInt8(ascii: "\"") {
                guard bytes[at] == UInt8(ascii: "\\") else {
                    flush(&units, &text)
                    text.append(bytes[at])
                    at += 1
                    continue
                }
                let escaped = bytes[at + 1]
                at += 2
                if escaped == UInt8(ascii: "u") {
                    units.append(UInt16(String(decoding: bytes[at..<at + 4], as: UTF8.self), radix: 16)!)
                    at += 4
                } else {
                    flush(&units, &text)
                    let plain: [UInt8: UInt8] = [0x6E: 0x0A, 0x72: 0x0D, 0x74: 0x09, 0x62: 0x08, 0x66: 0x0C]
                    text.append(plain[escaped] ?? escaped)
                }
            }
            at += 1
            flush(&units, &text)
            return text
        }
    }
}
