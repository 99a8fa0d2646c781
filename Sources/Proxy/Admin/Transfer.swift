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

    /// Whether nothing has happened to it since it was as `other`: its age alone grows.
    func stands(as other: Transfer) -> Bool {
        id == other.id && route == other.route && bytesIn == other.bytesIn && bytesOut == other.bytesOut
            && total == other.total
            && upstream == other.upstream && isHeldBack == other.isHeldBack
    }

    /// As `/transfers` shows it.
    fileprivate var value: AdminValue {
        let seconds = max(Double(age) / 1e9, 0.001)
        return .object([
            ("id", .text(id)), ("route", .text(route)), ("upstream", .text(upstream)), ("bytes_in", .number(bytesIn)),
            ("bytes_out", .number(bytesOut)), ("total", total.map(AdminValue.number) ?? .none),
            ("bytes_per_second", .number(Int(Double(bytesIn) / seconds))), ("age", .seconds(age)),
            ("held_back", .bool(isHeldBack)),
        ])
    }
}

/// Which of the uploads are asked for: all where nothing is said.
struct TransferSelection: Sendable {
    var id: String?
    var route: String?

    func holds(_ transfer: Transfer) -> Bool {
        (id == nil || id == transfer.id) && (route == nil || route == transfer.route)
    }
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

    /// As `/transfers` shows them. `missing`: how many workers were silent.
    func value(missing: Int) -> AdminValue {
        .object([
            ("transfers", .list(transfers.map(\.value))), ("truncated", .bool(isTruncated)),
            ("workers_missing", .number(missing)),
        ])
    }
}
