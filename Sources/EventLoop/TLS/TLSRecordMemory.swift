/// Which sessions of a loop keep their memory for records, 33 KiB each, from one record to the next.
///
/// OpenSSL can take it anew for each record (`SSL_MODE_RELEASE_BUFFERS`), at a twelfth of what TLS costs a small request.
/// So the sessions in use keep it, `limit` of them at most; one that was not used for a while, or has to make room for
/// another, gives it back until its next record.
final class TLSRecordMemory {
    /// Sessions that keep their memory at most, at 33 KiB each 4.2 MiB. Another number is for tests.
    var limit = 128
    /// The time in which a session must be used to keep it: 500 ms, of which the timer makes up to twice as much. Another
    /// time is for tests.
    var interval: UInt64 = 500_000_000

    /// A session's place: in the list, and whether it was used since it was looked at last.
    struct Slot {
        fileprivate(set) var index = -1
        fileprivate(set) var isUsed = false
    }

    /// They hold the loop, which holds self: each takes itself out at its end.
    private var sessions: [TLSSession] = []
    /// Where the search for one that gives way begins.
    private var hand = 0
    private var timer: Timer?

    /// How many sessions keep their memory now.
    var count: Int { sessions.count }

    /// Notes that `session` takes or makes records.
    @inline(__always)
    func use(_ session: TLSSession) {
        if session.slot.index < 0 { add(session) }
        session.slot.isUsed = true
    }

    private func add(_ session: TLSSession) {
        if sessions.count >= limit { makeRoom() }
        session.slot.index = sessions.count
        sessions.append(session)
        if timer == nil { timer = Timer(loop: session.loop) { [unowned self] in timerFired() } }
        if timer?.isSet == false { timer?.set(after: interval) }
    }

    /// The session ends.
    func remove(_ session: TLSSession) {
        let index = session.slot.index
        guard index >= 0 else { return }
        session.slot.index = -1
        if let last = sessions.popLast(), index < sessions.count {
            sessions[index] = last
            last.slot.index = index
        }
        // The timer holds the loop, which holds self.
        if sessions.isEmpty { timer = nil }
    }

    /// The next one round that was not used since it was looked at last gives way.
    private func makeRoom() {
        while true {
            hand = hand + 1 < sessions.count ? hand + 1 : 0
            let session = sessions[hand]
            if !session.slot.isUsed { return giveBack(session) }
            session.slot.isUsed = false
        }
    }

    private func giveBack(_ session: TLSSession) {
        remove(session)
        session.releaseRecordMemory()
    }

    private func timerFired() {
        // From the end, because what leaves has its place taken by the last one.
        for index in sessions.indices.reversed() {
            let session = sessions[index]
            if session.slot.isUsed { session.slot.isUsed = false } else { giveBack(session) }
        }
        timer?.set(after: interval)
    }
}
