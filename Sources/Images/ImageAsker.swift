internal import CImages
internal import Synchronization

/// Who waits for a picture, and may leave: `ImageJob.run` looks every few thousand pixels whether somebody still waits.
package final class ImageAsker: Sendable {
    private let hasLeft = Atomic<Bool>(false)

    package init() {}

    /// Whether the picture is still wanted. Safe from any thread.
    package var isWaiting: Bool { !hasLeft.load(ordering: .relaxed) }

    /// Says that nobody waits any more. Safe from any thread.
    package func leave() { hasLeft.store(true, ordering: .relaxed) }

    /// Calls `body` with what the C code asks.
    internal func withStored<Result>(_ body: (UnsafePointer<recast_image_asker>) -> Result) -> Result {
        let stored = unsafe recast_image_asker(
            is_waiting: { context in
                // SAFETY: what `context` is below, which lives until the call is over.
                unsafe Unmanaged<ImageAsker>.fromOpaque(context!)._withUnsafeGuaranteedRef { $0.isWaiting }
            },
            context: UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque()))
        // SAFETY: read during the call only.
        return unsafe withUnsafePointer(to: stored) { stored in
            // SAFETY: as above.
            withExtendedLifetime(self) { unsafe body(stored) }
        }
    }
}
