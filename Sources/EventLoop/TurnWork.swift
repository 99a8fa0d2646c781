/// Something that wants to be called once when the current batch of callbacks is over, see `EventLoop.afterTurn(_:)`.
public protocol TurnWork: AnyObject {
    /// The turn has ended: no callback of the loop is on the stack.
    func turnEnded()
}
