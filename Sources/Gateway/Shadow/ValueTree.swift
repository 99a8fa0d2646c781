internal import Octets
package import Transcoding

/// The values of a short document, to be compared with those of another one.
package struct ValueTree: EventSink {
    /// What a value is.
    package enum Kind: UInt8, Sendable {
        case object, array, string, number, bool, null
    }

    package struct Node {
        let kind: Kind
        /// A string, or the text of a number; of a bool 0 or 1.
        var text: [UInt8] = []
        /// The names of an object's members.
        var keys: [[UInt8]] = []
        /// Members or elements, as numbers of nodes.
        var children: [Int] = []
    }

    /// Values of a document at most: 4096.
    package static let most = 4096

    /// The first is the document's.
    package private(set) var nodes: [Node] = []
    private var open: [Int] = []
    private var isInText = false

    package init() {}

    /// Whether there are more values than are taken.
    package var isTooLong: Bool { nodes.count > Self.most }

    package var isFull: Bool { isTooLong }

    private mutating func begin(_ node: Node) {
        if let last = open.last { nodes[last].children.append(nodes.count) }
        nodes.append(node)
    }

    package mutating func beginObject() { beginContainer(.object) }
    package mutating func beginArray() { beginContainer(.array) }

    private mutating func beginContainer(_ kind: Kind) {
        begin(Node(kind: kind))
        open.append(nodes.count - 1)
    }

    package mutating func endObject() { open.removeLast() }
    package mutating func endArray() { open.removeLast() }

    package mutating func key(_ name: Span<UInt8>) {
        if let last = open.last { nodes[last].keys.append(name.copied()) }
    }

    package mutating func string(_ piece: Span<UInt8>, isLast: Bool) {
        if !isInText { begin(Node(kind: .string)) }
        isInText = !isLast
        nodes[nodes.count - 1].text.append(contentsOf: piece)
    }

    package mutating func number(_ text: Span<UInt8>) { begin(Node(kind: .number, text: text.copied())) }
    package mutating func bool(_ value: Bool) { begin(Node(kind: .bool, text: [value ? 1 : 0])) }
    package mutating func null() { begin(Node(kind: .null)) }
    package mutating func beginFile(_ head: borrowing PartHead) { begin(Node(kind: .string)) }
    package mutating func fileContent(_ piece: Span<UInt8>, isLast: Bool) {
        nodes[nodes.count - 1].text.append(contentsOf: piece)
    }
}

/// Reads the content of an answer as values, by its Content-Type.
package enum AnswerValues {
    /// What became of it.
    package enum Outcome {
        case values(ValueTree)
        /// Its type is none of those that are read as values.
        case otherType
        /// It has more of them, or is larger or deeper, than is compared.
        case tooLong
        /// It is not what its type says.
        case unreadable
    }

    private static let plan = ConversionPlan(inputs: BodyEncoding.values, output: .json)

    package static func read(_ content: Span<UInt8>, type: Span<UInt8>) -> Outcome {
        let encoding: BodyEncoding
        do throws(ConversionError) {
            encoding = try plan.inputEncoding(for: type)
        } catch {
            return .otherType
        }
        do throws(ConversionError) {
            if encoding == .json { return try readJSON(content) }
            let conversion = try Conversion.make(plan: plan, contentType: type)
            let json = try conversion.convert(content.copied()) + conversion.convertEnd()
            return try readJSON(json.span)
        } catch {
            return error.kind == .limit ? .tooLong : .unreadable
        }
    }

    private static func readJSON(_ content: Span<UInt8>) throws(ConversionError) -> Outcome {
        var options = JSON.DecodingOptions()
        options.duplicates = .keep
        var decoder = JSON.Decoder(options: options, limits: Limits())
        var tree = ValueTree()
        let count = try decoder.feed(content, into: &tree)
        if count < content.count || tree.isTooLong { return .tooLong }
        try decoder.finish(into: &tree)
        return tree.isTooLong ? .tooLong : .values(tree)
    }
}
