import Gateway
import Images
import Proxy
import Settings
import Testing

@testable import Transcoding

/// What `image` says of a file: what is read, and each mistake with its place.
@Suite("Settings of pictures", .enabled(if: PictureHeader.isBuiltIn))
struct ImageRuleSettingsTests {
    private static func route(_ decode: String, _ encode: String, _ file: String) -> (head: String, tail: String) {
        (
            "  - { name: a, match: /a, upstream: app, request: { decode: { as: \(decode) }, encode: { as: \(encode), files: { photo: { \(file)",
            " } } } } }"
        )
    }

    private static func rule(_ keys: String) throws -> ImageRule {
        let (head, tail) = route("multipart", "multipart", "image: { ")
        let file = try SettingsTestFile.parseRoutes(head + keys + " }" + tail)
        return try #require(file.settings.routes[0].conversion?.plan.files.first?.image)
    }

    @Test("all that image may say, at both ends of each range")
    func all() throws {
        let rule = try Self.rule(
            "max: 1, width: 2147483647, height: 7, quality: 1, format: webp, metadata: drop, pixels: 1, on_other: pass")
        #expect(rule.longestSide == 1 && rule.width == 2_147_483_647 && rule.height == 7)
        #expect(rule.quality == 1 && rule.format == .webp && !rule.keepsMetadata && rule.pixels == 1)
        #expect(rule.others == .pass)
        let standard = try Self.rule("max: 2147483647, quality: 100")
        #expect(standard.longestSide == 2_147_483_647 && standard.width == nil && standard.height == nil)
        #expect(standard.quality == 100 && standard.format == nil && standard.keepsMetadata)
        #expect(standard.pixels == 50_000_000 && standard.others == .reject)
    }

    @Test(
        "pixels are counted, or in thousands and millions",
        arguments: [("1k", 1000), ("800k", 800_000), ("50M", 50_000_000), ("2G", 2_000_000_000), ("123", 123)])
    func pixels(text: String, count: Int) throws {
        #expect(try Self.rule("max: 9, pixels: \(text)").pixels == count)
    }

    static let side = "from 1 to 2147483647"
    static let pixelText = "\"pixels\" is a whole number, or thousands (k) or millions (M), as in 50M"

    @Test(
        "each mistake of a key, a kind or a range is told with its place",
        arguments: [
            // What is written, what of it the place is, and what is said.
            ("maxx: 9", "maxx", "\"image\" has no key \"maxx\": did you mean \"max\"?"),
            ("max: 9, qualiti: 9", "qualiti", "\"image\" has no key \"qualiti\": did you mean \"quality\"?"),
            ("max: 0", "0", "\"max\" is \(side), not 0"), ("max: -1", "-1", "\"max\" is \(side), not -1"),
            ("max: 2147483648", "2147483648", "\"max\" is \(side), not 2147483648"),
            ("max: 1.5", "1.5", "\"max\" is a whole number, not \"1.5\""),
            ("max: big", "big", "\"max\" is a whole number, not \"big\""),
            ("max: [9]", "[9]", "\"max\" is a single value, not a list"),
            ("width: 0", "0", "\"width\" is \(side), not 0"),
            ("width: 2147483648", "2147483648", "\"width\" is \(side), not 2147483648"),
            ("width: {}", "{}", "\"width\" is a single value, not a mapping"),
            ("height: 0", "0", "\"height\" is \(side), not 0"),
            ("height: 9px", "9px", "\"height\" is a whole number, not \"9px\""),
            ("max: 9, quality: 0", "0", "\"quality\" is from 1 to 100, not 0"),
            ("max: 9, quality: 101", "101", "\"quality\" is from 1 to 100, not 101"),
            ("max: 9, quality: good", "good", "\"quality\" is a whole number, not \"good\""),
            ("format: png, quality: 50", "quality", "\"quality\" is for jpeg and webp: a png loses nothing"),
            ("format: gif", "gif", "\"format\" is not \"gif\": known are jpeg, png, webp"),
            ("format: jpg", "jpg", "\"format\" is not \"jpg\": did you mean \"jpeg\"?"),
            ("format: [jpeg]", "[jpeg]", "\"format\" is a single value, not a list"),
            ("max: 9, metadata: kep", "kep", "\"metadata\" is not \"kep\": did you mean \"keep\"?"),
            ("max: 9, metadata: true", "true", "\"metadata\" is not \"true\": known are keep, drop"),
            ("max: 9, pixels: 0", "0", pixelText), ("max: 9, pixels: 5MiB", "5MiB", pixelText),
            ("max: 9, pixels: M", "M", pixelText), ("max: 9, pixels: -5", "-5", pixelText),
            ("max: 9, pixels: 9999999999G", "9999999999G", pixelText),
            ("max: 9, pixels: [1]", "[1]", "\"pixels\" is a single value, not a list"),
            ("max: 9, on_other: drop", "drop", "\"on_other\" is not \"drop\": known are reject, pass"),
        ])
    func mistakes(keys: String, place: String, message: String) throws {
        let (head, tail) = Self.route("multipart", "multipart", "image: { ")
        let before = try #require(keys.ranges(of: place).last).lowerBound
        let column = head.count + keys.distance(from: keys.startIndex, to: before) + 1
        #expect(SettingsTestFile.mistakesOfRoutes(head + keys + " }" + tail) == ["5:\(column): \(message)"])
    }

