internal import ContentCoding
internal import EventLoop
internal import Gateway
internal import HTTPWire
internal import Octets
internal import Transcoding

/// Which of the exchanges that are kept are asked for: all where nothing is said.
struct ExchangeSelection: Sendable {
    var route: String?
    private var method: [UInt8]?
    /// A part of the code of a problem, or of a flag.
    private var code: [UInt8]?
    /// A status, or its class as `4xx`; 5xx has those that none is for, too (docs/rules.md F30).
    private var statuses: ClosedRange<Int>?

    /// Nil where it can't be: `fault` says why.
    init?(_ request: AdminRequest, fault: inout String) {
        route = request.value("route")
        method = request.value("method").map { Array($0.utf8) }
        code = request.value("code").map { Array($0.utf8) }
        guard let text = request.value("status") else { return }
        if text.count == 3, text.hasSuffix("xx"), let digit = text.first?.wholeNumberValue, (1...9).contains(digit) {
            statuses = digit * 100...(digit == 5 ? 999 : digit * 100 + 99)
        } else if let status = Int(text), (0...999).contains(status) {
            statuses = status...status
        } else {
            fault = "a status is a number as 404, or a class of them as 4xx"
            return nil
        }
    }

    func holds(_ tap: ExchangeTap) -> Bool {
        if let route, tap.route?.name != route { return false }
        if let statuses, !statuses.contains(tap.facts.record.status) { return false }
        if let method, !tap.fromClient.has(method: method) { return false }
        guard let code else { return true }
        return Self.holds(tap.code, code) || Self.holds(tap.facts.record.flag?.rawValue, code)
    }

    /// Whether `word` stands anywhere in the text, in whatever case.
    private static func holds(_ text: String?, _ word: [UInt8]) -> Bool {
        guard let text else { return false }
        let bytes = text.utf8Span.span
        guard word.count <= bytes.count else { return false }
        for start in 0...bytes.count - word.count
        where bytes.extracting(start..<start + word.count).isEqualIgnoringCase(to: word.span) {
            return true
        }
        return false
    }
}

/// What a list shows of an exchange that is kept, copied for the main loop.
struct ExchangeFacts: Sendable {
    let worker: Int
    let number: Int
    /// Milliseconds since 1970.
    let endedAt: Int
    let requestID: String
    let head: [UInt8]
    let version: MessageVersion
    let route: String?
    let upstream: String?
    private let status: Int
    let upstreamStatus: Int
    private let code: String?
    private let flag: String?
    private let input: BodyEncoding?
    private let output: BodyEncoding?
    private let bytes: (fromClient: Int, toUpstream: Int, toClient: Int)
    private let time: UInt64
    let client: String?
    private let original: String?
    /// Values that the settings have from elsewhere, and those of variables of the path that give access by their names.
    let known: [String]
    /// Fields of heads that the settings say to hold what gives access.
    let secretFields: [String]

    init(_ tap: ExchangeTap, of worker: Int) {
        self.worker = worker
        number = tap.facts.number
        let known = tap.facts
        endedAt = known.endedAt
        requestID = tap.requestID.span.lossyString()
        // The list shows what stands in it up to the host.
        head = tap.fromClient.head.span.copied()
        version = known.version
        route = tap.route?.name
        upstream = known.record.attempts > 0 ? tap.route.flatMap { tap.snapshot?.upstreamName(of: $0) } : nil
        status = known.record.status
        upstreamStatus = tap.upstreamStatus
        code = tap.code
        flag = known.record.flag?.rawValue
        input = known.input
        output = known.output
        bytes = (known.record.bytesIn, known.record.bytesOut, known.record.bytesBack)
        time = known.total
        client = tap.client.map { client in
            guard !client.isUnix else { return "unix" }
            var text = OutputBuffer()
            client.appendIP(to: &text)
            return text.span.lossyString()
        }
        original = tap.original
        let values = tap.pathSecrets.map { String(decoding: $0, as: UTF8.self) }
        self.known = (tap.snapshot?.settings.foreignValues ?? []) + values
        secretFields = tap.route?.secretFields ?? []
    }

    /// The start line of the answer.
    var statusLine: [UInt8] {
        guard (100...999).contains(status) else { return [] }
        var line = OutputBuffer()
        HeadWriter.statusLine(status, into: &line)
        return line.span.copied()
    }

    /// By which the console knows it.
    var id: String { "\(worker)-\(number)" }

