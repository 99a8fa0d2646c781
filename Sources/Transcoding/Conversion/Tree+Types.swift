internal import Octets

/// The declared types of fields, on a tree.
extension Tree {
    /// Reads each field as the type of the first rule whose path leads to it. A null stays null, whatever the type, and an
    /// absent field stays absent; what doesn't fit is a 400 `field_type` that names the field.
    ///
    /// - Parameters:
    ///   - blanks: what becomes of empty texts of types that have none.
    ///   - splicer: reads JSON texts for the type `json`.
    internal mutating func apply(
        _ rules: [TypeRule], blanks: BlankPolicy, splicer: inout JSONSplicer
    ) throws(ConversionError) {
        guard root != Tree.none else { return }
        var found: [Node] = []
        for rule in rules {
            found.removeAll(keepingCapacity: true)
            resolve(rule.path.segments[...], below: root, into: &found)
            for node in found where !records[Int(node)].isTyped {
                records[Int(node)].isTyped = true
                let isBlank = blanks != .reject && isBlank(node, for: rule.type)
                if isBlank, blanks == .omit, node != root {
                    leaveOut(node, by: "blanks: omit")
                    continue
                }
                let value = conversionObserver?.willType(node, of: self)
                if isBlank {
                    records[Int(node)].kind = .null
                } else {
                    try convert(node, to: rule.type, splicer: &splicer)
                }
                guard let observer = conversionObserver, let value else { continue }
                observer.didType(node, value, of: self, by: "fields \(rule.path): \(rule.type.rawValue)")
            }
        }
    }

    /// Whether the value is an empty text, which the type doesn't have.
    private func isBlank(_ node: Node, for type: FieldType) -> Bool {
        type.hasBlanks && kind(node) == .string && text(node).isEmpty
    }

    private mutating func convert(
        _ node: Node, to type: FieldType, splicer: inout JSONSplicer
    ) throws(ConversionError) {
        let kind = self.kind(node)
        if kind == .null { return }
        switch type {
        case .string:
            switch kind {
            case .string: return
            case .number:
                records[Int(node)].kind = .string
                return
            case .date: records[Int(node)].kind = .string
            case .data:
                var text = OutputBuffer()
                var encoder = Base64Encoder()
                encoder.encode(self.text(node), into: &text)
                encoder.finish(into: &text)
                try setText(node, .string, text.span)
            case .yes, .no:
                let text: [UInt8] = Array((kind == .yes ? "true" : "false").utf8)
                return try setText(node, .string, text.span)
            default: throw misfit(node, type)
            }
        case .integer:
            guard kind == .string || kind == .number, NumberText(text(node)) == .integer else {
                throw misfit(node, type)
            }
            records[Int(node)].kind = .number
        case .number:
            guard kind == .string || kind == .number else { throw misfit(node, type) }
            if NumberText(text(node)) == nil {
                // Browsers send `.5` as it was written.
                let whole = text(node).copied()
                let point = whole.first == UInt8(ascii: "-") ? 1 : 0
                guard point < whole.count, whole[point] == UInt8(ascii: ".") else { throw misfit(node, type) }
                let text = whole[..<point] + [UInt8(ascii: "0")] + whole[point...]
                guard NumberText(Array(text).span) != nil else { throw misfit(node, type) }
                try setText(node, .number, Array(text).span)
            }
            records[Int(node)].kind = .number
        case .boolean:
            guard let value = boolean(node) else { throw misfit(node, type) }
            records[Int(node)].kind = value ? .yes : .no
        case .array:
            if kind.isArray { return }
            guard !kind.isContainer else { throw misfit(node, type) }
            let array = try makeNode(.array)
            replace(node, by: array)
            records[Int(array)].isTyped = true
            append(node, to: array)
        case .object:
            guard kind.hasNames else { throw misfit(node, type) }
        case .json:
            guard kind == .string else { return }
            switch try splicer.splice(ByteStore(copying: text(node)), into: &self) {
            case .value(let value):
                replace(node, by: value)
                records[Int(value)].isTyped = true
                // Written as one text, it is JSON again; a scalar's own text is not.
                if hasHeads, self.kind(value).isContainer { heads.move(from: node, to: value) }
            case .malformed(let error): throw misfit(node, type, because: error.reason)
            }
        case .date:
            if kind == .date { return }
            guard kind == .string, text(node).isRFC3339 else { throw misfit(node, type) }
            records[Int(node)].kind = .date
        case .data:
            if kind == .data { return }
            guard kind == .string else { throw misfit(node, type) }
            var decoder = Base64Decoder()
            var bytes = OutputBuffer()
            guard decoder.decode(self.text(node), into: &bytes) == nil, decoder.finish() else {
                throw misfit(node, type, because: "it is not base64 (RFC 4648 section 4)")
            }
            try setText(node, .data, bytes.span)
        }
    }

    /// `true`, `1`, `on` and `false`, `0`, `off`, in lower case only; as text, and the numbers as numbers too.
    private func boolean(_ node: Node) -> Bool? {
        switch kind(node) {
        case .yes: return true
        case .no: return false
        case .string, .number:
            let text = text(node)
            if text.isEqual(to: "true") || text.isEqual(to: "1") || text.isEqual(to: "on") { return true }
            if text.isEqual(to: "false") || text.isEqual(to: "0") || text.isEqual(to: "off") { return false }
            return nil
        default: return nil
        }
    }

    private func misfit(_ node: Node, _ type: FieldType, because cause: String? = nil) -> ConversionError {
        let detail = cause.map { ": \($0)" } ?? ""
        return ConversionError(
            .malformed, code: "field_type", reason: "the value doesn't read as \(type.rawValue)\(detail)",
            field: path(node), setting: "fields")
    }
}