    @Test("all mistakes of one rule are told at once")
    func several() {
        let (head, tail) = Self.route("multipart", "multipart", "image: { ")
        let found = SettingsTestFile.mistakesOfRoutes(head + "max: 0, quality: 0, format: x, pixels: x" + " }" + tail)
        #expect(found.count == 4, "\(found)")
    }

    @Test(
        "what can't be with the rest of the conversion is told at the rule",
        arguments: [
            ("multipart", "multipart", "image: 9", "9", "\"image\" is a mapping of keys to values, not a single value"),
            (
                "multipart", "multipart", "image: {}", "{}",
                "\"image\" of the file \"photo\" changes nothing: say max, width, height, format or metadata: drop"
            ),
            (
                "multipart", "multipart", "image: { quality: 50 }", "{ q",
                "\"image\" of the file \"photo\" changes nothing: say max, width, height, format or metadata: drop"
            ),
            (
                "json", "plist", "image: { max: 9 }", "{ max",
                "\"image\" of the file \"photo\": pictures go to multipart, json, form, xml, text and raw"
            ),
            (
                "multipart", "multipart", "image: { max: 9 }, type: image/png", nil,
                "the file \"photo\" has \"type\" and \"image\": the type is the picture's own"
            ),
            (
                "multipart", "json", "do: drop, image: { max: 9 }", nil,
                "the file \"photo\" has an \"image\" and goes nowhere"
            ),
        ] as [(String, String, String, String?, String)])
    func conflicts(decode: String, encode: String, file: String, place: String?, message: String) throws {
        let (head, tail) = Self.route(decode, encode, "")
        let found = SettingsTestFile.mistakesOfRoutes(head + file + tail)
        let first = try #require(found.first { $0.hasSuffix(message) }, "\(found)")
        guard let place else { return #expect(first.hasPrefix("5:")) }
        let column =
            head.count + file.distance(from: file.startIndex, to: try #require(file.firstRange(of: place)).lowerBound)
            + 1
        #expect(first == "5:\(column): \(message)")
    }

    @Test("a query and a response have none")
    func elsewhere() {
        let files = "files: { photo: { image: { max: 9 } } }"
        for (conversion, message) in [
            ("request: \"json -> query(\(files))\"", "a query holds no pictures"),
            ("response: { decode: { as: multipart }, encode: { as: multipart, \(files) } }", "responses keep theirs"),
        ] {
            let found = SettingsTestFile.mistakesOfRoutes("  - { name: a, match: /a, upstream: app, \(conversion) }")
            #expect(found.contains { $0.contains(message) }, "\(found)")
        }
    }
}