    /// The request's id as it is shown: a client may choose it.
    func shownRequestID(hiding secrets: Secrets) -> String {
        String(decoding: secrets.hide(in: Array(requestID.utf8)).bytes, as: UTF8.self)
    }

    /// The members of a summary, in which `secrets` are hidden.
    ///
    /// - Parameter secrets: nil: what is masked in the head itself, and values of the settings.
    func members(_ mask: NameMask, hiding secrets: Secrets? = nil) -> [(name: String, value: AdminValue)] {
        var request = ShownHead(head, mask.adding([], fields: secretFields))
        let secrets = secrets ?? Secrets(mask.isEmpty ? [] : request.values + known.map { Array($0.utf8) })
        request.hide(secrets)
        let words = request.line.split(separator: " ", maxSplits: 1)
        let target = words.count > 1 ? String(words[1].split(separator: " ").dropLast().joined(separator: " ")) : ""
        func optional(_ text: String?) -> AdminValue { text.map(AdminValue.text) ?? .none }
        var time = LogTime()
        return [
            ("id", .text(id)), ("request_id", .text(shownRequestID(hiding: secrets))),
            ("at", .text(String(decoding: time.text(endedAt), as: UTF8.self))),
            ("method", .text(words.first.map(String.init) ?? "")), ("target", .text(target)),
            ("host", optional(request.value(of: "host"))), ("protocol", .text("\(version.text)")),
            ("route", optional(route)), ("upstream", optional(upstream)), ("status", .number(status)),
            ("upstream_status", upstreamStatus == 0 ? .none : .number(upstreamStatus)), ("code", optional(code)),
            ("flag", optional(flag)), ("input", optional(input?.rawValue)), ("output", optional(output?.rawValue)),
            ("bytes_in", .number(bytes.fromClient)), ("bytes_out", .number(bytes.toUpstream)),
            ("bytes_back", .number(bytes.toClient)), ("time", .seconds(self.time)), ("client", optional(client)),
            ("replay_of", optional(original)),
        ]
    }
}

/// A head as it is shown: its fields, those excepted whose values nobody is shown.
struct ShownHead {
    struct Field {
        var name: String
        /// As it is shown.
        var bytes: [UInt8]
        var isMasked: Bool

        var value: String { String(decoding: bytes, as: UTF8.self) }
    }

    /// The start line, with values of the target masked.
    var line: String { String(decoding: lineBytes, as: UTF8.self) }
    private(set) var lineBytes: [UInt8] = []
    private(set) var fields: [Field] = []
    /// Masked values that are long enough to be looked for elsewhere.
    private(set) var values: [[UInt8]] = []

    /// - Parameter head: as HTTP/1.1 writes it, perhaps cut.
    init(_ head: [UInt8], _ mask: NameMask) {
        for (index, bytes) in Self.lines(of: head).enumerated() {
            guard index > 0 else {
                lineBytes = startLine(bytes, mask)
                continue
            }
            guard let (name, value) = Self.field(bytes) else { continue }
            let text = String(decoding: name, as: UTF8.self)
            if !value.isEmpty, mask.isSecret(field: text) {
                note(value, of: text.lowercased())
                fields.append(Field(name: text, bytes: Array("\(NameMask.replacement)".utf8), isMasked: true))
            } else {
                let masked = BodyMask.field(mask, value, of: text)
                values += masked.values
                fields.append(Field(name: text, bytes: masked.output, isMasked: masked.count > 0))
            }
        }
    }

