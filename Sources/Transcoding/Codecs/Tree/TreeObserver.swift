/// Hears which values a tree leaves out while it is read, where a conversion is explained. The trees of clients have none.
package protocol TreeObserver: AnyObject {
    /// The node is left out, with all below.
    func removes(_ node: Tree.Node, of tree: borrowing Tree, by rule: String)
    /// A later value of a member, of which the first one counts, is left out before it is read.
    func skips(valueAfter first: Tree.Node, of tree: borrowing Tree, by rule: String)
}
