internal import ExtProc
internal import Gateway
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
}

/// A field's name as HTTP/2 and data planes write it.
struct LowercaseName {
    private(set) var bytes: [UInt8] = []

    mutating func set(_ name: Span<UInt8>) {
        bytes.removeAll(keepingCapacity: true)
        for index in name.indices { bytes.append(ASCII.lowercased(name[index])) }
    }
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
