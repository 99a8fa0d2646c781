internal import Octets

extension FieldName {
    /// Splits the name that stands in `bytes` as a library does, and says whether that would leave the field out.
    ///
    /// Where `dots`, `.key` is first made `[key]`, as qs does it under `allowDots`. `malformed_key: reject` refuses what is
    /// outside our grammar, whatever the library makes of it.
    internal mutating func parse(
        as dialect: Dialect, dots: Bool, options: FieldDecodingOptions, limits: Limits
    ) throws(ConversionError) {
        isDropped = false
        if options.malformedKey == .reject {
            let name = bytes
            guard split(name.span, dots: dots) else { throw FieldFault.malformedKey.error(field: spelling) }
            segments.removeAll(keepingCapacity: true)
        }
        var range = 0..<bytes.count
        if dots, Scan.firstIndex(of: UInt8(ascii: "."), in: bytes.span) != nil { range = appendBracketed() }
        let depth = limits.keyDepth(for: dialect)
        switch dialect {
        case .php: try splitPHP(range, depth: depth)
        case .rack: try splitRack(range, depth: depth)
        case .qs: splitQS(range, depth: depth)
        case .recast, .afnetworking, .alamofire, .whatwg: break
        }
        // A dropped name still has a first segment for those who ask before they drop it.
        if segments.isEmpty { segments.append(Segment(start: range.lowerBound, end: range.upperBound, kind: .key)) }
    }

    internal func tooDeep(_ depth: Int) -> ConversionError {
        .limit("key_depth", of: depth, what: "the nesting of a field's name", field: spelling)
    }

    /// The place of `byte` in `range`, or nil.
    internal func firstIndex(of byte: UInt8, in range: Range<Int>) -> Int? {
        Scan.firstIndex(of: byte, in: bytes.slice(range)).map { range.lowerBound + $0 }
    }

    /// Appends the name with each `.key` as `[key]`, where `key` runs up to the next dot or opening bracket and isn't empty.
    private mutating func appendBracketed() -> Range<Int> {
        let count = bytes.count
        let dot = UInt8(ascii: "."), open = UInt8(ascii: "[")
        var at = 0
        while at < count {
            let byte = bytes[at]
            at += 1
            guard byte == dot, at < count, bytes[at] != dot, bytes[at] != open else {
                bytes.append(byte)
                continue
            }
            bytes.append(open)
            while at < count, bytes[at] != dot, bytes[at] != open {
                bytes.append(bytes[at])
                at += 1
            }
            bytes.append(UInt8(ascii: "]"))
        }
        return count..<bytes.count
    }
}
