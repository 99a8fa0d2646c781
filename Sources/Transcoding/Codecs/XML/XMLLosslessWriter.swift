internal import Octets

extension XML {
    /// Writes the lossless vocabulary: `<map xmlns="…"><number key="a">1</number></map>`.
    internal struct LosslessWriter {
        private let indentation: Int
        /// The key of the member that comes, and whether there is one.
        private var key = ByteStore()
        private var hasKey = false
        /// For each open container, whether it has children, the keys before its own in `keys`, and the number of the item at hand.
        private var frames: [(isMap: Bool, hasChildren: Bool, keyStart: Int, position: Int)] = []
        /// The keys of the open containers.
        private var keys = ByteStore()
        private var isTagOpen = false
        private var isInText = false
        private var text = TextWriter()

        internal init(options: EncodingOptions) {
            indentation = options.indentation
        }

        internal mutating func reset() {
            key.removeAll()
            hasKey = false
            frames.removeAll(keepingCapacity: true)
            keys.removeAll(keepingUpTo: 64 * 1024)
            isTagOpen = false
            isInText = false
        }

        internal mutating func setKey(_ name: Span<UInt8>) {
            key.removeAll()
            key.append(contentsOf: name)
            hasKey = true
        }

        internal mutating func begin(isMap: Bool, into output: inout OutputBuffer) throws(ConversionError) {
            try beginElement(isMap ? "map" : "array", into: &output)
            frames.append((isMap, false, keys.count, -1))
            keys.append(contentsOf: key)
        }

        internal mutating func end(into output: inout OutputBuffer) {
            let frame = frames.removeLast()
            keys.truncate(to: frame.keyStart)
            if !isTagOpen, frame.hasChildren { indent(into: &output) }
            endElement(frame.isMap ? "map" : "array", into: &output)
        }

        internal mutating func string(
            _ piece: Span<UInt8>, isLast: Bool, into output: inout OutputBuffer
        ) throws(ConversionError) {
            if !isInText {
                try beginElement("string", into: &output)
                text.reset()
                isInText = true
            }
            if !piece.isEmpty { closeTag(into: &output) }
            guard text.write(piece, isAttribute: false, into: &output) else { throw fault(.forbiddenCharacter) }
            guard isLast else { return }
            isInText = false
            endElement("string", into: &output)
        }

        internal mutating func number(_ digits: Span<UInt8>, into output: inout OutputBuffer) throws(ConversionError) {
            try beginElement("number", into: &output)
            closeTag(into: &output)
            output.append(digits)
            endElement("number", into: &output)
        }

        internal mutating func bool(_ value: Bool, into output: inout OutputBuffer) throws(ConversionError) {
            try beginElement("boolean", into: &output)
            closeTag(into: &output)
            if value { output.append("true") } else { output.append("false") }
            endElement("boolean", into: &output)
        }

        internal mutating func null(into output: inout OutputBuffer) throws(ConversionError) {
            try beginElement("null", into: &output)
            endElement("null", into: &output)
        }

        private mutating func beginElement(
            _ name: StaticString, into output: inout OutputBuffer
        ) throws(ConversionError) {
            closeTag(into: &output)
            if let last = frames.indices.last {
                frames[last].hasChildren = true
                frames[last].position += 1
                indent(into: &output)
            }
            output.append("<")
            output.append(name)
            if frames.isEmpty {
                output.append(" xmlns=\"")
                output.append(vocabulary)
                output.append("\"")
            }
            isTagOpen = true
            guard hasKey else { return }
            hasKey = false
            output.append(" key=\"")
            guard TextWriter.writeAttribute(key, into: &output) else { throw fault(.forbiddenCharacter) }
            output.append("\"")
        }

        private mutating func closeTag(into output: inout OutputBuffer) {
            guard isTagOpen else { return }
            output.append(">")
            isTagOpen = false
        }

        private mutating func endElement(_ name: StaticString, into output: inout OutputBuffer) {
            if isTagOpen {
                output.append("/>")
                isTagOpen = false
                return
            }
            output.append("</")
            output.append(name)
            output.append(">")
        }

        private func indent(into output: inout OutputBuffer) {
            guard indentation > 0 else { return }
            output.append("\n")
            for _ in 0..<frames.count * indentation { output.append(UInt8(ascii: " ")) }
        }

        private func fault(_ fault: Fault) -> ConversionError {
            // The innermost step is that of the value at hand, whose key came last.
            var tokens: [UInt8] = []
            for (index, frame) in frames.enumerated() {
                if !frame.isMap {
                    JSONPointer.append(Array(String(max(0, frame.position)).utf8).span, to: &tokens)
                } else if index + 1 < frames.count {
                    let end = index + 2 < frames.count ? frames[index + 2].keyStart : keys.count
                    let key = ByteStore(copying: keys.slice(frames[index + 1].keyStart..<end))
                    JSONPointer.append(key.span, to: &tokens)
                } else {
                    JSONPointer.append(key.span, to: &tokens)
                }
            }
            return fault.error(field: tokens.isEmpty ? nil : tokens.span.lossyString())
        }
    }
}
