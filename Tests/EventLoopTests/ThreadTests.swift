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

    private final class Found: Sendable {
        let blocked = Atomic<Int>(-1)
    }

    @Test func `signals of the process are left to the main thread`() throws {
        let found = Found()
        let handle = try startThread(name: "left") {
            var mask = sigset_t()
            // SAFETY: the mask is written and read during the calls.
            guard unsafe pthread_sigmask(SIG_BLOCK, nil, &mask) == 0 else { return }
            var count = 0
            for number in [SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1] {
                count += unsafe Int(sigismember(&mask, number))
            }
            found.blocked.store(count, ordering: .releasing)
        }
        handle.join()
        #expect(found.blocked.load(ordering: .acquiring) == 5)
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
