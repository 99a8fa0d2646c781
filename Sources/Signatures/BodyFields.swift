internal import Octets
internal import Transcoding

/// What a sender signs of the fields or members inside a body: read whole, for senders whose signatures need it alone.
enum BodyFields {
    typealias Field = (name: [UInt8], value: [UInt8])

    /// The texts of a form or of a multipart body in their order; nil of another type.
    ///
    /// - Parameter refusesFiles: whether a file throws; else files are left out.
    static func fields(
        _ content: Span<UInt8>, contentType: Span<UInt8>, refusesFiles: Bool = false
    ) throws(SignatureFault) -> [Field]? {
        var limits = Limits()
        // How much there is to read is known: it was held.
        limits.field = max(limits.field, content.count)
        let sink = Fields()
        do throws(ConversionError) {
            if isType(contentType, "application/x-www-form-urlencoded") {
                var taker = FieldTaker(fields: sink)
                var decoder = Form.Decoder(options: FieldDecodingOptions(), limits: limits)
                _ = try decoder.feed(content, into: &taker)
                try decoder.finish(into: &taker)
            } else if isType(contentType, "multipart/form-data") {
                var taker = FieldTaker(fields: sink)
                let boundary = try Multipart.Boundary(contentType: contentType, limits: limits)
                var decoder = Multipart.Decoder(boundary: boundary, options: FieldDecodingOptions(), limits: limits)
                _ = try decoder.feed(content, into: &taker)
                try decoder.finish(into: &taker)
            } else {
                return nil
            }
        } catch {
            throw .body
        }
        if refusesFiles, sink.hasFiles { throw .body }
        return sink.fields
    }

    /// Whether a media type is this one, whatever parameters it has.
    static func isType(_ contentType: Span<UInt8>, _ type: StaticString) -> Bool {
        var end = 0
        while end < contentType.count, contentType[end] != UInt8(ascii: ";"), contentType[end] != ASCII.space {
            end += 1
        }
        return contentType.extracting(0..<end).isEqualIgnoringCase(to: type)
    }

    /// A JSON text whose members are looked up.
    struct Document: ~Copyable {
        private var tree: Tree

        init(json content: Span<UInt8>) throws(SignatureFault) {
            var limits = Limits()
            limits.tree = max(limits.tree, content.count * 4)
            limits.field = max(limits.field, content.count)
            tree = Tree(limits: limits)
            do throws(ConversionError) {
                try tree.read(json: content, options: JSON.DecodingOptions(), limits: limits)
            } catch {
                throw .body
            }
        }

        /// The text of a string or a number below these names from the root; nil where there is none.
        func text(_ path: String...) -> [UInt8]? {
            var node = tree.root
            for name in path {
                guard node != Tree.none, tree.kind(node).hasNames else { return nil }
                let name = Array(name.utf8)
                node = tree.child(of: node, named: name.span)
            }
            guard node != Tree.none else { return nil }
            switch tree.kind(node) {
            case .string, .number: return tree.text(node).copied()
            default: return nil
            }
        }
    }
}

/// The fields that have come; a class, since decoders lend their sink.
private final class Fields {
    var fields: [BodyFields.Field] = []
    var hasFiles = false
}

private struct FieldTaker: FieldSink {
    let fields: Fields
    var isFile = false

    init(fields: Fields) { self.fields = fields }

    var isFull: Bool { false }

    mutating func beginPart(_ head: borrowing PartHead) throws(ConversionError) {
        isFile = head.isFile
        if isFile { fields.hasFiles = true } else { fields.fields.append((head.name.copied(), [])) }
    }

    mutating func content(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        if !isFile { fields.fields[fields.fields.count - 1].value.append(contentsOf: piece) }
    }
}
