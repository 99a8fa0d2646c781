/// How many connections and requests are taken at once, and from whom.
public struct AdmissionSettings: Hashable, Sendable {
    public init() {}
}
