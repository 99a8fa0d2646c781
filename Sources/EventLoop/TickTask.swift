/// Something that wants to be called once when the current batch of callbacks is over, see `EventLoop.afterTick(_:)`.
public protocol TickTask: AnyObject {
    /// The tick has ended: no callback of the loop is on the stack.
    func tickEnded()
}
