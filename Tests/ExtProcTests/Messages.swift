import HTTPWire
import Octets

@testable import ExtProc

// Messages as a data plane writes them, and what ours say, read back field by field.

func varint(_ value: UInt64) -> [UInt8] {
    var (bytes, rest): ([UInt8], UInt64) = ([], value)
    while rest > 0x7F {
        bytes.append(UInt8(rest & 0x7F) | 0x80)
        rest >>= 7
    }
    return bytes + [UInt8(rest)]
}

func number(_ field: UInt64, _ value: UInt64) -> [UInt8] { varint(field << 3) + varint(value) }

func bytes(_ field: UInt64, _ value: [UInt8]) -> [UInt8] {
    varint(field << 3 | 2) + varint(UInt64(value.count)) + value
}

func bytes(_ field: UInt64, _ text: String) -> [UInt8] { bytes(field, Array(text.utf8)) }

/// gRPC's frame.
func frame(_ message: [UInt8], flag: UInt8 = 0) -> [UInt8] {
    [flag] + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: message.count >> $0) } + message
}

func fieldMap(_ fields: [(String, String)], valueField: UInt64 = 3) -> [UInt8] {
    fields.flatMap { bytes(1, bytes(1, $0.0) + bytes(valueField, $0.1)) }
}

func headMessage(
    _ field: UInt64 = 2, _ fields: [(String, String)], endsStream: Bool = false, modes: (UInt64, UInt64)? = (4, 4)
) -> [UInt8] {
    bytes(field, bytes(1, fieldMap(fields)) + (endsStream ? number(3, 1) : [])) + bytes(8, [])
        + (modes.map { bytes(11, number(1, $0.0) + number(2, $0.1)) } ?? [])
}

func contentMessage(_ field: UInt64 = 4, _ content: [UInt8], endsStream: Bool = false) -> [UInt8] {
    bytes(field, (content.isEmpty ? [] : bytes(1, content)) + (endsStream ? number(2, 1) : [])) + bytes(8, [])
}

/// What was read of a stream: content in one piece for each message.
enum Read: Equatable {
    case head(Direction, [String], endsStream: Bool)
    case content(Direction, [UInt8], endsStream: Bool)
    case trailers(Direction, [String])
    case nothing
}

/// Reads a stream that comes in `pieces`, taking `most` bytes of content at a time.
func read(_ pieces: [[UInt8]], most: Int = .max) throws(CallError) -> (read: [Read], modes: [BodyMode]) {
    var reader = MessageReader()
    return try read(pieces, most: most, with: &reader)
}

func read(
    _ pieces: [[UInt8]], most: Int = .max, with reader: inout MessageReader
) throws(CallError) -> (read: [Read], modes: [BodyMode]) {
    var read: [Read] = []
    var content: [UInt8] = []
    func fields() -> [String] {
        var fields: [String] = []
        reader.forEachField { name, value in fields.append("\(name.lossyString()): \(value.lossyString())") }
        return fields
    }
    for piece in pieces {
        var at = 0
        loop: while true {
            switch try reader.next(piece.span, at: &at) {
            case .needsMore: break loop
            case .head(let direction, let ends): read.append(.head(direction, fields(), endsStream: ends))
            case .trailers(let direction): read.append(.trailers(direction, fields()))
            case .content(_, let range, let isHeld):
                let count = min(most, range.count)
                let part = range.lowerBound..<range.lowerBound + count
                content += isHeld ? reader.held.span.extracting(part).copied() : Array(piece[part])
                reader.took(count)
                if !isHeld { at += count }
            case .contentEnded(let direction, let ends):
                read.append(.content(direction, content, endsStream: ends))
                content = []
            case .nothing: read.append(.nothing)
            }
        }
    }
    let modes = reader.modes.map { [$0.request, $0.response] } ?? []
    return (reader.isBetweenMessages ? read : read + [.nothing], modes)
}

/// A message of ours as text: fields by number, nested ones in braces; what isn't a message in quotes.
func text(_ output: OutputBuffer) throws -> [String] {
    let all = output.span.copied()
    var (at, messages): (Int, [String]) = (0, [])
    while at < all.count {
        let count = all[at + 1..<at + 5].reduce(0) { $0 << 8 | Int($1) }
        messages.append(try fieldText(Array(all[at + 5..<at + 5 + count]), path: []))
        at += 5 + count
    }
    return messages
}

private func fieldText(_ message: [UInt8], path: [Int]) throws -> String {
    var reader = FieldReader(0..<message.count)
    var parts: [String] = []
    while let field = try reader.next(in: message.span) {
        let path = path + [field.number]
        switch field.value {
        case .number(let value): parts.append("\(field.number)=\(value)")
        case .fixed: parts.append("\(field.number)=fixed")
        case .bytes(let range):
            let value = Array(message[range])
            let isLeaf = leaves.contains(path)
            parts.append(
                isLeaf
                    ? "\(field.number)=\"\(String(decoding: value, as: UTF8.self))\""
                    : "\(field.number){\(try fieldText(value, path: path))}")
        }
    }
    return parts.joined(separator: " ")
}

/// The fields that are texts or bytes, by their way from the message down.
private let leaves: Set<[Int]> = {
    var leaves: Set<[Int]> = [[7, 3], [7, 5], [7, 2, 2], [7, 2, 1, 1, 1], [7, 2, 1, 1, 3]]
    for kind in 1...4 {
        leaves.formUnion([
            [kind, 1, 2, 2], [kind, 1, 2, 1, 1, 1], [kind, 1, 2, 1, 1, 3], [kind, 1, 3, 1], [kind, 1, 3, 3, 1],
        ])
    }
    for kind in 5...6 { leaves.formUnion([[kind, 1, 2], [kind, 1, 1, 1, 1], [kind, 1, 1, 1, 3]]) }
    return leaves
}()
