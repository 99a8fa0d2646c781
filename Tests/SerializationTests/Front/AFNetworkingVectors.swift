import Foundation
import Serialization
import Transcoding

/// One row of `afn-vectors.json`.
struct AFNetworkingVector {
    let row: Value

    var id: String { row["id"]?.string ?? "" }
    var area: String { row["area"]?.string ?? "" }
    var options: Value { row["options"] ?? [:] }
    var expect: Value { row["expect"] ?? [:] }
    var rawInput: Value { row["input"] ?? .null }

    /// The rows whose id begins with one of `prefixes`.
    static func rows(_ prefixes: [String]) -> [AFNetworkingVector] {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let file = folder.appendingPathComponent("../../Vectors/afn-vectors.json")
        let data = try! Data(contentsOf: file)
        var options = DocumentOptions()
        options.limits.tree = 16 * 1024 * 1024
        let document = try! Value(decoding: [UInt8](data), options: options)
        return document["vectors"]!.array!.map { AFNetworkingVector(row: $0) }
            .filter { row in prefixes.contains { row.id.hasPrefix($0) } }
    }

    /// A tagged input as a value: nil for absent parameters. What a `Value` can't be is not among what it is called for.
    static func value(_ input: Value) -> Value? {
        if case .array(let elements) = input { return .array(elements.compactMap(value)) }
        guard case .object(let members) = input else { return input }
        guard members.count == 1, let member = members.first, member.key.hasPrefix("$") else {
            return .object(
                Value.Object(
                    members.compactMap { member in
                        value(member.value).map { Value.Object.Member(key: member.key, value: $0) }
                    }))
        }
        switch member.key {
        case "$absent": return nil
        case "$dict":
            let members = member.value.array!.map { pair in
                Value.Object.Member(key: pair[0]!.string ?? pair[0]!.description, value: value(pair[1]!)!)
            }
            return .object(Value.Object(members))
        case "$set": return .set(Set(member.value.array!.compactMap(value)))
        case "$data": return .data([UInt8](Data(base64Encoded: member.value.string!)!))
        case "$date": return .date(Timestamp(member.value.string!)!)
        case "$double" where member.value.string == "nan": return Value(Double.nan)
        case "$double", "$decimal": return .number(Value.Number(member.value.string!)!)
        default: preconditionFailure("a tag that no test knows: \(member.key)")
        }
    }
}

extension [UInt8] {
    init(hex: String) {
        self = stride(from: 0, to: hex.utf8.count, by: 2).map { at in
            UInt8(String(decoding: Array(hex.utf8)[at..<at + 2], as: UTF8.self), radix: 16)!
        }
    }

    var text: String { String(decoding: self, as: UTF8.self) }
}
