internal import CEventShims
internal import Glibc
internal import Octets

// The ways of a stream that speaks TLS. What goes in and out is the same; what waits in the queue is records.
extension Stream {
    /// What the handshake agreed on; nil before its end, after the stream was closed, and without TLS.
    public var tlsFacts: TLSFacts? { tls?.facts }
    /// Why the TLS session failed, also after the stream was closed; nil while it hasn't, and without TLS.
    public var tlsError: TLSError? { tls?.error }
    /// The alert by which the peer ended the TLS session (RFC 8446 §6.2), also after the stream was closed; nil while none came, and
    /// without TLS. A server of TLS 1.3 that refuses its client's certificate says so by one behind the handshake.
    public var tlsAlert: TLSError? {
        guard let error = tls?.error, case .alert = error.reason else { return nil }
        return error
    }
    /// Whether the stream speaks TLS.
    public var isSecured: Bool { tls != nil }

    // MARK: Reading

    /// The loop's wire has as much room as the read buffer has for what comes out of it.
    internal static let securedRoom = EventLoop.readBufferSize - 2 * TLSWire.recordRoom

    internal func beginTLS(_ tls: TLSSession) {
        let outcome = tls.begin()
        flushWire(tls)
        if outcome == .failed { failLater(EPROTO) }
    }

    /// The socket of a reading stream has something.
    internal func readSecured(_ tls: TLSSession) {
        let kept = pendingCount
        let buffer = unsafe loop.readBuffer
        let room = unsafe UnsafeMutableBufferPointer(rebasing: buffer[kept...])
        let size = min(TLSWire.inputSize, room.count - TLSWire.recordRoom)
        // SAFETY: at most as much is read as the wire's input holds.
        let count = unsafe recast_recv(descriptor, tls.wire.input.baseAddress, size)
        guard count > 0 else {
            if count == 0 {
                guard brokenBy == 0 else { return endArrived() }
                guard tls.isEstablished else {
                    tls.cut(.closed)
                    return fail(EPROTO)
                }
                noteTruncated()
                return endArrived()
            }
            let error = errno
            guard error != EAGAIN && error != EINTR else { return }
            if !tls.isEstablished { tls.cut(.reset) }
            return errorArrived(error)
        }
        noteRead(count, of: size)
        outbox.noteRead(count)
        let wasEstablished = tls.isEstablished
        let (made, outcome) = unsafe tls.take(count, into: room)
        flushWire(tls)
        if !wasEstablished, tls.isEstablished, !tellSecured(tls) { return }
        if made > 0 {
            unsafe deliver(UnsafeBufferPointer(start: buffer.baseAddress, count: kept + made))
            guard !isClosed else { return }
        }
        switch outcome {
        case .goesOn:
            guard tls.isEstablished, !tls.mayWrite else { return }
            tls.tryWriting()
            sendEarly(tls)
        case .ended: seal()
        case .failed:
            // What the handler has just left is lost with the connection; what it hasn't been given since it resumed is not.
            let wasGiven = made > 0 || kept == 0
            guard isReading, wasGiven else { return failLater(EPROTO) }
            if !tls.isEstablished, brokenBy == 0 { return refuse(tls) }
            fail(brokenBy == 0 ? EPROTO : brokenBy)
        }
    }

    /// The handshake has failed here, and the peer is told why. A client of TLS 1.3 has sent its request by now, and what isn't read would
    /// make a reset of the close, which takes that away from it (docs/rules.md F16).
    private func refuse(_ tls: TLSSession) {
        if let answer = tls.plainAnswer { writeOut(answer.span) }
        tls.refuse()
        if !handler.refused(self), !isClosed { fail(EPROTO) }
    }

    /// Tells that the handshake is over, and sends what was written meanwhile. Returns whether the stream is still open.
    private func tellSecured(_ tls: TLSSession) -> Bool {
        handler.secured(self)
        guard !isClosed else { return false }
        sendEarly(tls)
        return !isClosed
    }

