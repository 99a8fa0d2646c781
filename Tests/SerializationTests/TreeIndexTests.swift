import Octets
import Testing

@testable import Transcoding

/// The index of objects with many members keeps up with members that others take the place of.
@Suite("A tree's index")
struct TreeIndexTests {
    private func tree(members count: Int) throws -> Tree {
        var tree = Tree(limits: Limits())
        tree.root = try tree.makeNode(.object)
        for number in 0..<count {
            try tree.append(
                tree.makeText(.string, Array("\(number)".utf8).span), to: tree.root, named: key(number).span)
        }
        return tree
    }

    private func key(_ number: Int) -> [UInt8] { Array("key\(number)".utf8) }

    @Test(
        "a member that is replaced again and again is found, and takes no more of the index than one that stays",
        arguments: [TreeIndex.threshold - 1, TreeIndex.threshold, TreeIndex.threshold + 1, 100])
    func replaced(count: Int) throws {
        var tree = try tree(members: count)
        let used = tree.index.used
        for round in 0..<1000 {
            let number = round % 2 == 0 ? 0 : round % count
            let old = tree.child(of: tree.root, named: key(number).span)
            try #require(old != Tree.none)
            let new = try tree.makeText(.string, Array("new\(round)".utf8).span)
            tree.replace(old, by: new)
            #expect(tree.child(of: tree.root, named: key(number).span) == new)
        }
        #expect(tree.index.used == used)
        #expect(used == (count > TreeIndex.threshold ? count : 0))
        for number in 0..<count {
            let found = tree.child(of: tree.root, named: key(number).span)
            #expect(found != Tree.none && tree.name(found).isEqual(to: key(number).span))
        }
    }

    @Test("of members of one name the first is found still when a later one is replaced")
    func laterOne() throws {
        var tree = try tree(members: 20)
        let later = try tree.makeText(.string, Array("later".utf8).span)
        try tree.append(later, to: tree.root, named: key(3).span)
        let first = tree.child(of: tree.root, named: key(3).span)
        #expect(first != later)
        tree.replace(later, by: try tree.makeText(.string, Array("latest".utf8).span))
        #expect(tree.child(of: tree.root, named: key(3).span) == first)
    }
}
