/// Hears which values a tree leaves out while it is read, where a conversion is explained. The trees of clients have none.
package protocol TreeObserver: AnyObject {
    /// The node is left out, with all below.
    func removes(_ node: Tree.Node, of tree: borrowing Tree, by rule: String)
    /// A later value of a member, of which the first one counts, is left out before it is read.
    func skips(valueAfter first: Tree.Node, of tree: borrowing Tree, by rule: String)
}

/// Hears which fields the values of a held document become, where a conversion is explained. A document is held by the writer of
/// a dialect that sorts, so that its fields begin in another order than its values have come in.
package protocol HeldDocumentObserver: AnyObject {
    /// The values that have come since the last call are held in that node, or nowhere: `Tree.none`.
    func holds(_ node: Tree.Node)
    /// The value of the node goes out from another node, of the tree that takes the place of the held one.
    func moves(_ node: Tree.Node, to component: Tree.Node)
    /// The next field to begin is that of the node.
    func writes(_ node: Tree.Node)
}
