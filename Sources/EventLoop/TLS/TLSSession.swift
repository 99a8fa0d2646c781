internal import CTLSShims
internal import Octets

/// Which side of TLS a stream is, with what it knows.
public enum TLSRole {
    case server(TLSServerContext)
    /// `endpoint` is the name, or the address, that was connected to; it stands for the server's name where the options
    /// give none, and earlier sessions with it are taken up.
    case client(TLSClientContext, endpoint: String)
}

/// What a handshake came to.
public struct TLSFacts: Sendable {
    /// `TLSv1.3`.
    public let version: String
    /// OpenSSL's name: `TLS_AES_128_GCM_SHA256`.
    public let cipher: String
    /// Whether an earlier session was taken up.
    public let isResumed: Bool
    /// Whether both sides have agreed on HTTP/2 (ALPN).
    public let isHTTP2: Bool
    /// Whether they have agreed on a version of HTTP/1; neither holds where the client named no protocol.
    public let isHTTP1: Bool
    /// The client's certificate, where it showed one.
    public let client: TLSClientCertificate?

    /// The subject of the client's certificate after RFC 2253, cut at 512 bytes, where it showed one.
    public var clientSubject: String? { client?.shownSubject }
}

/// Who a client is by its certificate, which was verified.
public final class TLSClientCertificate: Sendable {
    /// The subject after RFC 2253, cut at 512 bytes: to be shown.
    public let shownSubject: String
    /// The whole subject, which is ASCII: all else is escaped (RFC 4514 §2.4). Nil where it has more than 4 KiB: what was cut might be
    /// another's.
    public let subject: String?
    /// The names of hosts, and the URIs, among its alternative names, visible ASCII each. None where one isn't, or where they have more
    /// than 4 KiB together.
    public let hosts: [String]
    public let uris: [String]
    /// SHA-256 of the certificate, 64 hexadecimal digits; empty where it could not be made.
    public let digest: String

    internal init(shownSubject: String, subject: String?, hosts: [String], uris: [String], digest: [UInt8]) {
        self.shownSubject = shownSubject
        self.subject = subject
        self.hosts = hosts
        self.uris = uris
        self.digest = String(
            decoding: digest.flatMap { [ASCII.lowerHexDigit($0 >> 4), ASCII.lowerHexDigit($0 & 15)] }, as: UTF8.self)
    }
}

/// The TLS side of one stream: takes records and gives bytes, takes bytes and gives records. All of it happens in the
/// loop's wire, so between two calls it holds nothing but a record that has come in part.
@safe
final class TLSSession {
    enum Outcome {
        case goesOn
        /// close_notify came.
        case ended
        /// `error` tells why.
        case failed
    }

    let loop: EventLoop
    let wire: TLSWire
    /// The place among those that keep their memory for records; theirs to change.
    var slot = TLSRecordMemory.Slot()
    private let role: TLSRole
    private var pointer: OpaquePointer?
    /// Whether the handshake is over and what came of it was approved.
    private(set) var isEstablished = false
    /// Whether records can be written: the handshake is over, and OpenSSL doesn't wait for the rest of a message behind it.
    private(set) var mayWrite = false
    private(set) var error: TLSError?
    /// Whether the handshake has failed on this side: what the peer still sends is nobody's.
    private(set) var isRefused = false
    /// Whether the peer gets no close_notify: what it got is a part.
    var isCut = false
    /// What was written while it couldn't be.
    var early = OutputBuffer()
    /// The first bytes, where they came one by one; nearly always none.
    private var firstBytes: [UInt8] = []
    private var received: UInt64 = 0

    /// Messages of the handshake protocol that a peer may send after the handshake, and one more for each MiB: tickets, and
    /// a KeyUpdate every now and then (RFC 8446 §4.6).
    private static let lateMessages = 64
    /// Bytes that show what a peer speaks that doesn't speak TLS.
    private static let tellingBytes = 64

    init(_ role: TLSRole, loop: EventLoop) {
        self.role = role
        self.loop = loop
        let wire = loop.tlsWire
        self.wire = wire
        switch role {
        case .server(let context):
            // SAFETY: self keeps the context and the wire.
            unsafe pointer = recast_tls_accept(context.handle.pointer, wire.pointer)
        case .client(let context, let endpoint):
            let options = context.options
            let name = Self.withoutLastDot(options.name ?? endpoint)
            let indication = options.indication.map(Self.withoutLastDot) ?? name
            let shown = indication.isEmpty || SocketAddress.parseHost(indication, port: 0) != nil ? nil : indication
            let checked = options.verifies && options.verifiesName ? name : nil
            let ticket = context.takeTicket(endpoint)
            // SAFETY: as above; the texts are copied, the ticket's references are counted.
            unsafe pointer = Self.withText(shown) { shown in
                unsafe Self.withText(checked) { checked in
                    unsafe recast_tls_connect(context.handle.pointer, wire.pointer, shown, checked, ticket?.pointer)
                }
            }
        }
        if unsafe pointer == nil { error = TLSError(.noMemory) }
    }

