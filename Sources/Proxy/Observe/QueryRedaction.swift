internal import Octets

extension OutputBuffer {
    /// Appends a query as logs may show it. Redacted, each value is a `*`, and so is a piece without `=`: it may be a value
    /// without a name.
    mutating func append(query: Span<UInt8>, _ rule: LoggedQuery) {
        guard rule == .redact else { return append(query) }
        var start = 0
        while true {
            let end = Scan.firstIndex(of: UInt8(ascii: "&"), in: query, from: start) ?? query.count
            let piece = query.extracting(start..<end)
            if let equals = Scan.firstIndex(of: UInt8(ascii: "="), in: piece, from: 0) {
                append(piece.extracting(0...equals))
            }
            if !piece.isEmpty { append(UInt8(ascii: "*")) }
            guard end < query.count else { return }
            append(UInt8(ascii: "&"))
            start = end + 1
        }
    }
}
