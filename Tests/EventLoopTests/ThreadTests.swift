import EventLoop
import Glibc
import Synchronization
import Testing

/// How threads that have no loop wait.
@Suite struct ThreadTests {
    private final class Sleeper: Sendable {
        let thread = Atomic<UInt>(0)
        let slept = Atomic<UInt64>(0)
    }

    @Test func `a pause lasts its time whatever signals come`() throws {
        let number = __libc_current_sigrtmin() + 5
        signal(number) { _ in }
        let sleeper = Sleeper()
        let time: UInt64 = 300_000
        let handle = try startThread(name: "sleeper") {
            sleeper.thread.store(UInt(pthread_self()), ordering: .releasing)
            let began = EventLoop.preciseNow
            pauseThread(microseconds: time)
            sleeper.slept.store(EventLoop.preciseNow - began, ordering: .releasing)
        }
        while sleeper.thread.load(ordering: .acquiring) == 0 { usleep(100) }
        while sleeper.slept.load(ordering: .acquiring) == 0 {
            pthread_kill(pthread_t(sleeper.thread.load(ordering: .acquiring)), number)
            usleep(1000)
        }
        handle.join()
        #expect(sleeper.slept.load(ordering: .acquiring) >= time * 1000)
    }
}