    deinit {
        end()
    }

    /// The dot that ends an absolute name is neither in what is asked for (RFC 6066 §3) nor in a certificate.
    private static func withoutLastDot(_ name: String) -> String {
        name.utf8.count > 1 && name.utf8.last == UInt8(ascii: ".") ? String(name.dropLast()) : name
    }

    private static func withText<Value>(_ text: String?, _ body: (UnsafePointer<CChar>?) -> Value) -> Value {
        // SAFETY: the pointer is used only during the call.
        if let text { unsafe text.withCString { unsafe body($0) } } else { body(nil) }
    }

    /// What is sent to a client that didn't begin with TLS, so that it reads no alert; nil to others.
    var plainAnswer: [UInt8]? {
        guard case .server(let context) = role else { return nil }
        return switch error?.reason {
        case .plainText: context.options.plainTextAnswer
        case .proxyHeader: context.options.proxyHeaderAnswer
        default: nil
        }
    }

    // MARK: Reading

    /// Writes the first records of a client to the wire.
    func begin() -> Outcome {
        guard case .client = role else { return error == nil ? .goesOn : .failed }
        wire.memory.use(self)
        return shakeHands()
    }

    /// Takes `count` bytes of the wire's input; what comes out is written to `room`, which has `TLSWire.recordRoom` bytes
    /// more than that. Records to be sent may be on the wire afterwards, whatever the outcome is.
    func take(_ count: Int, into room: UnsafeMutableBufferPointer<UInt8>) -> (count: Int, outcome: Outcome) {
        guard let pointer = unsafe pointer else { return (0, .failed) }
        wire.memory.use(self)
        received &+= UInt64(count)
        if !isEstablished {
            wire.lend(count)
            let outcome = shakeHands()
            guard isEstablished else {
                wire.endLoan()
                if outcome == .failed || received < Self.tellingBytes { lookAtStart(count, outcome) }
                return (0, outcome)
            }
        } else {
            wire.lend(count)
        }
        var made = 0
        // SAFETY: the room is writable, and large enough for what the input holds.
        let outcome = unsafe recast_tls_read(pointer, room.baseAddress, room.count, &made)
        wire.endLoan()
        if case .client = role { keepTickets() }
        if unsafe recast_tls_late_messages(pointer) > UInt32(clamping: Self.lateMessages + Int(received >> 20)) {
            error = TLSError(.flood)
            return (made, .failed)
        }
        switch Int(outcome) {
        case RECAST_TLS_WAITS, RECAST_TLS_DONE: return (made, .goesOn)
        case RECAST_TLS_ENDED: return (made, .ended)
        default:
            noteFault()
            return (made, .failed)
        }
    }

    /// Says what the peer speaks in the place of TLS, where that is why the handshake has failed. The bytes of one that gives them one by
    /// one are kept until they show it.
    private func lookAtStart(_ count: Int, _ outcome: Outcome) {
        // Of a later flight nothing is to be seen.
        guard received == UInt64(firstBytes.count + count) else { return }
        // SAFETY: the input still holds what was lent.
        let input = unsafe UnsafeBufferPointer(wire.input)[..<min(count, Self.tellingBytes)]
        unsafe firstBytes.append(contentsOf: input)
        guard outcome == .failed, let first = firstBytes.first else { return }
        let spoken = SpokenProtocol.look(at: firstBytes.span)
        switch role {
        case .server where spoken == .http: error = TLSError(.plainText)
        case .server where spoken == .proxyHeader: error = TLSError(.proxyHeader)
        // A server speaks second, so that this is an answer to what it couldn't read, or the greeting of some other protocol.
        case .client where spoken == .http || !(20...24).contains(first): error = TLSError(.plainText)
        case .server, .client: return
        }
        // Who doesn't speak TLS can't read an alert, which would stand in front of the answer.
        wire.clearOutput()
    }

    private func shakeHands() -> Outcome {
        guard let pointer = unsafe pointer else { return .failed }
        // SAFETY: the session is open.
        switch Int(unsafe recast_tls_handshake(pointer)) {
        case RECAST_TLS_DONE:
            guard approves() else {
                error = TLSError(.pinMismatch)
                return .failed
            }
            isEstablished = true
            mayWrite = true
            return .goesOn
        case RECAST_TLS_WAITS: return .goesOn
        case RECAST_TLS_ENDED:
            error = TLSError(.closed)
            return .failed
        default:
            noteFault()
            return .failed
        }
    }

    /// Whether the server is one of those that are pinned. A session that is taken up was approved when it began, and ends
    /// with what was verified then (`CTLSShims/resumption.c`).
    private func approves() -> Bool {
        guard let pointer = unsafe pointer, case .client(let context, _) = role, let wanted = context.pinnedDigests,
            unsafe !recast_tls_is_resumed(pointer)
        else { return true }
        var bytes = [UInt8](repeating: 0, count: TLSPin.size * TLSClientContext.chainLimit)
        // SAFETY: there is room for as many digests as are asked for.
        let count = unsafe recast_tls_peer_digests(
            pointer, wanted.verified, wanted.ofKeys, &bytes, TLSClientContext.chainLimit)
        return context.accepts(TLSPin.split(bytes, count: Int(count)))
    }