    /// The lines up to the empty one.
    static func lines(of head: [UInt8]) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        for line in head.split(separator: ASCII.lineFeed, omittingEmptySubsequences: false) {
            let text = line.last == ASCII.carriageReturn ? line.dropLast() : line
            if text.isEmpty, !lines.isEmpty { break }
            lines.append(Array(text))
        }
        return lines
    }

    /// The name and the value of a field's line.
    static func field(_ line: [UInt8]) -> (name: [UInt8], value: [UInt8])? {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0 else { return nil }
        return (Array(line[..<colon]), line.span.extracting((colon + 1)...).withoutBlanks.copied())
    }

    private mutating func note(_ value: [UInt8], of name: String) {
        let isQuoted = value.count > 1 && value.first == UInt8(ascii: "\"") && value.last == UInt8(ascii: "\"")
        if !isQuoted { values.append(value) }
        // Of cookies each value is a secret; what else stands in a Set-Cookie is none.
        if name == "cookie" || name == "set-cookie" {
            let pairs = value.split(separator: UInt8(ascii: ";")).prefix(name == "cookie" ? .max : 1)
            return values += pairs.compactMap { pair in
                pair.firstIndex(of: UInt8(ascii: "=")).map { Array(pair[($0 + 1)...]) }
            }
        }
        // `Bearer abc`: what follows the scheme is the secret. And so is what stands in quotes.
        func isSpace(_ byte: UInt8) -> Bool { byte == ASCII.space || byte == ASCII.tab }
        if let space = value.firstIndex(where: isSpace) { values.append(Array(value[space...].drop(while: isSpace))) }
        let pieces = value.split(separator: UInt8(ascii: "\""), omittingEmptySubsequences: false)
        for index in pieces.indices where !index.isMultiple(of: 2) { values.append(Array(pieces[index])) }
    }

    private mutating func startLine(_ bytes: [UInt8], _ mask: NameMask) -> [UInt8] {
        // That of a response has no target.
        guard !mask.isEmpty, !bytes.starts(with: "HTTP/".utf8), let space = bytes.firstIndex(of: ASCII.space) else {
            return bytes
        }
        let end = bytes.lastIndex(of: ASCII.space).map { $0 > space ? $0 : bytes.count } ?? bytes.count
        let target = BodyMask.address(mask, Array(bytes[(space + 1)..<end]))
        values += target.values
        return Array(bytes[...space]) + target.output + bytes[end...]
    }

    func value(of name: String) -> String? { fields.first { $0.name.lowercased() == name }?.value }

    mutating func hide(_ secrets: Secrets) {
        lineBytes = secrets.hide(in: lineBytes).bytes
        for index in fields.indices where fields[index].bytes != Array("\(NameMask.replacement)".utf8) {
            let (bytes, count) = secrets.hide(in: fields[index].bytes)
            guard count > 0 else { continue }
            fields[index].isMasked = true
            fields[index].bytes = bytes
        }
    }

    var value: AdminValue {
        .list(
            fields.map {
                .object([("name", .text($0.name)), ("value", .text($0.value)), ("masked", .bool($0.isMasked))])
            })
    }
}

/// A message that is kept, copied for the main loop.
struct KeptCopy: Sendable {
    let head: [UInt8]
    let body: [UInt8]
    /// Bytes of the whole body.
    let count: Int

    /// - Parameter line: the start line, where only the fields behind it are kept.
    init(_ message: borrowing KeptMessage, line: [UInt8] = []) {
        let kept = message.head.span.copied()
        head = kept.isEmpty ? [] : line + kept
        body = message.body.span.copied()
        count = message.count
    }

    /// A message whose content, or the beginning of it, is that of `source`.
    ///
    /// - Parameter limit: bytes of a body that are kept.
    init(_ message: borrowing KeptMessage, of source: KeptCopy, limit: Int, line: [UInt8] = []) {
        let own = KeptCopy(message, line: line)
        // What is sent again counts once.
        let passed = min(message.passed, source.count)
        let known = source.body.prefix(passed)
        head = own.head
        // Behind a gap nothing can be shown.
        body = known.count == passed ? Array((known + own.body).prefix(limit)) : Array(known)
        count = passed + own.count
    }

    var isEmpty: Bool { head.isEmpty && count == 0 }
    var isWhole: Bool { body.count == count }
    /// Of a client's request: it came by no head.
    var hasHead: Bool { !head.isEmpty }

    func field(_ name: String) -> String? {
        for line in ShownHead.lines(of: head).dropFirst() {
            guard let field = ShownHead.field(line) else { continue }
            if String(decoding: field.name, as: UTF8.self).lowercased() == name {
                return String(decoding: field.value, as: UTF8.self)
            }
        }
        return nil
    }

