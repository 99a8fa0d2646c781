/// What all routes tell of the client and of the proxy: who is trusted, how it calls itself.
public struct ForwardingSettings: Hashable, Sendable {
    public init() {}
}
