package import Octets

extension PropertyList {
    /// Writes events as a property list, XML or binary.
    ///
    /// XML is written as it comes, with the bytes of Apple's writer but for the members, which keep their order, and the
    /// numbers, which keep their text: a header, Apple's document type, one tab for each level, line feeds, `data` in lines
    /// that with eight columns for each tab have at most 76. Of text `<`, `>`, `&` are escaped, and a carriage return, which
    /// XML would take for a line feed, becomes `&#13;`. A number without fraction and exponent is an integer, any other one
    /// a real. Memory is the names on the path.
    ///
    /// A binary property list is held as a tree of at most `limits.tree` bytes and written by `finish`, with the bytes of
    /// Apple's writer for the same order of members, except that equal scalars are written once.
    /// Its reals are doubles: the nearest one is written.
    ///
    /// Errors are `PropertyList.Fault`s with the JSON Pointer (RFC 6901) of the place, and for binary the limit `tree`.
    package struct Encoder: EventSink, OutputEncoder, ~Copyable {
        /// The bytes written so far and not taken yet.
        package var output = OutputBuffer()

        let options: EncodingOptions
        let isBinary: Bool
        var path = Path()
        /// What a binary property list is made of.
        var tree: Tree
        private var writer = BinaryWriter()
        private var hasHeader = false
        /// Whether the innermost container's start tag has not been written, because it may be empty.
        var isTagOwed = false
        var isInText = false
        var characters = CharacterCheck()
        var dataLines = DataLines()
        var scratch: [UInt8] = []
        /// The bytes of a file, for a binary property list.
        var file = OutputBuffer()
        /// Whether the file at hand is the `data` of a dictionary.
        var isInFileObject = false

        package init(options: EncodingOptions = .init(), limits: Limits) {
            self.options = options
            isBinary = options.format == .binary
            tree = Tree(limits: limits)
        }

        package var isFull: Bool { output.isFull }

        /// Makes the encoder ready for another body. The output is emptied and its allocation kept.
        package mutating func reset() {
            output.removeAll()
            path.removeAll()
            tree.removeAll()
            writer.removeAll()
            hasHeader = false
            isTagOwed = false
            isInText = false
            file.removeAll()
            file.shrink(to: 64 * 1024)
            isInFileObject = false
        }

        // MARK: Containers and names

        package mutating func beginObject() throws(ConversionError) { try open(isObject: true) }
        package mutating func endObject() throws(ConversionError) { try close() }
        package mutating func beginArray() throws(ConversionError) { try open(isObject: false) }
        package mutating func endArray() throws(ConversionError) { try close() }

        /// Keeps the name until the value is known: a null may leave it out.
        package mutating func key(_ name: Span<UInt8>) { path.setName(name) }

        private mutating func open(isObject: Bool) throws(ConversionError) {
            try beginValue()
            path.open(isObject: isObject)
            isTagOwed = !isBinary
            guard isBinary else { return }
            if isObject { try tree.beginObject() } else { try tree.beginArray() }
        }

        private mutating func close() throws(ConversionError) {
            let wasObject = path.isInObject
            _ = path.close()
            defer { path.endValue() }
            guard !isBinary else {
                return wasObject ? try tree.endObject() : try tree.endArray()
            }
            if isTagOwed {
                isTagOwed = false
                output.append(wasObject ? "<dict/>\n" : "<array/>\n")
            } else {
                appendTabs(path.depth)
                output.append(wasObject ? "</dict>\n" : "</array>\n")
            }
        }

        func failure(_ fault: Fault) -> ConversionError { ConversionError(plist: fault, field: path.pointer) }

        /// Writes what stands before a value: the header, the tag of the container, the name.
        mutating func beginValue() throws(ConversionError) {
            // Taken out so that its name doesn't borrow the encoder while it changes.
            var path = Path()
            swap(&path, &self.path)
            defer { swap(&path, &self.path) }
            if isBinary {
                if path.isInObject { try tree.key(path.name) }
                return
            }
            if !hasHeader {
                hasHeader = true
                output.append(Self.header)
            }
            if isTagOwed {
                isTagOwed = false
                output.append(path.isInObject ? "<dict>\n" : "<array>\n")
            }
            appendTabs(path.depth)
            guard path.isInObject else { return }
            output.append("<key>")
            characters = CharacterCheck()
            guard characters.append(path.name, to: &output) else {
                throw ConversionError(plist: .unwritableCharacter, field: path.pointer)
            }
            output.append("</key>\n")
            appendTabs(path.depth)
        }

        private static var header: StaticString {
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <plist version="1.0">

            """
        }

        mutating func appendTabs(_ count: Int) {
            for _ in 0..<count { output.append(ASCII.tab) }
        }

        package mutating func finish() throws(ConversionError) {
            if isBinary {
                writer.write(tree, to: &output)
            } else {
                output.append("</plist>\n")
            }
        }
    }
}
