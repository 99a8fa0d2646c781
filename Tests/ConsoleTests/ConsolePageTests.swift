import CConsole
import Foundation
import Testing

/// What is in the binary of the console's page: whole, and nothing that its policy would forbid or a client's text could enter by.
@Suite("The console's page")
struct ConsolePageTests {
    struct File {
        let name: String
        let type: String
        let bytes: [UInt8]
        var text: String { String(decoding: bytes, as: UTF8.self) }
    }

    // SAFETY: the table is static, and its counts are those of its arrays.
    static let files: [File] = (0..<recast_console_file_count()).map { index in
        let file = unsafe recast_console_file_at(index)!.pointee
        let bytes = unsafe Array(UnsafeBufferPointer(start: file.bytes, count: file.count))
        return unsafe File(name: String(cString: file.name), type: String(cString: file.media_type), bytes: bytes)
    }
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Sources/CConsole/page")

    /// What matches a pattern in a text, by its first group.
    func matches(_ pattern: String, _ text: String) throws -> [String] {
        try text.matches(of: Regex(pattern)).compactMap { $0.output[1].substring.map(String.init) }
    }

    @Test("It holds each file of the folder, as it is there")
    func files() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path).sorted()
        #expect(Self.files.map(\.name).sorted() == names)
        for file in Self.files {
            let bytes = try Data(contentsOf: Self.folder.appendingPathComponent(file.name))
            #expect(Array(bytes) == file.bytes, "\(file.name)")
            #expect(String(validating: file.bytes, as: UTF8.self) != nil, "\(file.name)")
        }
    }

    @Test("Each has the type of its ending")
    func types() {
        let types = ["html": "text/html", "css": "text/css", "js": "text/javascript"]
        for file in Self.files {
            let ending = file.name.split(separator: ".").last.map(String.init) ?? ""
            #expect(types[ending].map { $0 + "; charset=utf-8" } == file.type, "\(file.name)")
        }
        #expect(Self.files.first?.name == "index.html")
    }

    @Test(
        "A file is found by its whole name alone",
        arguments: [
            ("index.html", true), ("style.css", true), ("style.cs", false), ("style.css2", false), ("", false),
            ("STYLE.CSS", false), ("../console.c", false), ("page/style.css", false),
        ])
    func found(_ name: String, _ isThere: Bool) {
        // SAFETY: the name lives as long as the call.
        let file = unsafe name.withCString { unsafe recast_console_file_named($0, name.utf8.count) }
        #expect(unsafe (file != nil) == isThere)
        #expect(unsafe file.map { unsafe String(cString: $0.pointee.name) } == (isThere ? name : nil))
    }

    @Test("What its files ask for is there, and nothing else's")
    func references() throws {
        let names = Set(Self.files.map(\.name))
        var used: Set = ["index.html"]
        for file in Self.files {
            let absolute = try matches(#"(?:href|src)="(/[^"]*)""#, file.text)
            let modules = try matches(#"(?:from |import\()'([^']*)'"#, file.text)
            for one in absolute { #expect(one.hasPrefix("/console/"), "\(file.name): \(one)") }
            for one in modules { #expect(one.hasPrefix("./"), "\(file.name): \(one)") }
            used.formUnion(absolute.map { String($0.dropFirst(9)) } + modules.map { String($0.dropFirst(2)) })
            // A placeholder, an example or a namespace may have an address; nothing that is loaded does.
            #expect(try matches(#"((?:href|src)="https?:[^"]*")"#, file.text) == [], "\(file.name)")
            #expect(
                try matches(#"((?:fetch|import|get|post|follow|url)\(['"`]https?:)"#, file.text) == [], "\(file.name)")
        }
        #expect(used == names)
    }

    @Test(
        "Nothing makes elements or programs of a text",
        arguments: [
            "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "DOMParser", "createContextualFragment",
            "setHTML", "srcdoc", "eval(", "new Function", "setAttribute('style", "javascript:", "cssText",
            "setTimeout('", "localStorage", "document.cookie",
        ])
    func texts(_ word: String) {
        for file in Self.files { #expect(!file.text.contains(word), "\(file.name): \(word)") }
    }

    @Test("It has words for each flag of the access log")
    func flags() throws {
        let sources = Self.folder.deletingLastPathComponent().deletingLastPathComponent()
        let file = sources.appendingPathComponent("Gateway/Refusals/EndReason.swift")
        let known = try matches(#"case \w+ = "([A-Z]{2})""#, String(decoding: Data(contentsOf: file), as: UTF8.self))
        let page = try #require(Self.files.first { $0.name == "flags.js" })
        #expect(known.count > 20)
        #expect(try matches(#"\n  ([A-Z]{2}): '"#, page.text).sorted() == known.sorted())
    }

    @Test("Nothing stands inline: the policy forbids it")
    func inline() throws {
        let page = try #require(Self.files.first).text
        #expect(try matches(#"(<style|<script(?![^>]* src=))"#, page) == [])
        #expect(try matches(#"( style=| on[a-z]+=)"#, page) == [])
        #expect(page.contains("<script type=\"module\" src=\"/console/console.js\"></script>"))
    }

    @Test("The first view has less than 100 KiB")
    func size() throws {
        let page = try #require(Self.files.first)
        let first = try matches(#"(?:href|src)="/console/([^"]*)""#, page.text)
        let bytes = Self.files.filter { first.contains($0.name) }.reduce(page.bytes.count) { $0 + $1.bytes.count }
        #expect(bytes < 100 * 1024)
        // What the page names in its head is what its modules import from the first on.
        var waiting = ["console.js"]
        var imported: Set = ["console.js", "style.css"]
        while let name = waiting.popLast() {
            let text = try #require(Self.files.first { $0.name == name }).text
            for next in try matches(#"from '\./([^']*)'"#, text) where imported.insert(next).inserted {
                waiting.append(next)
            }
        }
        #expect(Set(first) == imported)
    }
}
