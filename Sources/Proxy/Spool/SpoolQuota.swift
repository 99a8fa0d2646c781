internal import Synchronization

/// The bytes that spools may have on disk in the whole process. Asked once for each piece that goes to a file.
final class SpoolQuota: Sendable {
    /// The quota in bytes.
    let limit: Int
    private let taken = Atomic(0)

    init(limit: Int) {
        self.limit = limit
    }

    /// Bytes on disk.
    var used: Int { taken.load(ordering: .relaxed) }

    /// Takes `bytes`; false when so many aren't left.
    func take(_ bytes: Int) -> Bool {
        if taken.add(bytes, ordering: .relaxed).newValue <= limit { return true }
        taken.subtract(bytes, ordering: .relaxed)
        return false
    }

    func give(_ bytes: Int) { taken.subtract(bytes, ordering: .relaxed) }
}