    /// The body without its codings, as far as it is kept, up to `limit` bytes; nil where they can't be undone.
    func decoded(limit: Int) -> (bytes: [UInt8], isWhole: Bool)? {
        var codings = AppliedCodings()
        for name in (field("content-encoding") ?? "").split(separator: ",") {
            let name = Array(name.utf8.filter { $0 != ASCII.space && $0 != ASCII.tab })
            if name.isEmpty || name.span.isEqualIgnoringCase(to: "identity") { continue }
            guard let coding = Coding(name: name.span), codings.append(coding) else { return nil }
        }
        guard !codings.isEmpty, !body.isEmpty else { return (body, isWhole) }
        let decoder = ContentDecoder()
        decoder.begin(codings, limits: CodingLimits())
        var output = OutputBuffer()
        var at = 0
        do throws(CodingError) {
            while output.count <= limit, at < body.count || decoder.hasMore {
                at += try decoder.feed(body.span.extracting(at..<body.count), into: &output)
            }
            if isWhole, output.count <= limit { try decoder.finish() }
        } catch {
            return output.isEmpty ? nil : (Array(output.span.copied().prefix(limit)), false)
        }
        let bytes = output.span.copied()
        return bytes.count > limit ? (Array(bytes[..<limit]), false) : (bytes, isWhole)
    }
}

/// A message as it is shown.
struct ShownMessage {
    private var head: ShownHead
    private var bytes: [UInt8] = []
    private let size: Int
    private let kept: Int
    private let isWhole: Bool
    /// Whether what is shown ends where the body without its codings does.
    private var isShownWhole: Bool
    private let hasMask: Bool
    private let coding: String?
    /// Whether `bytes` still have that coding, which nobody here can undo.
    private var isCoded = false
    private let type: String
    private var masked = 0
    private var isShown = true
    private var whyHidden = "its names can't be read, so that its values can't be masked"
    private(set) var secrets: [[UInt8]]

    /// - Parameter isOneValue: whether the whole body is the value of a field that is masked.
    init(_ message: KeptCopy, _ mask: NameMask, isOneValue: Bool = false, type: String? = nil) {
        head = ShownHead(message.head, mask)
        size = message.count
        kept = message.body.count
        isWhole = message.isWhole
        isShownWhole = isWhole
        hasMask = !mask.isEmpty
        self.type = message.field("content-type") ?? type ?? ""
        coding = message.field("content-encoding")
        secrets = head.values
        guard let decoded = message.decoded(limit: ConsoleSettings.greatestBody) else {
            isShown = mask.isEmpty
            isCoded = true
            bytes = message.body
            return
        }
        isShownWhole = decoded.isWhole
        guard !isOneValue else {
            masked = decoded.bytes.isEmpty ? 0 : 1
            bytes = masked == 0 ? [] : Array("\(NameMask.replacement)".utf8)
            secrets.append(decoded.bytes)
            return
        }
        let (body, isShown) = BodyMask.apply(mask, to: decoded.bytes, type: self.type, isWhole: decoded.isWhole)
        self.isShown = isShown
        bytes = body.output
        masked = body.count
        secrets += body.values
    }

    /// Bytes of a body that is an argument of a command: Linux takes less than 128 KiB, and a quotation mark is four bytes.
    private static let argumentLimit = 30 * 1024

    /// Bytes of the body that are looked through.
    var count: Int { bytes.count }

    /// Shows nothing of the body.
    mutating func hideBody() {
        guard !bytes.isEmpty else { return }
        bytes = []
        isShown = false
        whyHidden = "more of its values are masked than can be looked for in the others"
    }

    /// Hides what was masked anywhere in the exchange.
    mutating func hide(_ secrets: Secrets) {
        head.hide(secrets)
        let (bytes, count) = secrets.hide(in: bytes)
        self.bytes = bytes
        masked += count
    }

    var value: AdminValue {
        .object([("line", .text(head.line)), ("fields", head.value), ("body", body)])
    }

