public import Transcoding

extension Value {
    /// The value without its nulls, by the rule of `removal`. Containers that lose all stay, empty; a null that is the whole
    /// value stays too.
    public func removingNulls(_ removal: NullRemoval = .deep) -> Value {
        switch self {
        case _ where removal == .off: return self
        case .object(let members):
            return .object(
                Object(
                    members.lazy.filter { !$0.value.isNull }
                        .map { Object.Member(key: $0.key, value: $0.value.removingNulls(removal)) }))
        case .array(let elements):
            let kept = removal == .deep ? elements.filter { !$0.isNull } : elements
            return .array(kept.map { $0.removingNulls(removal) })
        case .set(let elements): return .set(removal == .deep ? elements.filter { !$0.isNull } : elements)
        default: return self
        }
    }
}
