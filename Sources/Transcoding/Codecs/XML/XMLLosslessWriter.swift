internal import Octets

extension XML {
    /// Writes the lossless vocabulary: `<map xmlns="…"><number key="a">1</number></map>`.
    internal struct LosslessWriter {
        private let indentation: Int
        /// For each open container, whether it has children.
        private var frames: [(isMap: Bool, hasChildren: Bool)] = []
        /// The place at hand in the document, with the key of the member that comes.
        private var path = DocumentPath()
        private var isTagOpen = false
        private var isInText = false
        private var text = TextWriter()

        internal init(options: EncodingOptions) {
            indentation = options.indentation
        }

        internal mutating func reset() {
            frames.removeAll(keepingCapacity: true)
            path.removeAll()
            isTagOpen = false
            isInText = false
        }

        internal mutating func setKey(_ name: Span<UInt8>) { path.setName(name) }

        internal mutating func begin(isMap: Bool, into output: inout OutputBuffer) throws(ConversionError) {
            try beginElement(isMap ? "map" : "array", into: &output)
            frames.append((isMap, false))
            path.open(isObject: isMap)
        }

        internal mutating func end(into output: inout OutputBuffer) {
            let frame = frames.removeLast()
            _ = path.close()
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
            guard path.hasName else { return }
            guard TextWriter.write(key: path.name, into: &output) else {
                throw fault(.forbiddenCharacter)
            }
        }

        private mutating func closeTag(into output: inout OutputBuffer) {
            guard isTagOpen else { return }
            output.append(">")
            isTagOpen = false
        }

        private mutating func endElement(_ name: StaticString, into output: inout OutputBuffer) {
            path.endValue()
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

        private func fault(_ fault: Fault) -> ConversionError { fault.error(pointer: path.pointer) }
    }
}
