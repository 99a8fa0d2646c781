package import Octets

extension PropertyList {
    /// Writes events as a property list, XML or binary.
    ///
    /// XML is written as it comes, with the bytes of Apple's writer but for the members, which keep their order, and the
    /// numbers, which keep their text: a header, Apple's document type, one tab for each level, of 128 at most, line feeds, `data` in lines
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
        var path = DocumentPath()
        /// What a binary property list is made of.
        var tree: Tree
        private var writer = BinaryWriter()
        /// Whether the document has been written from another tree, as a whole.
        private var isWritten = false
        private var hasHeader = false
        /// Whether the innermost container's start tag has not been written, because it may be empty.
        var isTagOwed = false
        var isInText = false
        var characters = XML.TextWriter()
        var dataLines = DataLines()
        var scratch: [UInt8] = []
        /// The bytes of a file, for a binary property list.
        var file = OutputBuffer()
        /// Whether the file at hand is the `data` of a dictionary.
        var isInFileObject = false
        /// What rules have left out of the document so far: nulls in objects.
        package internal(set) var removedCount = 0

        package init(options: EncodingOptions = .init(), limits: Limits) {
            self.options = options
            isBinary = options.format == .binary
            tree = Tree(limits: limits)
            tree.keepsIndex = false
        }

        package var isFull: Bool { output.isFull }

        /// Bytes that a binary property list is made of.
        internal var heldCount: Int { tree.cost + file.count }
        internal var allocatedCount: Int { tree.allocatedCount + file.count }