    /// Whether nothing arrived that anybody has to hear of: tickets and other matters of TLS itself are taken on the way.
    internal func isQuietSecured(_ tls: TLSSession) -> Bool {
        // Each round takes what one call of the system gives.
        for _ in 0..<8 {
            // SAFETY: recv writes at most this much of the wire's input; no session uses it between two calls.
            let count = unsafe recv(descriptor, tls.wire.input.baseAddress, TLSWire.recordSize, Int32(MSG_DONTWAIT))
            if count < 0 { return errno == EAGAIN }
            if count == 0 {
                if brokenBy == 0 { noteTruncated() }
                seal()
                return false
            }
            noteRead(count, of: TLSWire.recordSize)
            let room = TLSWire.recordSize + TLSWire.recordRoom
            // SAFETY: what comes out is copied before the room goes. The loop's read buffer may be in use just now.
            let outcome = unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: room) { room in
                let (made, outcome) = unsafe tls.take(count, into: room)
                if made > 0 { unsafe keep(UnsafeBufferPointer(rebasing: UnsafeBufferPointer(room)[..<made])) }
                return outcome
            }
            flushWire(tls)
            switch outcome {
            case .goesOn: break
            case .ended: seal()
            case .failed: failLater(EPROTO)
            }
            guard outcome == .goesOn, pendingCount == 0, brokenBy == 0 else { return false }
        }
        return false
    }

    // MARK: Writing

    /// Bytes of which records are made at a time. Those of more would all be on the wire, and then once more in the queue.
    private static let securedSlice = 256 * 1024

    internal func writeSecured(_ tls: TLSSession, _ bytes: Span<UInt8>) {
        var at = 0
        repeat {
            let end = min(at + Self.securedSlice, bytes.count)
            guard tls.write(bytes.extracting(at..<end)) else { return breakWriting(EPROTO) }
            sendWritten(tls)
            at = end
            // Records take 22 bytes for 16 KiB. A queue that grows step by step would be there twice with each of them.
            if at < bytes.count, !queue.isEmpty { queue.reserve((bytes.count - at) / 512 * 513) }
        } while at < bytes.count && isWritable
    }

    /// What was written is on the wire, or waits until that is possible.
    private func sendWritten(_ tls: TLSSession) {
        flushWire(tls)
        if !tls.mayWrite { noteQueued() }
    }

    /// Two pieces, as one record where they fit one.
    internal func writeSecured(_ tls: TLSSession, _ first: Span<UInt8>, _ second: Span<UInt8>) {
        let wire = tls.wire
        var isWritten = true
        if first.count < TLSWire.recordSize {
            // The first piece and as much of the second as one record takes.
            let part = min(second.count, TLSWire.recordSize - first.count)
            var joined = OutputBuffer()
            swap(&joined, &wire.joined)
            joined.append(first)
            joined.append(second.extracting(0..<part))
            isWritten = tls.write(joined.span)
            joined.removeAll()
            swap(&joined, &wire.joined)
            if isWritten, part < second.count { return writeSecured(tls, second.extracting(part..<second.count)) }
        } else {
            isWritten = tls.write(first)
            if isWritten { return writeSecured(tls, second) }
        }
        guard isWritten else { return breakWriting(EPROTO) }
        sendWritten(tls)
    }

    /// Sends the records on the wire, behind what is queued.
    internal func flushWire(_ tls: TLSSession) {
        let output = unsafe tls.wire.output
        guard output.count > 0 else { return }
        // SAFETY: nothing is written to the wire before it is cleared.
        let records = unsafe output.span
        writeOut(records)
        tls.wire.clearOutput()
    }

    private func sendEarly(_ tls: TLSSession) {
        let isShut = takeShut()
        if !tls.early.isEmpty {
            var early = OutputBuffer()
            swap(&early, &tls.early)
            writeSecured(tls, early.span)
            loop.recycle(&early)
            if queue.isEmpty { noteDrained() }
        }
        if isShut, !isClosed { shutdownWrite() }
    }

    /// close_notify, as far as the system takes it at once.
    internal func sayFarewell(_ tls: TLSSession) {
        guard isWritable, queue.isEmpty else { return }
        tls.shut()
        // SAFETY: the records stay where they are until they are cleared, behind the call.
        unsafe sendOnce(tls.wire.output)
        tls.wire.clearOutput()
    }

    private func sendOnce(_ bytes: UnsafeBufferPointer<UInt8>) {
        flush()
        guard bytes.count > 0 else { return }
        // SAFETY: the pointer is used only during the call.
        _ = unsafe Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
    }
}
