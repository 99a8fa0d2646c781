import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// What Rack makes of `a[][x]` names, written down from its query parser, as the judge over what `arrays: brackets` may
/// write.
private indirect enum RackValue: Hashable {
    case scalar(String)
    case array([RackValue])
    case object([Member])

    struct Member: Hashable {
        var key: String
        var value: RackValue
    }

    enum Segment: Hashable {
        case key(String)
        case push
    }

    private struct Conflict: Error {}

    private subscript(key: String) -> RackValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.key == key }?.value
    }

    private mutating func set(_ key: String, to value: RackValue) {
        guard case .object(var members) = self else { return }
        if let index = members.firstIndex(where: { $0.key == key }) {
            members[index].value = value
        } else {
            members.append(Member(key: key, value: value))
        }
        self = .object(members)
    }

    /// `params_hash_has_key?`
    private func holds(_ path: ArraySlice<Segment>) -> Bool {
        if path.contains(.push) { return false }
        var node = self
        for case .key(let key) in path {
            guard let next = node[key] else { return false }
            node = next
        }
        return true
    }

    /// `_normalize_params`
    private mutating func normalize(_ path: ArraySlice<Segment>, _ value: String) throws {
        guard case .key(let key) = path.first else { throw Conflict() }
        let rest = path.dropFirst()
        if rest.isEmpty {
            set(key, to: .scalar(value))
        } else if rest.first == .push {
            guard case .array(var elements) = self[key] ?? .array([]) else { throw Conflict() }
            let child = rest.dropFirst()
            if child.isEmpty {
                elements.append(.scalar(value))
            } else if var last = elements.last, case .object = last, !last.holds(child) {
                try last.normalize(child, value)
                elements[elements.count - 1] = last
            } else {
                var new = RackValue.object([])
                try new.normalize(child, value)
                elements.append(new)
            }
            set(key, to: .array(elements))
        } else {
            var object = self[key] ?? .object([])
            guard case .object = object else { throw Conflict() }
            try object.normalize(rest, value)
            set(key, to: object)
        }
    }

    /// What Rack reads from `pairs`; nil where it raises.
    static func reading(_ pairs: [(path: [Segment], value: String)]) -> RackValue? {
        var root = RackValue.object([])
        for pair in pairs {
            do { try root.normalize(pair.path[...], pair.value) } catch { return nil }
        }
        return root
    }

    /// The pairs of this object with every element as a push, whatever comes of it.
    func pairs(_ path: [Segment] = []) -> [(path: [Segment], value: String)] {
        switch self {
        case .scalar(let text): [(path, text)]
        case .array(let elements): elements.flatMap { $0.pairs(path + [.push]) }
        case .object(let members): members.flatMap { $0.value.pairs(path + [.key($0.key)]) }
        }
    }

    var json: String {
        switch self {
        case .scalar(let text): "\"\(text)\""
        case .array(let elements): "[" + elements.map(\.json).joined(separator: ",") + "]"
        case .object(let members): "{" + members.map { "\"\($0.key)\":\($0.value.json)" }.joined(separator: ",") + "}"
        }
    }

    /// A random object without empty containers and without arrays in arrays.
    static func random(_ random: inout some RandomNumberGenerator, depth: Int = 0) -> RackValue {
        let keys = ["x", "y", "xy"].shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random))
        return .object(
            keys.map { key in
                let value: RackValue
                switch depth >= 4 ? 0 : Int.random(in: 0...5, using: &random) {
                case 0...2: value = .scalar("\(Int.random(in: 0...9, using: &random))")
                case 3...4:
                    let count = Int.random(in: 1...3, using: &random)
                    value = .array(
                        (0..<count).map { _ in
                            Int.random(in: 0...3, using: &random) == 0
                                ? .scalar("s") : Self.random(&random, depth: depth + 2)
                        })
                default: value = Self.random(&random, depth: depth + 1)
                }
                return Member(key: key, value: value)
            })
    }
}

/// SplitMix64, so that a failure can be repeated.
private struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

@Suite("Flattener under Rack's rule")
struct FlattenerRackTests {
    /// The pairs of a form, read with our decoder and split by `FieldName`.
    private func pairs(_ form: String) throws -> [(path: [RackValue.Segment], value: String)] {
        var name = FieldName()
        return try decodeForm(Array(form.utf8)).parts.map { part in
            try name.parse(part.name.bytes.span, options: .init(), limits: .init())
            let path = (0..<name.segmentCount).map { index -> RackValue.Segment in
                name.kind(index) == .push ? .push : .key(name.segment(index).lossyString())
            }
            return (path, String(decoding: part.content.bytes, as: UTF8.self))
        }
    }

    @Test("an array of objects is written under brackets exactly when Rack reads it back the same")
    func exact() throws {
        var options = FieldEncodingOptions()
        options.arrays = .brackets
        var random = SeededGenerator(state: 2026)
        var (written, refused) = (0, 0)
        for _ in 0..<tries(20_000) {
            let document = RackValue.random(&random)
            let isReadSame = RackValue.reading(document.pairs()) == document
            switch encodeForm(document.json, options) {
            case .success(let form):
                written += 1
                #expect(isReadSame, "\(document.json)")
                #expect(try RackValue.reading(pairs(form)) == document, "\(document.json)")
            case .failure(let error):
                refused += 1
                #expect(error.code == "field_regrouped")
                #expect(!isReadSame, "\(document.json) \(error)")
            }
        }
        #expect(written > tries(5000))
        #expect(refused > tries(2000))
    }
}
