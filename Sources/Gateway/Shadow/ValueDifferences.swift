internal import Octets
package import Transcoding

/// In which places two answers differ, and how; never what stands there.
package struct ValueDifferences {
    /// How they differ.
    package enum Kind: String, CaseIterable, Sendable {
        /// They have other statuses.
        case status
        /// The first has a value that the second hasn't.
        case missing
        /// The second has a value that the first hasn't.
        case added
        /// Both have one of the same type, and it is another one.
        case value
        /// Both have one, of another type.
        case type
        /// Both are of one type that has no values, and their bytes differ.
        case content
        /// One of the two is not what its type says, or has another type.
        case unreadable
    }

    package struct Difference: Hashable, Sendable {
        package let kind: Kind
        /// As `FieldPath` spells it, elements of arrays as `[*]`, so that there are as many paths as a document's form has places and
        /// not as many as values; empty for the whole document.
        package let path: String
    }

    /// Differences of two answers at most that are told apart: 64.
    package static let most = 64

    /// Each once, in the order in which they were found.
    package private(set) var all: [Difference] = []
    /// Whether there were more.
    package private(set) var isCut = false
    private var known: Set<Difference> = []
    private let ignored: [FieldPath]

    /// - Parameter ignored: places that may differ, with all that is below them.
    package init(ignoring ignored: [FieldPath] = []) {
        self.ignored = ignored
    }

    package mutating func add(_ kind: Kind, at path: String = "") {
        guard all.count < Self.most else {
            isCut = true
            return
        }
        let difference = Difference(kind: kind, path: path)
        if known.insert(difference).inserted { all.append(difference) }
    }

    /// Compares two documents. Numbers differ where their texts do; of members with the same name the last one counts; elements are
    /// compared by their place.
    package mutating func compare(_ first: ValueTree, _ second: ValueTree) {
        guard !first.nodes.isEmpty, !second.nodes.isEmpty else { return }
        var path: [FieldPath.Segment] = []
        compare(first, 0, second, 0, &path)
    }

    private mutating func compare(
        _ first: ValueTree, _ left: Int, _ second: ValueTree, _ right: Int, _ path: inout [FieldPath.Segment]
    ) {
        guard !isCut, !isIgnored(path) else { return }
        let (a, b) = (first.nodes[left], second.nodes[right])
        guard a.kind == b.kind else { return add(.type, at: path) }
        switch a.kind {
        case .object:
            let own = Dictionary(zip(a.keys, a.children)) { $1 }
            let others = Dictionary(zip(b.keys, b.children)) { $1 }
            for (key, child) in zip(a.keys, a.children) where own[key] == child {
                path.append(.key(key))
                if let other = others[key] {
                    compare(first, child, second, other, &path)
                } else if !isIgnored(path) {
                    add(.missing, at: path)
                }
                path.removeLast()
            }
            for (key, child) in zip(b.keys, b.children) where others[key] == child && own[key] == nil {
                path.append(.key(key))
                if !isIgnored(path) { add(.added, at: path) }
                path.removeLast()
            }
        case .array:
            for index in 0..<max(a.children.count, b.children.count) {
                path.append(.index(index))
                if index >= a.children.count {
                    if !isIgnored(path) { add(.added, at: path) }
                } else if index >= b.children.count {
                    if !isIgnored(path) { add(.missing, at: path) }
                } else {
                    compare(first, a.children[index], second, b.children[index], &path)
                }
                path.removeLast()
            }
        case .string, .number, .bool, .null:
            if a.text != b.text { add(.value, at: path) }
        }
    }

    private mutating func add(_ kind: Kind, at path: [FieldPath.Segment]) {
        add(kind, at: FieldPath(path.map { if case .index = $0 { .any } else { $0 } }).description)
    }

    /// What is above it would have ended the comparison there.
    private func isIgnored(_ path: [FieldPath.Segment]) -> Bool {
        ignored.contains { ignored in
            ignored.segments.count == path.count
                && zip(ignored.segments, path).allSatisfy { segment, step in
                    switch step {
                    case .key(let key): segment.matches(key: key.span)
                    case .index(let index): segment.matches(index: index)
                    case .any: false
                    }
                }
        }
    }
}
