/// What routes look at in a request. The head of a request conforms to it; so do the tests' tables.
///
/// The spans are valid while the subject is borrowed.
public protocol RouteSubject: ~Copyable {
    /// As received: case matters.
    var method: Span<UInt8> { @_lifetime(borrow self) get }
    /// The target's path as received, percent escapes included, without the query.
    var path: Span<UInt8> { @_lifetime(borrow self) get }
    /// What follows the first question mark of the target, as received; nil when there is none.
    var query: Span<UInt8>? { @_lifetime(borrow self) get }
    /// The host that the request is for, with or without a port, in any case; empty when there is none.
    var host: Span<UInt8> { @_lifetime(borrow self) get }

    /// The lines of the field section.
    var fieldCount: Int { get }
    @_lifetime(borrow self)
    func name(_ index: Int) -> Span<UInt8>
    /// Without the blanks around it.
    @_lifetime(borrow self)
    func value(_ index: Int) -> Span<UInt8>
}
