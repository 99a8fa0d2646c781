internal import ContentCoding
internal import ExtProc
internal import Gateway
internal import HTTPWire
internal import Octets

/// Fields that a data plane has of a message and an exchange needn't see: of its hop, and of what it does itself.
enum ProcessedFields {
    static func arePseudo(_ name: Span<UInt8>) -> Bool {
        switch name.count {
        case 5: name.isEqual(to: ":path")
        case 7: name.isEqual(to: ":method") || name.isEqual(to: ":scheme") || name.isEqual(to: ":status")
        case 9: name.isEqual(to: ":protocol")
        case 10: name.isEqual(to: ":authority")
        default: false
        }
    }

    static func areOfHop(_ name: Span<UInt8>) -> Bool {
        switch name.count {
        case 2: name.isEqual(to: "te")
        case 6: name.isEqual(to: "expect")
        case 7: name.isEqual(to: "upgrade")
        case 10: name.isEqual(to: "connection") || name.isEqual(to: "keep-alive")
        case 16: name.isEqual(to: "proxy-connection")
        case 17: name.isEqual(to: "transfer-encoding")
        default: false
        }
    }

    /// The number in a `:status`; 0 where it is none.
    static func status(_ value: Span<UInt8>) -> Int {
        value.count == 3 ? ASCII.decimal(value, most: 3) ?? 0 : 0
    }

    private static let names = Coding.allCases.sorted { $0.index < $1.index }.map { Array("\($0.name)".utf8) }
    /// A coding as fields write it.
    static func name(of coding: Coding) -> [UInt8] { names[coding.index] }
}

/// A field's name as HTTP/2 and data planes write it.
struct LowercaseName {
    private(set) var bytes: [UInt8] = []

    mutating func set(_ name: Span<UInt8>) {
        bytes.removeAll(keepingCapacity: true)
        for index in name.indices { bytes.append(ASCII.lowercased(name[index])) }
    }
}

extension MessageHead {
    /// Whether content comes as events, perhaps hours later: then the head says something by itself, that the stream is open.
    var beginsEvents: Bool {
        guard let line = contentTypeLine else { return false }
        return Self.events?.matches(contentType: value(line)) == true
    }
    private static let events = try? MediaRange(parsing: "text/event-stream")
}

extension HeaderMutation {
    mutating func make(_ change: PassedFields.Change, _ name: Span<UInt8>, _ value: Span<UInt8>) {
        switch change {
        case .remove: remove(name)
        case .set: set(name, value)
        case .append: append(name, value)
        }
    }
}
