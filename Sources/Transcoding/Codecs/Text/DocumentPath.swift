internal import Octets

/// Where in a document a codec stands: the open containers and the member or element at hand.
///
/// Memory is a record for each open container and the names on the path.
internal struct DocumentPath {
    /// What surrounds an open container.
    private struct Level {
        var isObject: Bool
        var hasName: Bool
        var elementIndex: Int
        var nameStart: Int
        var mark: Int
    }

    /// Names above this many bytes are given back between two bodies.
    private static let keptCapacity = 64 * 1024

    private var levels: [Level] = []
    private var names = ByteStore()
    private var nameStart = 0
    private(set) var elementIndex = 0
    private(set) var isInObject = false
    /// Whether the name of the member at hand is known, so that its value comes next.
    private(set) var hasName = false

    /// The number of open containers.
    var depth: Int { levels.count }

    /// The name of the member at hand.
    var name: Span<UInt8> {
        @_lifetime(borrow self)
        get { names.slice(nameStart..<names.count) }
    }

    mutating func setName(_ name: Span<UInt8>) {
        names.truncate(to: nameStart)
        names.append(contentsOf: name)
        hasName = true
    }

    /// Goes down into the value at hand. `mark` comes back from `close`.
    mutating func open(isObject: Bool, mark: Int = 0) {
        levels.append(
            Level(
                isObject: isInObject, hasName: hasName, elementIndex: elementIndex, nameStart: nameStart, mark: mark
            ))
        nameStart = names.count
        isInObject = isObject
        hasName = false
        elementIndex = 0
    }

    /// Goes up out of the innermost container, which then is the value at hand; `endValue` follows.
    mutating func close() -> Int {
        names.truncate(to: nameStart)
        let level = levels.removeLast()
        isInObject = level.isObject
        hasName = level.hasName
        elementIndex = level.elementIndex
        nameStart = level.nameStart
        return level.mark
    }

    /// Goes on behind the value at hand.
    mutating func endValue() {
        if isInObject {
            names.truncate(to: nameStart)
            hasName = false
        } else {
            elementIndex &+= 1
        }
    }

    mutating func removeAll() {
        levels.removeAll(keepingCapacity: true)
        names.removeAll(keepingUpTo: Self.keptCapacity)
        nameStart = 0
        elementIndex = 0
        isInObject = false
        hasName = false
    }

    /// The JSON Pointer (RFC 6901) of the place, or nil at the root.
    var pointer: String? {
        guard !levels.isEmpty else { return nil }
        var tokens: [UInt8] = []
        for index in levels.indices.dropFirst() {
            let end = index + 1 < levels.count ? levels[index + 1].nameStart : nameStart
            append(levels[index], upTo: end, to: &tokens)
        }
        let here = Level(
            isObject: isInObject, hasName: hasName, elementIndex: elementIndex, nameStart: nameStart, mark: 0)
        append(here, upTo: names.count, to: &tokens)
        return tokens.isEmpty ? nil : tokens.span.lossyString()
    }

    private func append(_ level: Level, upTo end: Int, to tokens: inout [UInt8]) {
        guard level.isObject else { return tokens.append(contentsOf: "/\(level.elementIndex)".utf8) }
        guard level.hasName else { return }
        JSONPointer.append(names.span.extracting(level.nameStart..<end), to: &tokens)
    }
}
