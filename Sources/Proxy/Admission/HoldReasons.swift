/// Why nothing is read of a request's body for now. Reading goes on when no reason is left.
struct HoldReasons: OptionSet {
    let rawValue: UInt8
    /// The upstream can't take more.
    static let upstream = HoldReasons(rawValue: 1)
    /// The route's rate allows no more.
    static let rate = HoldReasons(rawValue: 2)
    /// Memory for bodies is short.
    static let memory = HoldReasons(rawValue: 4)
    /// A turn was too short for what the bytes that have come are decoded to.
    static let turn = HoldReasons(rawValue: 8)
}
