import Testing

/// What became of many inputs that both parsers read.
struct Tally {
    private(set) var agreed = 0
    /// How often only we refused, by our code; and how often only NIO did, by its error.
    private(set) var onlyUs: [String: Int] = [:]
    private(set) var onlyThem: [String: Int] = [:]

    mutating func add(_ bytes: [UInt8], _ name: String) {
        let (ours, isClosed) = readingByUs(bytes)
        let theirs = readingByNIO(bytes)
        // Requests that both have read to their end are the same ones.
        let count = min(ours.whole, theirs.whole)
        for index in 0..<count {
            let same = ours.requests[index].normalized == theirs.requests[index].normalized
            #expect(same, "\(name): \(ours.requests[index]) and \(theirs.requests[index]) of \(bytes.shown)")
        }
        // We look at nothing behind the last request of a connection; NIO looks at nothing behind one that asks for another
        // protocol.
        if isClosed && theirs.whole >= ours.requests.count { agreed += 1; return }
        if theirs.requests.contains(where: \.leavesHTTP) { agreed += 1; return }
        switch (ours.refusal, theirs.refusal) {
        case (nil, nil):
            #expect(ours.requests.count == theirs.requests.count, "\(name): \(ours) and \(theirs) of \(bytes.shown)")
            #expect(ours.whole == theirs.whole, "\(name): \(ours) and \(theirs) of \(bytes.shown)")
            agreed += 1
        case (_?, _?): agreed += 1
        case (let code?, nil):
            onlyUs[code, default: 0] += 1
            if Explained.us[code] == nil { Issue.record("only we refuse, with \(code): \(name): \(bytes.shown)") }
        case (nil, let error?):
            // NIO refuses some bytes as they come, we with their line's end: we have not taken this head either.
            if ours.endsInHead {
                agreed += 1
                return
            }
            onlyThem[error, default: 0] += 1
            if Explained.them[error] == nil { Issue.record("only NIO refuses, with \(error): \(name): \(bytes.shown)") }
        }
    }

    /// Bounds how much is explained away.
    func check() {
        let total = agreed + onlyUs.values.reduce(0, +) + onlyThem.values.reduce(0, +)
        print("differential: \(agreed) of \(total) agree; only we refuse: \(onlyUs); only NIO: \(onlyThem)")
        #expect(onlyThem.values.reduce(0, +) * 40 <= total, "\(onlyThem)")
    }
}

extension Reading {
    /// Requests that were read to their end; they come first.
    var whole: Int { requests.prefix(while: \.isComplete).count }
}

extension ParsedRequest {
    /// With the host in lower case and without an empty port, as we pass it on.
    var normalized: ParsedRequest {
        var copy = self
        for index in copy.fields.indices where copy.fields[index][0] == "host" {
            var host = copy.fields[index][1].lowercased()
            if host.hasSuffix(":") { host.removeLast() }
            copy.fields[index][1] = host
        }
        copy.minor = min(minor, 1)
        if target.lowercased().hasPrefix("http") { copy.target = target.lowercased() }
        return copy
    }

    /// Whether bytes behind it are no HTTP to llhttp.
    var leavesHTTP: Bool {
        method == "CONNECT" || fields.contains { $0[0] == "upgrade" }
    }
}

extension [UInt8] {
    var shown: String { String(String.UnicodeScalarView(prefix(400).map { Unicode.Scalar($0) })).debugDescription }
}
