/// How hard an encoder tries, 1 (fast) to 9 (small), as each coding counts; nil: the number at which each is good for what
/// is made while a client waits.
public struct CodingLevel: Hashable, Sendable {
    private let level: Int?

    /// The one that was chosen; nil: each coding has its own.
    public var chosen: Int? { level }

    /// - Parameter level: 1…9.
    public init(_ level: Int? = nil) {
        self.level = level
    }

    /// 5 for gzip and deflate, 4 for br, 3 for zstd where none was chosen.
    func number(for coding: Coding) -> Int32 {
        if let level { return Int32(min(max(level, 1), 9)) }
        return switch coding {
        case .gzip, .deflate: 5
        case .br: 4
        case .zstd: 3
        }
    }
}
