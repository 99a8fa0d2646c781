import Foundation
import Testing

/// docs/rules.md and the names of the tests: no rule without a test that bears its number.
@Suite struct RuleNameTests {
    /// Rules whose tests are still to come.
    private static let owed: Set<String> = []

    private static let root = URL(filePath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    @Test("every rule of requests and of forwarding has a test named after it")
    func everyRuleIsTested() throws {
        let rules = try String(contentsOf: Self.root.appending(path: "docs/rules.md"), encoding: .utf8)
            .matches(of: /\n\| ([RF][0-9]+) \|/).map { String($0.1) }
        #expect(rules.count == 73 && Set(rules).count == 73)
        var named: Set<String> = []
        let tests = Self.root.appending(path: "Tests")
        let files = try #require(FileManager.default.enumerator(at: tests, includingPropertiesForKeys: nil))
        for case let file as URL in files {
            switch file.pathExtension {
            case "swift":
                let text = try String(contentsOf: file, encoding: .utf8)
                for match in text.matches(of: /@Test\(\s*"((?:[RF][0-9]+ )+)/) {
                    named.formUnion(match.1.split(separator: " ").map(String.init))
                }
            case "py":
                let text = try String(contentsOf: file, encoding: .utf8)
                for match in text.matches(of: /def test_((?:[rf][0-9]+_)+)/) {
                    named.formUnion(match.1.uppercased().split(separator: "_").map(String.init))
                }
            default: break
            }
        }
        let missing = Set(rules).subtracting(named)
        #expect(missing.isSubset(of: Self.owed), "no test is named after \(missing.subtracting(Self.owed).sorted())")
    }
}