    /// A command that sends it, as a shell reads it, in which what is masked is so, too, and how many values that is; nil where the start
    /// line couldn't be read.
    ///
    /// - Parameter listener: where it came to, as URLs write it; nil: whatever its Host names is asked.
    func curl(
        isSecure: Bool, to listener: String?, _ version: MessageVersion
    ) -> (command: String, masked: Int)? {
        let words = head.lineBytes.split(separator: ASCII.space)
        guard words.count >= 3 else { return nil }
        func quoted(_ text: String) -> String { Self.quoted(Array(text.utf8)) }
        let host = head.value(of: "host")
        let place = listener ?? host ?? "localhost"
        // A certificate is of the name that was asked for, so that stays in the URL, and curl is led to the address.
        let authority = isSecure ? host ?? place : place
        let target = Array(words[1])
        let isPath = target.first == UInt8(ascii: "/")
        // With -X HEAD curl would wait for content.
        let isHead = words[0].elementsEqual("HEAD".utf8) && size == 0
        var command = ["curl", "--globoff", "--path-as-is"]
        if version == .http2 { command.append(isSecure ? "--http2" : "--http2-prior-knowledge") }
        command += isHead ? ["--head"] : ["-X", Self.quoted(Array(words[0]))]
        if !isPath { command += ["--request-target", Self.quoted(target)] }
        let origin = Array("\(isSecure ? "https" : "http")://\(authority)".utf8)
        command.append(Self.quoted(isPath ? origin + target : origin))
        if authority != place { command += ["--connect-to", quoted("::\(place)")] }

        // What the console offers of the body is without a coding that it could undo, and so is the command's.
        let isKnown = isWhole && isShownWhole && (text != nil || base64 != nil)
        var own = ["content-length", "transfer-encoding", "connection", "expect"]
        if authority == host { own.append("host") }
        if isKnown, !isCoded { own.append("content-encoding") }
        var hidden = 0
        for field in head.fields where !own.contains(field.name.lowercased()) {
            // curl leaves a field out that has no value, unless a semicolon stands in the colon's place.
            let line = field.bytes.isEmpty ? Array("\(field.name);".utf8) : Array("\(field.name): ".utf8) + field.bytes
            command += ["-H", Self.quoted(line)]
            if field.isMasked { hidden += 1 }
        }
        if hasMask {
            hidden += String(decoding: target, as: UTF8.self).ranges(of: "\(NameMask.replacement)").count
        }
        // What curl would add of its own: a colon without a value says no.
        let added = ["Accept", "Host", "User-Agent"] + (size > 0 ? ["Content-Type"] : [])
        for name in added where head.value(of: name.lowercased()) == nil { command += ["-H", quoted("\(name):")] }
        if size > 0 {
            let isShort = bytes.count <= Self.argumentLimit
            let text = isKnown && isShort ? self.text : nil
            command += text.map { ["--data-raw", quoted($0)] } ?? ["--data-binary", "@body"]
            if isKnown { hidden += masked }
        }
        return (command.joined(separator: " "), hidden)
    }

    /// An argument as shells read it. What is no text a shell makes of octal digits: else other bytes would be sent.
    private static func quoted(_ argument: [UInt8]) -> String {
        let known = String(validating: argument, as: UTF8.self)
        var text = ""
        for byte in known == nil ? argument : [] {
            switch byte {
            case 0x80...: text += "\\" + String(byte, radix: 8)
            case UInt8(ascii: "\\"), UInt8(ascii: "%"):
                text += String(repeating: Character(Unicode.Scalar(byte)), count: 2)
            default: text += String(Unicode.Scalar(byte))
            }
        }
        let parts = (known ?? text).split(separator: "'", omittingEmptySubsequences: false)
        let quoted = "'" + parts.joined(separator: "'\\''") + "'"
        return known == nil ? "\"$(printf \(quoted))\"" : quoted
    }

    /// The body as it is shown, where it is a text.
    var text: String? { isShown ? BodyMask.text(bytes, isWhole: isShownWhole) : nil }
    /// The body as it is shown, where it is none. With a mask nothing is, since names may stand in it that nobody could read.
    private var base64: String? {
        isShown && !hasMask && text == nil ? Base64Encoder.text(of: bytes.span).span.lossyString() : nil
    }
    /// The head as it is shown.
    var shownHead: ShownHead { head }
    /// Values that are masked in the head.
    var headSecrets: [[UInt8]] { head.values }
    /// Whether `edit` brings the body as it is shown.
    func isBody(_ text: String?, base64: String?) -> Bool {
        base64.map { $0 == self.base64 } ?? text.map { $0 == self.text } ?? false
    }

    private var body: AdminValue {
        let text = self.text
        let essence = String(type.prefix { $0 != ";" }).lowercased()
        let encoding = BodyEncoding.allCases.first { $0.mediaType == essence }
        let isHidden = text == nil && (!isShown || hasMask)
        return .object([
            ("size", .number(size)), ("kept", .number(kept)), ("whole", .bool(isWhole && isShownWhole)),
            ("text", text.map(AdminValue.text) ?? .none), ("base64", base64.map(AdminValue.text) ?? .none),
            ("masked", .number(masked)),
            ("hidden", isHidden ? .text(whyHidden) : .none),
            ("coding", coding.map(AdminValue.text) ?? .none),
            ("encoding", encoding.map { .text($0.rawValue) } ?? .none), ("type", .text(type)),
        ])
    }
}
