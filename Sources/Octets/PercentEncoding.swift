extension OutputBuffer {
    /// Appends `bytes` as application/x-www-form-urlencoded wants them (WHATWG URL §5.2): what `ByteSet.formUnescaped`
    /// holds stays, a space becomes `+` when `plusForSpace` holds, and every other byte becomes `%` and two upper-case
    /// hexadecimal digits, NUL included.
    public mutating func append(formEncoding bytes: Span<UInt8>, plusForSpace: Bool) {
        let kept = ByteSet.formUnescaped
        var start = 0
        while start < bytes.count {
            // A slice at a time, so that the room asked for stays near to what is used.
            let end = min(start + 1024, bytes.count)
            let room = 3 * (end - start)
            if storage.capacity - storage.count < room {
                // Doubled, because an array reserves exactly what it is asked for.
                storage.reserveCapacity(max(storage.count + room, 2 * storage.capacity))
            }
            storage.append(addingCapacity: room) { out in
                for index in start..<end {
                    let byte = bytes[index]
                    if kept.contains(byte) {
                        out.append(byte)
                    } else if byte == ASCII.space && plusForSpace {
                        out.append(UInt8(ascii: "+"))
                    } else {
                        out.append(UInt8(ascii: "%"))
                        out.append(ASCII.upperHexDigit(byte >> 4))
                        out.append(ASCII.upperHexDigit(byte & 15))
                    }
                }
            }
            start = end
        }
    }
}
