internal import Octets

// Fields that hold more than one value: joined arrays and JSON texts; and files.

// MARK: Joined arrays

extension DialectWriter {
    internal mutating func beginJoinedElement<Target: FieldSink & ~Copyable>(
        to target: inout Target
    ) throws(ConversionError) {
        let top = levels.count - 1
        levels[top].position += 1
        guard levels[top].position > 1 else { return }
        let comma: InlineArray<1, UInt8> = [UInt8(ascii: ",")]
        try sendJoined(comma.span, to: &target)
    }

    /// The field begins with its first byte: one that never has any is a null to qs.
    internal mutating func sendJoined<Target: FieldSink & ~Copyable>(
        _ piece: Span<UInt8>, to target: inout Target
    ) throws(ConversionError) {
        guard !piece.isEmpty else { return }
        if !joinedHasBegun {
            joinedHasBegun = true
            if !isGathering { try beginPart(to: &target) }
        }
        if isGathering { try document.string(piece, isLast: false) } else { try target.content(piece, isLast: false) }
    }

    internal mutating func endJoined<Target: FieldSink & ~Copyable>(to target: inout Target) throws(ConversionError) {
        let level = levels.removeLast()
        guard let top = levels.last, top.kind != .joined else { return }
        if joinedHasBegun {
            if isGathering { return try document.string(Span(), isLast: true) }
            try target.content(Span(), isLast: true)
            return noteWritten()
        }
        // The element of the outer array has been begun already.
        valueDepth = level.depth
        let nulls = level.position == 0 ? NullStyle.omit : options.nulls
        if level.position == 0 {
            if options.empties == .reject { throw fault(.empty) }
            if options.empties == .marker {
                name.append("[]")
                valueDepth += 1
                if isGathering { return try document.string(Span(), isLast: true) }
                try beginPart(to: &target)
                try target.content(Span(), isLast: true)
                return noteWritten()
            }
        }
        switch nulls {
        case .key: try sendBare(to: &target)
        case .omit:
            removedCount += 1
            if isGathering { try holdPlace(isFile: false) }
        case .empty, .literal, .reject:
            if isGathering { return try document.string(Span(), isLast: true) }
            try beginPart(to: &target)
            try target.content(Span(), isLast: true)
            noteWritten()
        }
    }
}

// MARK: Files and JSON texts

extension DialectWriter {
    mutating func beginFile<Target: FieldSink & ~Copyable>(
        _ file: borrowing PartHead, to target: inout Target
    ) throws(ConversionError) {
        if jsonLevel > 0 {
            // The text's field is what an error can name.
            head.setName(copying: name)
            return try json.beginFile(head)
        }
        guard let top = levels.last, top.kind != .pair, top.kind != .pairs else {
            throw FieldFault.rootNotObject.error(field: nil)
        }
        guard top.kind != .joined else { throw fault(.comma) }
        try beginElement(isContainer: false, to: &target)
        if isGathering { try holdPlace(isFile: true) }
        try checkName()
        head.copy(file, named: name)
        head.isFile = true
        head.hasValue = true
        try target.beginPart(head)
    }

    mutating func fileContent<Target: FieldSink & ~Copyable>(
        _ piece: Span<UInt8>, isLast: Bool, to target: inout Target
    ) throws(ConversionError) {
        if jsonLevel > 0 {
            json.fileContent(piece, isLast: isLast)
            return try sendJSON(to: &target)
        }
        try target.content(piece, isLast: isLast)
        if isLast { noteWritten() }
    }

    /// Begins a field for a JSON text, or one more object or array in it.
    internal mutating func beginJSON<Target: FieldSink & ~Copyable>(to target: inout Target) throws(ConversionError) {
        if jsonLevel == 0 {
            if let top = levels.last, top.kind == .joined { throw fault(.container) }
            try beginText(to: &target)
            json.reset()
        }
        jsonLevel += 1
    }

    internal mutating func endJSON<Target: FieldSink & ~Copyable>(to target: inout Target) throws(ConversionError) {
        jsonLevel -= 1
        try sendJSON(to: &target)
    }

    internal mutating func sendJSON<Target: FieldSink & ~Copyable>(to target: inout Target) throws(ConversionError) {
        let isLast = jsonLevel == 0
        guard isLast || json.output.count >= 4096 else { return }
        var written = OutputBuffer()
        swap(&written, &json.output)
        try sendText(written.span, isLast: isLast, to: &target)
        written.removeAll()
        swap(&written, &json.output)
    }
}