    private func keepTickets() {
        guard case .client(let context, let endpoint) = role, let pointer = unsafe pointer else { return }
        // SAFETY: the reference that is taken becomes the ticket's.
        while let ticket = unsafe recast_tls_take_ticket(pointer) {
            unsafe context.keep(TLSTicket(ticket), endpoint)
        }
    }

    private func noteFault() {
        // SAFETY: the session is open.
        if error == nil, let pointer = unsafe pointer { error = unsafe TLSError(recast_tls_take_fault(pointer)) }
    }

    /// The handshake has failed, and all that the peer is told of it was taken off the wire.
    func refuse() {
        isRefused = true
        end()
    }

    /// The connection ended in the handshake.
    func cut(_ reason: TLSError.Reason) {
        if error == nil { error = TLSError(reason) }
    }

    // MARK: Writing

    /// Writes the records of `bytes` to the wire, or keeps them in `early` where that can't be done yet. False when it failed.
    func write(_ bytes: Span<UInt8>) -> Bool {
        guard mayWrite else {
            early.append(bytes)
            return true
        }
        guard let pointer = unsafe pointer else { return false }
        wire.memory.use(self)
        // SAFETY: the pointer is used only during the call.
        let outcome = unsafe bytes.withUnsafeBufferPointer { buffer in
            unsafe recast_tls_write(pointer, buffer.baseAddress, buffer.count)
        }
        switch Int(outcome) {
        case RECAST_TLS_DONE: return true
        case RECAST_TLS_WAITS:
            // A ticket or a KeyUpdate may come in several records (RFC 8446 §5.1), and between two of them OpenSSL writes nothing.
            mayWrite = false
            early.append(bytes)
            return true
        default:
            noteFault()
            // What it has left there would go out with the records of the connection that writes next.
            wire.clearOutput()
            return false
        }
    }

    /// Something came: what waits is to be tried again.
    func tryWriting() { mayWrite = isEstablished }

    /// Writes close_notify to the wire.
    func shut() {
        guard let pointer = unsafe pointer, isEstablished, error == nil, !isCut else { return }
        // SAFETY: the session is open.
        unsafe recast_tls_shut(pointer)
    }

    /// Gives back the memory for records until the next one, unless a part of one is there.
    func releaseRecordMemory() {
        // SAFETY: the session is open.
        if let pointer = unsafe pointer { unsafe recast_tls_release(pointer) }
    }

    /// Gives everything back but the error.
    func end() {
        guard let open = unsafe pointer else { return }
        wire.memory.remove(self)
        // SAFETY: freed once: the pointer is nil from now on.
        unsafe recast_tls_free(open, error == nil)
        unsafe pointer = nil
        early = OutputBuffer()
    }

    // MARK: What was agreed on

    var facts: TLSFacts? {
        guard let pointer = unsafe pointer, isEstablished else { return nil }
        var client: TLSClientCertificate?
        if case .server = role { client = unsafe Self.client(of: pointer) }
        // SAFETY: constant texts.
        return unsafe TLSFacts(
            version: String(cString: recast_tls_version(pointer)), cipher: String(cString: recast_tls_cipher(pointer)),
            isResumed: recast_tls_is_resumed(pointer), isHTTP2: recast_tls_has_http2(pointer),
            isHTTP1: recast_tls_has_http1(pointer),
            client: client)
    }

    /// Bytes of a client's subject that are shown, and those of it, and of all names of one kind, that are known at most.
    private static let shownSize = 512
    private static let namesSize = 4096

    /// - Parameter pointer: an open session, whose handshake is over.
    private static func client(of pointer: OpaquePointer) -> TLSClientCertificate? {
        var text = [CChar](repeating: 0, count: namesSize + 2)
        // SAFETY: the text has this size, and is end-marked afterwards; the same below, of names.
        guard unsafe recast_tls_peer_subject(pointer, &text, text.count) else { return nil }
        let subject = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        func names(uris: Bool) -> [String] {
            var count = 0
            guard unsafe recast_tls_peer_names(pointer, uris, &text, namesSize, &count) else { return [] }
            return text[..<count].split(separator: CChar(ASCII.lineFeed)).map { name in
                String(decoding: name.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            }
        }
        var digest = [UInt8](repeating: 0, count: TLSPin.size)
        // SAFETY: there is room for one.
        let isDigested = unsafe recast_tls_peer_digests(pointer, false, false, &digest, 1) == 1
        return TLSClientCertificate(
            shownSubject: String(decoding: subject.prefix(shownSize), as: UTF8.self),
            subject: subject.count <= namesSize ? String(decoding: subject, as: UTF8.self) : nil,
            hosts: names(uris: false), uris: names(uris: true), digest: isDigested ? digest : [])
    }
}
