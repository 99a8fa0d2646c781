/// Whether nulls are left out of a document on its way.
///
/// What is removed is counted; a container that loses all it held stays, empty, and a null that is the whole document stays
/// as it is. The rule of AFNetworking's `removesKeysWithNullValues` is `deep`.
public enum NullRemoval: String, Hashable, Sendable, CaseIterable {
    /// Nulls pass.
    case off
    /// Members of objects whose value is null, at any depth.
    case keys
    /// As above, and the nulls in arrays, so that later elements move up.
    case deep
}
