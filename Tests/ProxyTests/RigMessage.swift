import Octets

/// A request or response as a test reads it from the wire: by a plain reader of its own, so that what Recast writes
/// isn't judged by what Recast reads.
struct RigMessage {
    enum Body {
        /// As Content-Length or Transfer-Encoding say; none without them.
        case framed
        /// None, whatever the head says: the answer to HEAD.
        case none
        /// To the end of the connection.
        case untilClose
    }

    var startLine = ""
    var fields: [(name: String, value: String)] = []
    var body: [UInt8] = []
    /// The sizes of the chunks, where the body is chunked.
    var chunks: [Int] = []

    /// The values of a field, joined by `|`; nil when there is none.
    subscript(_ name: String) -> String? {
        let values = fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
        return values.isEmpty ? nil : values.joined(separator: "|")
    }

    var status: Int { Int(startLine.split(separator: " ")[1]) ?? 0 }
    var text: String { String(decoding: body, as: UTF8.self) }
    var isChunked: Bool { self["Transfer-Encoding"] == "chunked" }
    var names: [String] { fields.map { $0.name.lowercased() } }

    /// Reads one message from the front; nil while it is incomplete.
    static func parse(_ bytes: ArraySlice<UInt8>, _ body: Body, isOver: Bool) -> (RigMessage, used: Int)? {
        guard let (head, end) = lineEnd(of: "\r\n\r\n", in: bytes, from: bytes.startIndex) else { return nil }
        var message = RigMessage()
        for (index, line) in String(decoding: bytes[head], as: UTF8.self).components(of: "\r\n").enumerated() {
            if index == 0 {
                message.startLine = line
            } else {
                let colon = line.firstIndex(of: ":") ?? line.endIndex
                let value = line[colon...].dropFirst().drop { $0 == " " }
                message.fields.append((String(line[..<colon]), String(value)))
            }
        }
        var at = end
        switch body {
        case .none: break
        case .untilClose:
            guard isOver else { return nil }
            message.body = Array(bytes[at...])
            at = bytes.endIndex
        case .framed where message.isChunked:
            guard message.readChunks(bytes, &at) else { return nil }
        case .framed:
            let count = Int(message["Content-Length"] ?? "0") ?? -1
            guard count >= 0, bytes.endIndex - at >= count else { return nil }
            message.body = Array(bytes[at..<at + count])
            at += count
        }
        return (message, at - bytes.startIndex)
    }

    private mutating func readChunks(_ bytes: ArraySlice<UInt8>, _ at: inout Int) -> Bool {
        while let (line, start) = Self.lineEnd(of: "\r\n", in: bytes, from: at),
            let size = Int(String(decoding: bytes[line], as: UTF8.self), radix: 16),
            bytes.endIndex - start >= size + 2
        {
            // Trailer fields stand between the last chunk and an empty line.
            if size == 0 { return skipTrailers(bytes, start, &at) }
            at = start + size + 2
            chunks.append(size)
            body += bytes[start..<start + size]
        }
        return false
    }

    private func skipTrailers(_ bytes: ArraySlice<UInt8>, _ start: Int, _ at: inout Int) -> Bool {
        var next = start
        while let (line, end) = Self.lineEnd(of: "\r\n", in: bytes, from: next) {
            next = end
            if line.isEmpty {
                at = end
                return true
            }
        }
        return false
    }

    /// What stands before the next `mark`, and the index behind it.
    private static func lineEnd(
        of mark: StaticString, in bytes: ArraySlice<UInt8>, from start: Int
    ) -> (Range<Int>, Int)? {
        let mark = Array(mark.description.utf8)
        var at = start
        while at + mark.count <= bytes.endIndex {
            if bytes[at] == mark[0], bytes[at..<at + mark.count].elementsEqual(mark) {
                return (start..<at, at + mark.count)
            }
            at += 1
        }
        return nil
    }
}

extension String {
    /// The texts between the occurrences of `mark`.
    fileprivate func components(of mark: String) -> [String] {
        var parts: [String] = []
        var current: [UInt8] = []
        let bytes = Array(utf8)
        let mark = Array(mark.utf8)
        var at = 0
        while at < bytes.count {
            if bytes[at...].starts(with: mark) {
                parts.append(String(decoding: current, as: UTF8.self))
                current = []
                at += mark.count
            } else {
                current.append(bytes[at])
                at += 1
            }
        }
        return parts + [String(decoding: current, as: UTF8.self)]
    }
}
