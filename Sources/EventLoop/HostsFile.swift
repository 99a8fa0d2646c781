internal import Glibc
internal import Octets

/// `/etc/hosts` where it is long, as lists of names that are to lead nowhere are: c-ares reads all of it line by line at each look-up,
/// half a second for a million lines, in which the loop stands still. So such a file is searched here, once for each name as long as it
/// doesn't change; c-ares hears of none of it. A short one is c-ares' own matter.
///
/// Lines are read as c-ares does: an address, and behind it the names that stand for it, up to a `#`; a name may stand in several.
package struct HostsFile {
    /// The system's.
    package static let system = "/etc/hosts"
    /// Bytes up to which c-ares may read it: a millisecond.
    static let short = 64 * 1024
    /// Bytes up to which it is searched: more than that no list has.
    private static let longest = 256 * 1024 * 1024
    /// Names of which it is kept what the file has.
    private static let mostKept = 1000

    private let path: String
    private var stamp: FileStamp?
    private var kept: [String: [SocketAddress]] = [:]

    init(_ path: String = HostsFile.system) { self.path = path }

    /// The addresses of `name` in the order of their lines, without a port; empty where it isn't there, nil where c-ares is to see itself.
    mutating func addresses(of name: String) -> [SocketAddress]? {
        guard let now = FileStamp(path), now.byteCount > Self.short, now.byteCount <= Self.longest else {
            (stamp, kept) = (nil, [:])
            return nil
        }
        if now != stamp { (stamp, kept) = (now, [:]) }
        let name = name.lowercased()
        if let known = kept[name] { return known }
        guard let bytes = Self.read(path, now.byteCount) else { return nil }
        let found = Self.addresses(of: Array(name.utf8), in: bytes)
        if kept.count >= Self.mostKept { kept = [:] }
        kept[name] = found
        return found
    }

    /// Of a file that has grown meanwhile the front is enough: its stamp is another one with the next look-up.
    private static func read(_ path: String, _ size: Int) -> [UInt8]? {
        // SAFETY: the path lives during the call.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var hasFailed = false
        // SAFETY: the system writes behind what was read, within the buffer.
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            while count < size {
                let taken = unsafe Glibc.read(descriptor, buffer.baseAddress! + count, size - count)
                if taken < 0, errno == EINTR { continue }
                hasFailed = taken < 0
                guard taken > 0 else { break }
                count += taken
            }
        }
        return hasFailed ? nil : bytes
    }

    /// Looks for a name in lower case by its last byte, from one place where that could be to the next (Horspool): most of the bytes are
    /// never looked at.
    static func addresses(of name: [UInt8], in file: [UInt8]) -> [SocketAddress] {
        guard let last = name.last else { return [] }
        var steps = [Int](repeating: name.count, count: 256)
        for (index, byte) in name.dropLast().enumerated() { steps[Int(byte)] = name.count - 1 - index }
        let (bytes, pattern, skips) = (file.span, name.span, steps.span)
        var found: [SocketAddress] = []
        var at = name.count - 1
        while at < bytes.count {
            let byte = ASCII.lowercased(bytes[at])
            if byte == last, isName(pattern, in: bytes, endingAt: at),
                let address = address(ofLineWith: at + 1 - pattern.count, in: bytes), !found.contains(address)
            {
                found.append(address)
            }
            at += skips[Int(byte)]
        }
        return found
    }

    /// Whether `name` ends there, and is all of a word behind another one.
    private static func isName(_ name: Span<UInt8>, in bytes: Span<UInt8>, endingAt last: Int) -> Bool {
        let start = last + 1 - name.count
        for index in 0..<name.count where ASCII.lowercased(bytes[start + index]) != name[index] { return false }
        guard start > 0, isBlank(bytes[start - 1]) else { return false }
        let next = last + 1
        return next == bytes.count || endsWord(bytes[next])
    }

    /// The address of the line in which that name begins; nil where it is none, or the name stands behind a `#`.
    private static func address(ofLineWith start: Int, in bytes: Span<UInt8>) -> SocketAddress? {
        var begin = start
        while begin > 0, bytes[begin - 1] != ASCII.lineFeed {
            begin -= 1
            if bytes[begin] == UInt8(ascii: "#") { return nil }
        }
        while begin < start, isBlank(bytes[begin]) { begin += 1 }
        var end = begin
        while end < start, !isBlank(bytes[end]) { end += 1 }
        // No address is longer.
        guard end > begin, end < start, end - begin <= 45 else { return nil }
        let text = (begin..<end).map { bytes[$0] }
        return SocketAddress.parseHost(String(decoding: text, as: UTF8.self), port: 0)
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == ASCII.space || byte == ASCII.tab }

    private static func endsWord(_ byte: UInt8) -> Bool {
        isBlank(byte) || byte == ASCII.lineFeed || byte == ASCII.carriageReturn || byte == UInt8(ascii: "#")
    }
}
