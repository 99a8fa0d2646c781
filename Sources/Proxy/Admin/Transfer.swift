/// One upload in flight, for `/transfers`.
struct Transfer: Sendable {
    /// The request's id.
    let id: String
    let route: String
    /// Nanoseconds since its head came.
    let age: UInt64
    /// Bytes of its body: read from the client, and handed to the upstream's connection.
    var bytesIn = 0
    var bytesOut = 0
    /// The length that the client announced, if it did.
    var total: Int?
    var upstream = ""
    /// Whether the client waits because the upstream doesn't keep up.
    var isHeldBack = false
}

/// The uploads of one worker, or of all.
struct TransferList: Sendable {
    var transfers: [Transfer] = []
    /// Whether there are more.
    var isTruncated = false

    /// Adds another worker's, up to `limit` in all.
    mutating func merge(_ other: TransferList, limit: Int) {
        let room = limit - transfers.count
        isTruncated = isTruncated || other.isTruncated || other.transfers.count > room
        transfers += other.transfers.prefix(room)
    }
}
