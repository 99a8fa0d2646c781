internal import Transcoding

/// The bytes of a multipart body, pulled in pieces of any size.
///
/// Data and file parts come from memory and disk as they are asked for; nothing is held but one piece. A stream is read by
/// one task at a time; another one over the same form starts again, see `MultipartFormData.makeStream()`.
///
/// A body that can't be read, or whose length isn't the one announced, ends the stream with an error, which every later call
/// throws again: a body cut short never looks complete, because its final boundary is missing.
public final class MultipartBodyStream {
    /// What the next byte belongs to.
    public enum Phase: Hashable, Sendable {
        /// The boundary in front of the part with that index; next: `header`.
        case boundary(part: Int)
        /// The part's header lines and the empty line; next: `body`.
        case header(part: Int)
        /// The part's content; next: `boundary` of the next part, or `finalBoundary`.
        case body(part: Int)
        /// The last boundary; next: `done`.
        case finalBoundary
        /// All bytes have been read.
        case done
    }

    /// Some bytes of the body, and how long to wait before asking for more.
    public struct Packet: Hashable, Sendable {
        /// The bytes, in order.
        public let bytes: [UInt8]
        /// Zero unless the form is throttled, and after the last bytes.
        public let delay: Duration
    }

    /// The bytes that a packet has when neither the form nor the caller says how many: 64 KiB.
    public static let defaultPacketSize = 64 * 1024

    private enum Opened {
        case nothing
        case bytes
        case file
        case source(BodySource.Read)
    }

    /// The length of the whole body in bytes.
    public let contentLength: Int
    /// Bytes read so far.
    public private(set) var bytesRead = 0
    /// What the next byte belongs to.
    public private(set) var phase: Phase

    private let form: MultipartFormData
    /// The bytes of a boundary or a header that is being read, or that a source gave beyond what was asked for.
    private var pending: [UInt8] = []
    private var pendingStart = 0
    private var opened = Opened.nothing
    private var reader: FileReader?
    /// Bytes of the body at hand that have been read.
    private var bodyRead = 0
    private var failure: SerializationError?
    private var hasThrown = false
    /// What `pacedBytes` still has to wait.
    private var owedDelay = Duration.zero

    internal init(_ form: MultipartFormData) {
        self.form = form
        contentLength = form.contentLength
        phase = .boundary(part: 0)
        begin(form.isEmpty ? .finalBoundary : .boundary(part: 0))
    }

    /// Whether there may be more bytes. False after the last one, and after an error was thrown: a fault behind bytes that were returned
    /// is still to be thrown, so a loop that reads while this holds hears of it.
    public var hasBytesAvailable: Bool { phase != .done && !hasThrown }

    /// Another stream over the same form, from its start: for a retry. Throws as `MultipartFormData.makeStream()`.
    public func copy() throws(SerializationError) -> MultipartBodyStream { try form.makeStream() }

    /// Reads at most `count` bytes, and no more than the form's packet size; none only at the end.
    ///
    /// One call may go through the end of a part into the next. Throws what ends the stream: `bodyUnreadable`,
    /// `lengthMismatch`, `streamConsumed`, `fileUnreachable`. Bytes read before the fault are returned first; the next call
    /// throws.
    public func read(upTo count: Int) throws(SerializationError) -> [UInt8] {
        if let failure {
            hasThrown = true
            throw failure
        }
        // No body is longer than that, and offsets can be added to it.
        let count = min(count, form.packetSize ?? count, Int.max / 4)
        var bytes: [UInt8] = []
        do throws(SerializationError) {
            while bytes.count < count, phase != .done { try step(&bytes, upTo: count) }
        } catch {
            failure = error
            reader = nil
            opened = .nothing
            if bytes.isEmpty {
                hasThrown = true
                throw error
            }
        }
        bytesRead += bytes.count
        return bytes
    }

    /// Appends bytes to `buffer` until it is full, the form's packet size is reached or the body ends; returns how many.
    /// Throws as `read(upTo:)`.
    public func read(into buffer: inout OutputSpan<UInt8>) throws(SerializationError) -> Int {
        let bytes = try read(upTo: buffer.freeCapacity)
        for byte in bytes { buffer.append(byte) }
        return bytes.count
    }

