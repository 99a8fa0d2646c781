internal import Glibc

/// Where inputs come from: files that a script has made, and bytes that follow from a number.
enum Documents {
    /// The slices that a proxy reads.
    static let slice = 64 * 1024

    static func read(_ name: String, in folder: String) -> [UInt8] {
        let path = folder + "/" + name
        let descriptor = unsafe open(path, O_RDONLY)
        guard descriptor >= 0 else { fail("\(path) can't be read; scripts/bench-codecs makes it") }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            // SAFETY: read fills no more than the buffer's count.
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { return bytes }
            bytes += buffer[..<count]
        }
    }

    /// `count` bytes, the same on every machine: xorshift64*. The peer's program makes the same ones.
    static func noise(_ count: Int) -> [UInt8] {
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15
        return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, written in
            var at = 0
            while at < count {
                state ^= state >> 12
                state ^= state << 25
                state ^= state >> 27
                var word = state &* 0x2545_F491_4F6C_DD1D
                for _ in 0..<min(8, count - at) {
                    // SAFETY: at < count, which is the capacity.
                    unsafe buffer[at] = UInt8(truncatingIfNeeded: word)
                    word >>= 8
                    at += 1
                }
            }
            written = count
        }
    }

    /// `count` bytes of `line`, over and over.
    static func repeating(_ line: String, _ count: Int) -> [UInt8] {
        let line = Array(line.utf8)
        return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, written in
            // SAFETY: every index is below the capacity.
            for at in 0..<count { unsafe buffer[at] = line[at % line.count] }
            written = count
        }
    }
}
