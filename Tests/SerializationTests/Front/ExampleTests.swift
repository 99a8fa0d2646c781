import Foundation
import Testing

/// The program in `Examples` and the documentation that shows its parts.
@Suite("Examples")
struct ExampleTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../..").standardizedFileURL
    private static let documentation = root.appendingPathComponent("Sources/Serialization/Serialization.docc")

    private static func texts(_ folder: URL, _ suffix: String) throws -> [String: String] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(suffix) }
        return try Dictionary(
            uniqueKeysWithValues: names.map { name in
                (name, try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8))
            })
    }

    @Test("The program prints what its golden file has")
    func output() throws {
        let process = Process()
        // Beside the test's own program, which needs it built.
        process.executableURL = try FileManager.default
            .destinationOfSymbolicLink(atPath: "/proc/self/exe").withURL { url in
                url.deletingLastPathComponent().appendingPathComponent("serialization-examples")
            }
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        let golden = Self.root.appendingPathComponent("Tests/Vectors/examples-output.txt")
        let expected = try String(contentsOf: golden, encoding: .utf8)
        #expect(String(decoding: output, as: UTF8.self) == expected)
    }

    private static func program() throws -> [String] {
        try texts(root.appendingPathComponent("Examples"), ".swift").values.map(flattened)
    }

    @Test("Each snippet of the documentation is a part of the program")
    func snippets() throws {
        let sources = try Self.program()
        let pages = try Self.texts(Self.documentation, ".md")
        var count = 0
        for (name, page) in pages {
            for block in page.split(separator: "```swift\n").dropFirst() {
                let snippet = Self.flattened(String(block.prefix(upTo: block.range(of: "\n```")!.lowerBound)))
                #expect(sources.contains { $0.contains(snippet) }, "\(name): \(snippet.prefix(60))")
                count += 1
            }
        }
        #expect(pages.count == 11)
        #expect(count == 55)
    }

    @Test("Each snippet of a comment in the library's sources is a part of the program")
    func comments() throws {
        let program = try Self.program()
        var count = 0
        for target in ["Serialization", "Transcoding", "Octets"] {
            let folder = Self.root.appendingPathComponent("Sources/\(target)")
            for case let name as String in FileManager.default.enumerator(atPath: folder.path)! {
                guard name.hasSuffix(".swift") else { continue }
                let source = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
                for block in Self.flattened(source).split(separator: "/// ```swift\n").dropFirst() {
                    let lines = block.split(separator: "\n").prefix { $0 != "/// ```" }.map { $0.dropFirst(3) }
                    let snippet = Self.flattened(lines.joined(separator: "\n"))
                    #expect(program.contains { $0.contains(snippet) }, "\(target)/\(name): \(snippet.prefix(60))")
                    count += 1
                }
            }
        }
        #expect(count == 6)
    }

    /// The lines without their indentation.
    private static func flattened(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { String($0.drop { $0 == " " }) }.joined(separator: "\n")
    }

    @Test("What a page says a snippet prints is among what the program prints")
    func printed() throws {
        let golden = Self.root.appendingPathComponent("Tests/Vectors/examples-output.txt")
        let output = try String(contentsOf: golden, encoding: .utf8)
        var count = 0
        for (name, page) in try Self.texts(Self.documentation, ".md") {
            for part in page.split(separator: "prints `").dropFirst() {
                let line = part.prefix { $0 != "`" }
                let words = line.split(separator: " ").map(String.init)
                let isPrinted = output.contains(line) || words.allSatisfy { output.contains($0) }
                #expect(isPrinted, "\(name): \(line)")
                count += 1
            }
        }
        #expect(count >= 10)
    }
}

extension String {
    fileprivate func withURL(_ body: (URL) -> URL) -> URL { body(URL(fileURLWithPath: self)) }
}