    /// The next packet, or nil at the end, with how long to wait before asking again. Nothing sleeps here.
    ///
    /// A packet has the form's packet size, or `defaultPacketSize` bytes; only the last one has fewer.
    public func nextPacket() throws(SerializationError) -> Packet? {
        let bytes = try read(upTo: form.packetSize ?? Self.defaultPacketSize)
        guard !bytes.isEmpty else { return nil }
        return Packet(bytes: bytes, delay: phase == .done ? .zero : form.delay)
    }

    /// The bytes of the next packet, or nil at the end, after sleeping as long as the packet before asked for.
    ///
    /// Throws as `nextPacket()`, and CancellationError where the task is cancelled while it sleeps.
    public nonisolated(nonsending) func pacedBytes(
        on clock: some Clock<Duration> = ContinuousClock()
    ) async throws -> [UInt8]? {
        if owedDelay > .zero { try await clock.sleep(for: owedDelay) }
        let packet = try nextPacket()
        owedDelay = packet?.delay ?? .zero
        return packet?.bytes
    }
}

// MARK: Steps

extension MultipartBodyStream {
    /// Reads some bytes of the phase at hand, or goes on to the next phase.
    private func step(_ bytes: inout [UInt8], upTo count: Int) throws(SerializationError) {
        switch phase {
        case .boundary(let part):
            if takePending(&bytes, upTo: count) { begin(.header(part: part)) }
        case .header(let part):
            guard takePending(&bytes, upTo: count) else { return }
            try open(form.parts[part].body)
            begin(.body(part: part))
        case .body(let part): try readBody(part, &bytes, upTo: count)
        case .finalBoundary:
            if takePending(&bytes, upTo: count) { begin(.done) }
        case .done: break
        }
    }

    private func begin(_ next: Phase) {
        phase = next
        pendingStart = 0
        bodyRead = 0
        switch next {
        case .boundary(let part): pending = form.delimiter(isFirst: part == 0)
        case .header(let part): pending = form.parts[part].header
        case .finalBoundary: pending = form.finalDelimiter
        case .body, .done: pending = []
        }
    }

    /// Moves what waits, as far as there is room. Returns whether all of it is out.
    private func takePending(_ bytes: inout [UInt8], upTo count: Int) -> Bool {
        let end = min(pending.count, pendingStart + count - bytes.count)
        bytes += pending[pendingStart..<end]
        pendingStart = end
        return end == pending.count
    }

    private func open(_ body: MultipartFormData.Body) throws(SerializationError) {
        switch body {
        case .bytes: opened = .bytes
        case .file(let path):
            reader = try FileReader(path)
            opened = .file
        case .source(let source): opened = .source(try source.open())
        }
    }

    private func readBody(_ index: Int, _ bytes: inout [UInt8], upTo count: Int) throws(SerializationError) {
        let part = form.parts[index]
        let left = part.length - bodyRead
        if left == 0 {
            // The end of the length must be the end of the body.
            guard try nextBytes(of: part, upTo: 1).isEmpty else { throw Self.mismatch(index, part, after: nil) }
            reader = nil
            opened = .nothing
            return begin(index + 1 < form.parts.count ? .boundary(part: index + 1) : .finalBoundary)
        }
        let next = try nextBytes(of: part, upTo: min(left, count - bytes.count))
        guard !next.isEmpty else { throw Self.mismatch(index, part, after: bodyRead) }
        bytes += next
        bodyRead += next.count
    }

    /// The next bytes of the body at hand, at most `count`; none at its end.
    private func nextBytes(
        of part: MultipartFormData.Part, upTo count: Int
    ) throws(SerializationError) -> ArraySlice<UInt8> {
        if case .bytes(let data) = part.body { return data[bodyRead..<min(data.count, bodyRead + count)] }
        if pendingStart == pending.count {
            pendingStart = 0
            switch opened {
            case .source(let read):
                do {
                    pending = try read(count)
                } catch {
                    throw BodySource.failed(error)
                }
            default: pending = try reader?.read(upTo: max(count, Self.defaultPacketSize)) ?? []
            }
        }
        let end = min(pending.count, pendingStart + count)
        defer { pendingStart = end }
        return pending[pendingStart..<end]
    }

    /// - Parameter count: the bytes that the body has; nil: more than it should.
    private static func mismatch(
        _ index: Int, _ part: MultipartFormData.Part, after count: Int?
    ) -> SerializationError {
        let found = count.map { "\($0) bytes" } ?? "more bytes"
        var error = SerializationError(
            .lengthMismatch,
            reason: "the body of part \(index), counted from 0, has \(found) where \(part.length) were announced")
        if case .file(let path) = part.body { error.path = path }
        return error
    }
}
