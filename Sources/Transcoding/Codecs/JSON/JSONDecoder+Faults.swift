internal import Octets

// Errors are made here, far from the path of good input: what they say is put together only when they are thrown.
extension JSON.Decoder {
    /// The error for the byte at `at`, which the state has no use for.
    @inline(never)
    func unexpectedByte(at: Int, in input: Span<UInt8>) -> ConversionError {
        let fault: JSON.Fault =
            switch state {
            case .elementOrEnd: .unexpectedByte(.elementOrEnd)
            case .nameOrEnd: .unexpectedByte(.nameOrEnd)
            case .name: .unexpectedByte(.name)
            case .colon: .unexpectedByte(.colon)
            case .commaOrEnd: .unexpectedByte(isInObject ? .commaInObject : .commaInArray)
            case .literal: .unexpectedByte(.literal)
            case .text, .nameText: .controlCharacter
            case .end: .trailingData
            case .start, .byteOrderMark, .value, .number, .failed: .unexpectedByte(.value)
            }
        return failure(fault, at: at, in: input)
    }

    /// The error `fault` at index `at` of the slice `input`.
    @inline(never)
    func failure(_ fault: JSON.Fault, at: Int, in input: Span<UInt8>) -> ConversionError {
        let position = offset + at
        if at >= 0, at < input.count, isOtherCharset(input[at], at: position) {
            return JSON.Fault.unsupportedCharset.error(offset: position)
        }
        return fault.error(offset: position, pointer: pointer(in: input))
    }

    @inline(never)
    func limitFailure(
        _ name: String, of value: Int, what: String, at: Int, in input: Span<UInt8>
    ) -> ConversionError {
        ConversionError.limit(name, of: value, what: what, offset: offset + at).at(pointer: pointer(in: input))
    }

    /// Whether a faulty byte is the trace of UTF-16 or UTF-32: the byte order mark's first byte, or a NUL as one of the
    /// first two bytes, since a JSON text begins with an ASCII character (RFC 4627 §3).
    private func isOtherCharset(_ byte: UInt8, at position: Int) -> Bool {
        position == 0 && byte >= 0xFE || position <= 1 && byte == 0
    }

    /// The JSON Pointer to the value being read, or nil at the root.
    private func pointer(in input: Span<UInt8>) -> String? {
        switch namePlace {
        case .slice: pointer(endingIn: input.extracting(nameStart..<nameEnd))
        case .buffer: pointer(endingIn: nameBytes.span)
        case .none: pointer(endingIn: nil)
        }
    }

    /// The JSON Pointer to the member `name` of the innermost object or, without a name, to the place being read.
    func pointer(endingIn name: Span<UInt8>?) -> String? {
        guard !levels.isEmpty else { return nil }
        var tokens: [UInt8] = []
        for index in 1..<levels.count {
            let level = levels[index]
            // A level holds what surrounds its container, so it has the container's own index or name.
            if level.isObject {
                let end = index + 1 < levels.count ? levels[index + 1].pathStart : path.count
                JSONPointer.append(path.span.extracting(level.pathStart..<end), to: &tokens)
            } else {
                tokens.append(contentsOf: "/\(level.elementIndex)".utf8)
            }
        }
        if !isInObject {
            tokens.append(contentsOf: "/\(elementIndex)".utf8)
        } else if let name {
            JSONPointer.append(name, to: &tokens)
        }
        return tokens.isEmpty ? nil : tokens.span.lossyString()
    }
}
