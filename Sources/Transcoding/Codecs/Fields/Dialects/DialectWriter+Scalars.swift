internal import Octets

// Values that become the text of one field.
extension DialectWriter {
    mutating func string<Target: FieldSink & ~Copyable>(
        _ piece: Span<UInt8>, isLast: Bool, to target: inout Target
    ) throws(ConversionError) {
        if jsonLevel > 0 {
            json.string(piece, isLast: isLast)
            return try sendJSON(to: &target)
        }
        if !inString { try beginText(to: &target) }
        inString = !isLast
        try sendText(piece, isLast: isLast, to: &target)
    }

    mutating func number<Target: FieldSink & ~Copyable>(
        _ source: Span<UInt8>, to target: inout Target
    ) throws(ConversionError) {
        if jsonLevel > 0 {
            json.number(source)
            return try sendJSON(to: &target)
        }
        text.removeAll()
        DialectNumber.append(source, as: options.dialect, to: &text)
        try sendWhole(to: &target)
    }

    mutating func bool<Target: FieldSink & ~Copyable>(
        _ value: Bool, to target: inout Target
    ) throws(ConversionError) {
        if jsonLevel > 0 {
            json.bool(value)
            return try sendJSON(to: &target)
        }
        text.removeAll()
        switch options.booleans {
        case .literal: text.append(value ? "true" : "false")
        case .numeric: text.append(value ? "1" : "0")
        }
        try sendWhole(to: &target)
    }

    mutating func date<Target: FieldSink & ~Copyable>(
        _ source: Span<UInt8>, to target: inout Target
    ) throws(ConversionError) {
        if jsonLevel > 0 {
            json.string(source, isLast: true)
            return try sendJSON(to: &target)
        }
        text.removeAll()
        DialectDate.append(source, as: options.dialect, to: &text)
        try sendWhole(to: &target)
    }

    mutating func null<Target: FieldSink & ~Copyable>(to target: inout Target) throws(ConversionError) {
        if jsonLevel > 0 {
            json.null()
            return try sendJSON(to: &target)
        }
        guard let top = levels.last else {
            switch options.dialect {
            case .afnetworking, .alamofire, .qs, .rack: removedCount += 1
            case .recast, .php, .whatwg: throw FieldFault.rootNotObject.error(field: nil)
            }
            return
        }
        text.removeAll()
        switch top.kind {
        case .joined: return try beginJoinedElement(to: &target)
        case .pairs, .pair:
            text.append("null")
            return try sendWhole(to: &target)
        case .object, .array: break
        }
        switch options.nulls {
        case .empty: try sendWhole(to: &target)
        case .literal:
            text.append("null")
            try sendWhole(to: &target)
        case .key:
            try beginElement(isContainer: false, to: &target)
            try sendBare(to: &target)
        case .omit:
            try beginElement(isContainer: false, to: &target)
            removedCount += 1
            if isGathering { try holdPlace(isFile: false) }
        case .reject:
            try beginElement(isContainer: false, to: &target)
            throw fault(.null)
        }
    }

    /// Sends a name without a value.
    internal mutating func sendBare<Target: FieldSink & ~Copyable>(to target: inout Target) throws(ConversionError) {
        if isGathering { return try document.null() }
        if name.isEmpty {
            removedCount += 1
            if options.dialect == .rack { return }
        }
        try beginPart(hasValue: false, to: &target)
        try target.content(Span(), isLast: true)
        noteWritten()
    }

    /// Sends `text`.
    private mutating func sendWhole<Target: FieldSink & ~Copyable>(to target: inout Target) throws(ConversionError) {
        try beginText(to: &target)
        // A span of a property holds all of self, so the text is taken out.
        var whole = ByteStore()
        swap(&whole, &text)
        try sendText(whole.span, isLast: true, to: &target)
        swap(&whole, &text)
    }

    internal mutating func beginText<Target: FieldSink & ~Copyable>(to target: inout Target) throws(ConversionError) {
        guard let top = levels.lastIndex else {
            guard options.dialect == .afnetworking else { throw FieldFault.rootNotObject.error(field: nil) }
            valueDepth = 0
            return try beginPart(to: &target)
        }
        switch levels[top].kind {
        case .object, .array:
            try beginElement(isContainer: false, to: &target)
            if !isGathering { try beginPart(to: &target) }
        case .joined: try beginJoinedElement(to: &target)
        case .pairs: throw FieldFault.rootNotObject.error(field: nil)
        case .pair:
            levels[top].position += 1
            valueDepth = 0
            switch levels[top].position {
            case 1: name.removeAll()
            case 2: try beginPart(to: &target)
            default: throw FieldFault.rootNotObject.error(field: nil)
            }
        }
    }

    internal mutating func sendText<Target: FieldSink & ~Copyable>(
        _ piece: Span<UInt8>, isLast: Bool, to target: inout Target
    ) throws(ConversionError) {
        guard let top = levels.last else { return try target.content(piece, isLast: isLast) }
        switch top.kind {
        case .joined: try sendJoined(piece, to: &target)
        case .pair where top.position == 1:
            guard piece.count <= limits.key - name.count else {
                throw .limit("key", of: limits.key, what: "the length of a field's name")
            }
            name.append(contentsOf: piece)
        case .object, .array, .pairs, .pair:
            if isGathering {
                try document.string(piece, isLast: isLast)
            } else {
                try target.content(piece, isLast: isLast)
                if isLast { noteWritten() }
            }
        }
    }
}
