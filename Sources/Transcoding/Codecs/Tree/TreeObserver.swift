/// Hears which values a tree leaves out while it is read and which a walk sends, where a conversion is explained. The trees of
/// clients have none.
///
/// Not of classes alone, though they are: what may be any type makes the compiler hand a tree on by its address. A tree of parts
/// that it knows is copied, all of its bytes, for each call of a function that reads it.
package protocol TreeObserver {
    /// The node is left out, with all below.
    func removes(_ node: Tree.Node, of tree: borrowing Tree, by rule: String)
    /// A later value of a member, of which the first one counts, is left out before it is read.
    func skips(valueAfter first: Tree.Node, of tree: borrowing Tree, by rule: String)
    /// A walk sends the node next, its name first.
    func sends(_ node: Tree.Node, of tree: borrowing Tree)
    /// A walk has sent all that stands in the innermost object or array, and sends its end next.
    func sendsEnd()
}

/// Hears which fields the values of a document become, where a conversion is explained. The writer of a dialect that sorts holds
/// the document, so that its fields begin in another order than its values have come in.
package protocol FlattenerObserver: AnyObject {
    /// An option leaves the latest value out.
    func omits()
    /// The values that have come since the last call are held in that node, or nowhere: `Tree.none`.
    func holds(_ node: Tree.Node)
    /// The value of the node goes out from another node, of the tree that takes the place of the held one.
    func moves(_ node: Tree.Node, to component: Tree.Node)
    /// The next field to begin is that of the node.
    func writes(_ node: Tree.Node)
}
