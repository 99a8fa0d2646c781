// swift-tools-version: 6.2
import PackageDescription

// Every Swift target is built the same way: language mode 6, strict memory safety, warnings are errors.
// `Lifetimes` is the one experimental feature: it lets a function return a Span that borrows its owner, which is how
// bytes travel between the targets without a copy.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableExperimentalFeature("Lifetimes"),
]

// What scripts/release knows of the sources, as a definition: nothing where the variable isn't there, or isn't one word.
func definition(_ name: String) -> [CSetting] {
    guard let value = Context.environment[name], !value.isEmpty,
        value.utf8.allSatisfy({
            (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0) || $0 == 45
        })
    else { return [] }
    return [.define(name, to: value)]
}

// What only the proxy and its tests need of other packages: SwiftPM fetches nothing that no enabled trait asks for.
let proxy = TargetDependencyCondition.when(traits: ["Proxy"])
let images = TargetDependencyCondition.when(traits: ["Images"])

// The lowest target first: a target imports only what stands above it in this list.
let package = Package(
    name: "recast",
    products: [
        .library(name: "Serialization", targets: ["Serialization"]),
        .executable(name: "recast", targets: ["recast"]),
    ],
    // A program that depends on the library says `traits: []`, and fetches swift-http-types alone.
    traits: [
        .trait(name: "Proxy", description: "The proxy, recast, and all that its tests need."),
        .trait(name: "Images", description: "Pictures in uploads are made smaller: libjpeg-turbo, libpng, libwebp."),
        .default(enabledTraits: ["Proxy", "Images"]),
    ],
    // Exact versions: what a commit builds from is the same whenever it is built. scripts/release-check wants it so.
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser.git", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log.git", exact: "1.16.2"),
        // Without its trait FoundationURL, which would bring Foundation into every program that links Serialization.
        .package(url: "https://github.com/apple/swift-http-types.git", exact: "1.8.0", traits: []),
        // For the tests alone: its HTTP decoder is a second opinion on what Recast's takes and refuses.
        .package(url: "https://github.com/apple/swift-nio.git", exact: "2.101.2"),
    ],
    targets: [
        .systemLibrary(name: "CEvent", pkgConfig: "libevent_core", providers: [.apt(["libevent-dev"])]),
        .systemLibrary(name: "CCares", pkgConfig: "libcares", providers: [.apt(["libc-ares-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CBrotli", pkgConfig: "libbrotlienc", providers: [.apt(["libbrotli-dev"])]),
        .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
        .systemLibrary(name: "CJPEG", pkgConfig: "libjpeg", providers: [.apt(["libjpeg62-turbo-dev"])]),
        .systemLibrary(name: "CPNG", pkgConfig: "libpng", providers: [.apt(["libpng-dev"])]),
        .systemLibrary(name: "CWebP", pkgConfig: "libwebpmux", providers: [.apt(["libwebp-dev"])]),
        .systemLibrary(name: "CNghttp2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
        .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .target(name: "CEventShims", dependencies: ["CEvent"], exclude: ["README.md"]),
        .target(name: "CTLSShims", dependencies: ["COpenSSL"], exclude: ["README.md"]),
        .target(
            name: "CBuild", exclude: ["README.md"],
            cSettings: definition("RECAST_COMMIT") + definition("RECAST_DATE")),
        .target(name: "CRecipes", exclude: ["README.md"]),
        // The page is put in by the compiler; SwiftPM has no other work with it.
        .target(name: "CConsole", exclude: ["README.md", "page"]),

        .target(name: "COctets", exclude: ["README.md"]),
        .target(name: "Octets", dependencies: ["COctets"], exclude: ["README.md"], swiftSettings: settings),
        .target(
            name: "Transcoding", dependencies: ["COctets", "Octets"], exclude: ["README.md"], swiftSettings: settings,
            // On Linux iconv is in the C library.
            linkerSettings: [
                .linkedLibrary("iconv", .when(platforms: [.macOS, .iOS, .tvOS, .watchOS, .visionOS, .macCatalyst]))
            ]),
        .target(
            name: "Serialization",
            dependencies: [
                "Transcoding", "Octets", .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            exclude: ["README.md"], swiftSettings: settings),
        .target(name: "HTTPWire", dependencies: ["Octets"], exclude: ["README.md"], swiftSettings: settings),
        .target(name: "CHTTP2", dependencies: ["CNghttp2"], exclude: ["README.md"]),
        .target(
            name: "HTTP2", dependencies: ["CHTTP2", "HTTPWire", "Octets"], exclude: ["README.md"],
            swiftSettings: settings),
        .target(
            name: "ExtProc", dependencies: ["HTTPWire", "Octets"], exclude: ["README.md"], swiftSettings: settings),
        .target(
            name: "ContentCoding", dependencies: ["CZlib", "CBrotli", "CZstd", "Octets"], exclude: ["README.md"],
            swiftSettings: settings),
        .target(name: "CSignatures", dependencies: ["COpenSSL", "CZlib"], exclude: ["README.md"]),
        .target(
            name: "Signatures", dependencies: ["CSignatures", "HTTPWire", "Transcoding", "Octets"],
            exclude: ["README.md"],
            swiftSettings: settings),
        .target(
            name: "CImages",
            dependencies: [
                .target(name: "CJPEG", condition: images), .target(name: "CPNG", condition: images),
                .target(name: "CWebP", condition: images), .target(name: "CZlib", condition: images),
            ],
            exclude: ["README.md"], cSettings: [.define("RECAST_IMAGES", .when(traits: ["Images"]))]),
        .target(
            name: "Images", dependencies: ["CImages", "Transcoding"], exclude: ["README.md"], swiftSettings: settings),
        .target(
            name: "EventLoop", dependencies: ["CEvent", "CEventShims", "CTLSShims", "CCares", "Octets"],
            exclude: ["README.md"],
            swiftSettings: settings),
        .target(
            name: "Gateway",
            dependencies: ["Signatures", "Images", "HTTPWire", "ContentCoding", "Transcoding", "Octets"],
            exclude: ["README.md"], swiftSettings: settings),
        .target(
            name: "Proxy",
            dependencies: [
                "CBuild", "CConsole", "EventLoop", "Gateway", "Signatures", "Images", "HTTP2", "ExtProc", "HTTPWire",
                "ContentCoding",
                "Transcoding", "Octets",
                .product(name: "Logging", package: "swift-log", condition: proxy),
            ],
            exclude: ["README.md"], swiftSettings: settings),
        .target(
            name: "Settings",
            dependencies: [
                "CYAML", "Proxy", "Gateway", "Signatures", "Images", "EventLoop", "HTTP2", "HTTPWire", "ContentCoding",
                "Transcoding", "Octets",
            ],
            exclude: ["README.md"], swiftSettings: settings),
        .executableTarget(
            name: "recast",
            dependencies: [
                "CRecipes", "Settings", "Proxy", "Gateway", "Signatures", "Images", "EventLoop", "HTTPWire",
                "Transcoding", "Octets",
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: proxy),
            ],
            exclude: ["README.md"], swiftSettings: settings),

        // The program of the documentation's snippets, built as a user's would be: with none of the settings above.
        .executableTarget(
            name: "serialization-examples", dependencies: ["Serialization"], path: "Examples",
            swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]),
        // The measurements of `make bench-codecs`, and the count of allocations that a test uses too.
        .target(name: "CAllocations", path: "Benchmarks/CAllocations", exclude: ["README.md"]),
        .executableTarget(
            name: "codec-bench", dependencies: ["Serialization", "Transcoding", "Octets", "CAllocations"],
            path: "Benchmarks/CodecBench", exclude: ["README.md"], swiftSettings: settings),

        .target(
            name: "TestSupport", dependencies: ["Octets", "Transcoding"], path: "Tests/TestSupport",
            swiftSettings: settings),
        .target(
            name: "CertificateSupport", dependencies: ["EventLoop"], path: "Tests/CertificateSupport",
            swiftSettings: settings),
        .target(
            name: "FuzzTargets",
            dependencies: [
                "Octets", "HTTPWire", "HTTP2", "ExtProc", "ContentCoding", "Signatures", "Images", "Transcoding",
                "Serialization",
                "TestSupport",
            ],
            path: "Tests/FuzzTargets", swiftSettings: settings),
        .testTarget(name: "FuzzTests", dependencies: ["FuzzTargets"], swiftSettings: settings),
        .testTarget(name: "ConsoleTests", dependencies: ["CConsole"], swiftSettings: settings),
        .testTarget(name: "OctetsTests", dependencies: ["Octets", "TestSupport"], swiftSettings: settings),
        .testTarget(
            name: "SerializationTests",
            dependencies: [
                "Serialization", "Transcoding", "Octets", "TestSupport", "CAllocations", "serialization-examples",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "HTTPWireTests", dependencies: ["HTTPWire", "Octets", "TestSupport"], swiftSettings: settings),
        .testTarget(name: "HTTP2Tests", dependencies: ["HTTP2", "HTTPWire", "Octets"], swiftSettings: settings),
        .testTarget(name: "ExtProcTests", dependencies: ["ExtProc", "HTTPWire", "Octets"], swiftSettings: settings),
        .testTarget(name: "ContentCodingTests", dependencies: ["ContentCoding", "Octets"], swiftSettings: settings),
        .testTarget(
            name: "DifferentialTests",
            dependencies: [
                "HTTPWire", "Octets", .product(name: "NIOCore", package: "swift-nio", condition: proxy),
                .product(name: "NIOEmbedded", package: "swift-nio", condition: proxy),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: proxy),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "EventLoopTests", dependencies: ["EventLoop", "Octets", "TestSupport", "CertificateSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "SignaturesTests",
            dependencies: ["Signatures", "HTTPWire", "Transcoding", "Octets", "TestSupport"], swiftSettings: settings),
        .testTarget(
            name: "ImagesTests", dependencies: ["Images", "CImages", "Transcoding", "TestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "GatewayTests",
            dependencies: [
                "Gateway", "Signatures", "HTTPWire", "ContentCoding", "Transcoding", "Octets", "TestSupport",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "ProxyTests",
            dependencies: [
                "Proxy", "Gateway", "Images", "EventLoop", "ExtProc", "HTTPWire", "ContentCoding", "Transcoding",
                "Octets",
                "TestSupport", "CertificateSupport",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "SettingsTests",
            dependencies: [
                "Settings", "Proxy", "Gateway", "Images", "EventLoop", "ContentCoding", "Transcoding", "TestSupport",
            ],
            swiftSettings: settings),
    ]
)

// The fuzzer gets its main function from libFuzzer, so it links only where that is wanted: see scripts/fuzz.
if Context.environment["RECAST_FUZZ"] != nil {
    package.targets.append(
        .executableTarget(
            name: "recast-fuzz", dependencies: ["FuzzTargets"], path: "Tests/FuzzDriver",
            swiftSettings: settings + [.unsafeFlags(["-parse-as-library"])]))
}

// scripts/sanitize: a build leaves out what its sanitizer has nothing to find in. That is swift-nio with what compares with
// it, and for the thread sanitizer all that has no threads. With --quick (no RECAST_FULL) the address sanitizer sees the
// targets that are `unsafe` in more than a line here and there: bytes, codecs, content codings, HTTP/2 and the loop.
if let sanitizer = Context.environment["RECAST_SANITIZED"] {
    var leftOut: Set = ["DifferentialTests", "codec-bench"]
    if sanitizer == "thread" {
        leftOut.formUnion([
            "FuzzTests", "FuzzTargets", "OctetsTests", "SerializationTests", "HTTPWireTests", "ContentCodingTests",
            "ConsoleTests", "GatewayTests", "SettingsTests", "serialization-examples",
        ])
        // Each of its tests has one loop, on the thread of the test: several workers are a matter of the end-to-end tests.
        if Context.environment["RECAST_FULL"] == nil { leftOut.insert("ProxyTests") }
    } else if Context.environment["RECAST_FULL"] == nil {
        leftOut.formUnion([
            "Gateway", "Proxy", "Settings", "recast", "HTTPWireTests", "GatewayTests", "ProxyTests", "SettingsTests",
        ])
    }
    package.targets.removeAll { leftOut.contains($0.name) }
    package.products.removeAll { leftOut.contains($0.name) }
}