        /// Makes the encoder ready for another body. The output is emptied and its allocation kept.
        package mutating func reset() {
            output.removeAll()
            path.removeAll()
            tree.removeAll()
            writer.removeAll()
            hasHeader = false
            isWritten = false
            isTagOwed = false
            isInText = false
            file.removeAll()
            file.shrink(to: 64 * 1024)
            isInFileObject = false
            removedCount = 0
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

        func failure(_ fault: Fault) -> ConversionError { fault.error(pointer: path.pointer) }

        /// Writes what stands before a value: the header, the tag of the container, the name.
        mutating func beginValue() throws(ConversionError) {
            // Taken out so that its name doesn't borrow the encoder while it changes.
            var path = DocumentPath()
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
            characters.reset()
            guard characters.write(path.name, isAttribute: false, into: &output) else {
                throw Fault.unwritableCharacter.error(pointer: path.pointer)
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

        /// Levels that are indented: one more would add nothing for readers, and make the document grow with the square of its depth.
        private static var indentedLevels: Int { 128 }

        mutating func appendTabs(_ count: Int) {
            for _ in 0..<min(count, Self.indentedLevels) { output.append(ASCII.tab) }
        }

        package mutating func finish() throws(ConversionError) {
            if isWritten { return }
            if isBinary {
                writer.write(tree, to: &output)
            } else {
                output.append("</plist>\n")
            }
        }

        /// Writes a binary property list of the document that `tree` holds as a whole, where it is about to come and none of its values
        /// becomes another one, or is refused: it needn't be held once more.
        internal mutating func write(_ tree: inout Tree, _ walk: inout TreeWalk) {
            guard isBinary, self.tree.root == Tree.none, let place = walk.place(in: tree), place.node == tree.root,
                !place.isLeaving, isWrittenAlike(tree)
            else { return }
            writer.write(tree, to: &output)
            isWritten = true
            walk.go(to: Tree.none, isLeaving: false)
        }

        /// Whether the document would be held here as it stands there, and pass no limit.
        private func isWrittenAlike(_ tree: borrowing Tree) -> Bool {
            var cost = 0
            for at in tree.records.indices {
                let record = tree.records[at]
                cost &+= Tree.nodeCost &+ Int(record.nameCount) &+ Int(record.valueCount)
                switch record.kind {
                case .null, .date: return false
                case .number:
                    switch PropertyList.Number.value(tree.text(Tree.Node(at))) {
                    case .integer, .negative, .negativeZero: break
                    case .real: guard PropertyList.Number.isFinite(tree.text(Tree.Node(at))) else { return false }
                    case .large: return false
                    }
                case .object, .keyed, .array, .collected, .string, .data, .yes, .no: break
                }
            }
            return cost <= self.tree.limit
        }
    }
}

extension PropertyList.Encoder {
    package mutating func string(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        if !isInText {
            try beginValue()
            isInText = true
            if !isBinary { output.append("<string>") }
            characters.reset()
        }
        if isBinary {
            try tree.string(piece, isLast: isLast)
        } else {
            guard characters.write(piece, isAttribute: false, into: &output) else {
                throw failure(.unwritableCharacter)
            }
            if isLast { output.append("</string>\n") }
        }
        guard isLast else { return }
        isInText = false
        path.endValue()
    }

    package mutating func number(_ text: Span<UInt8>) throws(ConversionError) {
        let value = PropertyList.Number.value(text)
        if value == .large || value == .real {
            if value == .large, options.largeIntegers == .reject { throw failure(.largeInteger) }
            if options.largeIntegers == .string, value == .large || !PropertyList.Number.isFinite(text) {
                return try string(text, isLast: true)
            }
            guard PropertyList.Number.isFinite(text) else { throw failure(.largeReal) }
        }
        try beginValue()
        if isBinary {
            try tree.number(text)
        } else if value == .real || value == .large {
            output.append("<real>", text, "</real>\n")
        } else {
            output.append("<integer>", text, "</integer>\n")
        }
        path.endValue()
    }

    package mutating func bool(_ value: Bool) throws(ConversionError) {
        try beginValue()
        if isBinary { try tree.bool(value) } else { output.append(value ? "<true/>\n" : "<false/>\n") }
        path.endValue()
    }

    package mutating func null() throws(ConversionError) {
        switch options.nulls {
        case .omit:
            guard path.isInObject else { throw failure(.nullElement) }
            removedCount += 1
            path.endValue()
        case .empty: try string(Span(), isLast: true)
        case .key, .literal, .reject: throw failure(path.isInObject ? .null : .nullElement)
        }
    }

    package mutating func date(_ text: Span<UInt8>) throws(ConversionError) {
        let date: PropertyList.Date
        do throws(PropertyList.Date.Reading) {
            date = try PropertyList.Date(rfc3339: text)
        } catch {
            throw failure(error.fault)
        }
        if !isBinary, !date.fraction.isEmpty, options.dateFractions == .reject { throw failure(.dateFraction) }
        try beginValue()
        var text: [UInt8] = []
        swap(&text, &scratch)
        defer { swap(&text, &scratch) }
        text.removeAll(keepingCapacity: true)
        date.append(to: &text, withFraction: isBinary)
        if isBinary {
            try tree.date(text.span)
        } else {
            output.append("<date>", text.span, "</date>\n")
        }
        path.endValue()
    }

    package mutating func data(_ bytes: Span<UInt8>) throws(ConversionError) {
        try beginValue()
        if isBinary {
            try tree.data(bytes)
        } else {
            beginData()
            dataLines.append(bytes, to: &output)
            endData()
        }
        path.endValue()
    }

    // MARK: Files

    /// Begins a file. Throws `PropertyList.Fault.file` unless the options say `base64` or `object`.
    package mutating func beginFile(_ head: borrowing PartHead) throws(ConversionError) {
        try beginFile(head, as: options.files)
    }

    /// As above, by a policy of the file's own.
    internal mutating func beginFile(_ head: borrowing PartHead, as policy: FilePolicy) throws(ConversionError) {
        isInFileObject = try openFile(
            head, as: policy, refusal: PropertyList.Fault.file, typeRefusal: .fileType)
        try beginValue()
        if isBinary { file.removeAll() } else { beginData() }
    }

    package mutating func fileContent(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        if isBinary {
            try tree.charge(bytes: file.count + piece.count)
            file.append(piece)
        } else {
            dataLines.append(piece, to: &output)
        }
        guard isLast else { return }
        if isBinary {
            var bytes = OutputBuffer()
            swap(&bytes, &file)
            defer { swap(&bytes, &file) }
            try tree.data(bytes.span)
            bytes.removeAll()
        } else {
            endData()
        }
        path.endValue()
        if isInFileObject { try endObject() }
        isInFileObject = false
    }

    // MARK: XML text

    private mutating func beginData() {
        output.append("<data>\n")
        dataLines = PropertyList.DataLines(depth: path.depth)
    }

    private mutating func endData() {
        dataLines.finish(to: &output)
        appendTabs(path.depth)
        output.append("</data>\n")
    }
}
