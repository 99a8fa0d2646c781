import Foundation
import Gateway
import Proxy
import Settings
import Testing

@Suite struct ConfigFolderTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../config").standardizedFileURL

    @Test("every file in the folder config can be served, and its examples give what they say")
    func files() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path).filter {
            $0.hasSuffix(".yaml") || $0.hasSuffix(".yml")
        }
        #expect(
            Set(names).isSuperset(of: [
                "recast.yaml", "php.yaml", "webhook.yaml", "xml.yaml", "plist.yaml", "photos.yaml",
            ]))
        for name in names {
            do throws(SettingsMistakes) {
                let file = try SettingsFile.load(Self.folder.appending(path: name).path)
                try file.runExamples()
            } catch {
                Issue.record("\(name): \(error.all.map(\.description).joined(separator: "\n"))")
            }
        }
    }

    @Test("the example file has a route of each kind, the plain forward last")
    func example() throws {
        let settings = try SettingsFile.load(Self.folder.appending(path: "recast.yaml").path).settings
        #expect(
            settings.routes.map(\.name) == [
                "form-to-json", "json-to-form", "json-to-multipart", "multipart-to-json", "upload", "any-to-json",
                "query-to-json", "json-to-query", "response-to-form", "forward",
            ])
        #expect(try #require(settings.routes.last).conversion == nil)
    }
}
