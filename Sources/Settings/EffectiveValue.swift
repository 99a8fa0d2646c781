/// A setting as it is in effect.
public struct EffectiveValue: Hashable, Sendable {
    public enum Origin: Hashable, Sendable {
        /// Nobody wrote it down.
        case standard
        /// It stands in this line of the file.
        case line(Int)
    }

    /// With the sections it stands in: `limits.body`.
    public var key: String
    /// As the settings write it.
    public var value: String
    public var origin: Origin
}

/// A value with the place that it comes from.
struct Sourced<Value> {
    var value: Value
    var origin: EffectiveValue.Origin

    init(_ value: Value, _ origin: EffectiveValue.Origin = .standard) {
        self.value = value
        self.origin = origin
    }
}
