import Gateway
import Testing

/// Header rules by themselves (O1).
@Suite struct HeaderRuleTests {
    private func field(_ name: String, _ text: String) -> HeaderEdits.Field {
        HeaderEdits.Field(name: name, value: .literalMix([.literal(text)]), text: text)
    }

    private func names(_ edits: HeaderEdits) -> [String] {
        edits.remove.map { "-\($0.text)" } + edits.set.map { "=\($0.name):\($0.text)" }
            + edits.add.map { "+\($0.name):\($0.text)" }
    }

    @Test("a route's rules go over those of defaults, name by name")
    func merging() {
        let defaults = HeaderEdits(
            remove: [.init(name: "cookie")], set: [field("X-A", "d"), field("X-B", "d"), field("Y-C", "d")],
            add: [field("Link", "d"), field("X-D", "d")])
        let route = HeaderEdits(
            remove: [.init(name: "y-", isPrefix: true), .init(name: "x-d")], set: [field("x-a", "r")],
            add: [field("LINK", "r"), field("Cookie", "r"), field("X-B", "r")])
        #expect(
            names(defaults.merged(with: route)) == [
                "-cookie", "-y-*", "-x-d", "=X-B:d", "=x-a:r", "+LINK:r", "+Cookie:r", "+X-B:r",
            ])
        #expect(defaults.merged(with: HeaderEdits()) == defaults)
    }
}
