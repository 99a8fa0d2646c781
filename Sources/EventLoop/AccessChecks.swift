internal import CEventShims

/// Swift's checks, while a program runs, that no code changes a property of a class while other code is reading or
/// changing it (docs/decisions/0007).
public enum AccessChecks {
    /// Ends them in a release build; a debug build keeps them. For the whole process, first thing in `main`.
    public static func endInRelease() {
        #if !DEBUG
            recast_trust_accesses()
        #endif
    }
}
