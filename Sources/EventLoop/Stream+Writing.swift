internal import CEvent
internal import CEventShims
internal import Glibc
public import Octets

extension Stream {
    /// Writes `bytes`: behind the queue if there is one, else at once, or when the tick ends if they are few (`Outbox`).
    /// What the socket doesn't take is copied.
    /// Errors are told from the loop; a stream that can't write (`isWritable`) drops the bytes.
    public func write(_ bytes: Span<UInt8>) {
        guard isWritable, !bytes.isEmpty else { return }
        if let tls { return writeSecured(tls, bytes) }
        writeOut(bytes)
    }

    /// Sends what is held to the end of the tick now, so that `queued` says what the socket didn't take of all that was written.
    public func flush() {
        if outboxPlace >= 0 { loop.outbox.send(self) }
    }

    /// Writes `first` and `second` as one: one system call when nothing is queued, and in TLS one record where they fit one.
    public func write(_ first: Span<UInt8>, _ second: Span<UInt8>) {
        guard !first.isEmpty else { return write(second) }
        guard !second.isEmpty else { return write(first) }
        guard isWritable else { return }
        if let tls { return writeSecured(tls, first, second) }
        if queue.isEmpty, loop.isRunning, loop.outbox.hold(first, second, for: self) { return }
        writeOut(first, second, Span())
    }

    /// Writes all three as one, as far as they don't fit the outbox or a record of TLS.
    public func write(_ first: Span<UInt8>, _ second: Span<UInt8>, _ third: Span<UInt8>) {
        guard !third.isEmpty, tls == nil, second.count > Outbox.longest else {
            write(first, second)
            return write(third)
        }
        guard isWritable else { return }
        writeOut(first, second, third)
    }

    /// Writes pieces that the outbox doesn't hold: in one system call when nothing is queued.
    private func writeOut(_ first: Span<UInt8>, _ second: Span<UInt8>, _ third: Span<UInt8>) {
        flush()
        var sent = queue.isEmpty ? send(first, second, third) : 0
        guard sent < first.count + second.count + third.count else { return }
        enqueue(first, skipping: &sent)
        enqueue(second, skipping: &sent)
        enqueue(third, skipping: &sent)
    }

    /// Writes what `buffer` holds and empties it. When the socket is full and nothing is queued, the stream takes the
    /// buffer's memory and leaves other memory of the loop's, or none, in its place.
    public func write(_ buffer: inout OutputBuffer) {
        guard isWritable, !buffer.isEmpty else { return buffer.removeAll() }
        if let tls {
            writeSecured(tls, buffer.span)
            return buffer.removeAll()
        }
        if queue.isEmpty, loop.isRunning, loop.outbox.hold(buffer.span, for: self) { return buffer.removeAll() }
        flush()
        guard queue.isEmpty else {
            enqueue(buffer.span, from: 0)
            return buffer.removeAll()
        }
        buffer.drop(send(buffer.span))
        guard !buffer.isEmpty, isWritable else { return buffer.removeAll() }
        let highWatermark = buffer.highWatermark
        var spare = loop.takeSpare()
        swap(&buffer, &spare)
        swap(&queue, &spare)
        buffer.highWatermark = highWatermark
        armWriting()
        noteQueued()
    }

    /// Writes bytes as they go to the socket: in TLS, records.
    internal func writeOut(_ bytes: Span<UInt8>) {
        if queue.isEmpty, loop.isRunning, loop.outbox.hold(bytes, for: self) { return }
        flush()
        let sent = queue.isEmpty ? send(bytes) : 0
        if sent < bytes.count { enqueue(bytes, from: sent) }
    }

    /// Sends what the outbox held; what the system doesn't take begins the queue.
    internal func sendHeld(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard brokenBy == 0 else { return }
        // SAFETY: the bytes live during the call.
        let span = unsafe bytes.span
        let sent = send(span)
        if sent < span.count { enqueue(span, from: sent) }
    }

    /// Enqueues what is behind the first `count` bytes, which were sent, and takes those that are here off it.
    private func enqueue(_ bytes: Span<UInt8>, skipping count: inout Int) {
        let sent = min(count, bytes.count)
        count -= sent
        if sent < bytes.count { enqueue(bytes, from: sent) }
    }

    private func enqueue(_ bytes: Span<UInt8>, from start: Int) {
        guard isWritable else { return }
        if queue.capacity == 0 { queue = loop.takeSpare() }
        queue.append(bytes.extracting(start..<bytes.count))
        armWriting()
        noteQueued()
    }

    /// Returns how many bytes the system took; all of them, for the caller's sake, when writing broke.
    private func send(_ bytes: Span<UInt8>) -> Int {
        // SAFETY: the pointer is used only during the call.
        let sent = unsafe bytes.withUnsafeBufferPointer { buffer in
            unsafe recast_send(descriptor, buffer.baseAddress, buffer.count)
        }
        return sent >= 0 ? took(sent) : refused(bytes.count)
    }

    private func send(_ first: Span<UInt8>, _ second: Span<UInt8>, _ third: Span<UInt8>) -> Int {
        var vectors = unsafe (Self.vector(of: first), Self.vector(of: second), Self.vector(of: third))
        let count = third.isEmpty ? 2 : 3
        // SAFETY: what the vectors point to is borrowed until the function ends; sendmsg doesn't write through them.
        let sent = unsafe withUnsafeMutableBytes(of: &vectors) { raw in
            var message = unsafe msghdr()
            unsafe message.msg_iov = raw.assumingMemoryBound(to: iovec.self).baseAddress
            unsafe message.msg_iovlen = count
            return unsafe sendmsg(descriptor, &message, Int32(MSG_NOSIGNAL))
        }
        return sent >= 0 ? took(sent) : refused(first.count + second.count + third.count)
    }

    @unsafe
    private static func vector(of bytes: Span<UInt8>) -> iovec {
        // SAFETY: the pointer goes to the caller, who has the span and marks the use of it.
        unsafe bytes.withUnsafeBufferPointer {
            unsafe iovec(iov_base: UnsafeMutableRawPointer(mutating: $0.baseAddress), iov_len: $0.count)
        }
    }

    private func took(_ count: Int) -> Int {
        bytesWritten &+= UInt64(count)
        return count
    }

    private func refused(_ count: Int) -> Int {
        let error = errno
        if error == EAGAIN || error == EINTR { return 0 }
        breakWriting(error)
        return count
    }

    private func armWriting() {
        guard unsafe writeEvent == nil else { return }
        let event = unsafe loop.pool.take()
        unsafe writeEvent = event
        // SAFETY: unretained: the read event's reference keeps the stream until `tearDown`, which removes this event.
        unsafe event_assign(
            event, loop.base, descriptor, Int16(EV_WRITE | EV_PERSIST),
            { _, _, context in
                unsafe Unmanaged<Stream>.fromOpaque(context!).takeUnretainedValue().becameWritable()
            }, Unmanaged.passUnretained(self).toOpaque())
        if unsafe event_add(event, nil) != 0 { breakWriting(ENOMEM) }
    }

    internal func disarmWriting() {
        guard let event = unsafe writeEvent else { return }
        // SAFETY: assigned in armWriting.
        unsafe event_del(event)
        unsafe loop.pool.put(event)
        unsafe writeEvent = nil
    }

    private func becameWritable() {
        guard !isClosed, !queue.isEmpty else { return }
        // The queue leaves the stream meanwhile: an error empties it.
        var held = OutputBuffer()
        swap(&held, &queue)
        held.drop(send(held.span))
        if held.isEmpty || brokenBy != 0 {
            disarmWriting()
            loop.recycle(&held)
        } else {
            swap(&held, &queue)
        }
        if brokenBy == 0 { noteDrained() }
    }
}
