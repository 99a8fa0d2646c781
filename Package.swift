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

// The lowest target first: a target imports only what stands above it in this list.
let package = Package(
    name: "recast",
    products: [
        .library(name: "Serialization", targets: ["Serialization"]),
        .executable(name: "recast", targets: ["recast"]),
    ],
    dependencies: [
        .package(url: "https://github.com/jpsim/Yams.git", from: "6.2.2"),
        .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.2"),
    ],
    targets: [
        .systemLibrary(name: "CEvent", pkgConfig: "libevent_core", providers: [.apt(["libevent-dev"])]),
        .systemLibrary(name: "CCares", pkgConfig: "libcares", providers: [.apt(["libc-ares-dev"])]),
        .systemLibrary(name: "CLibXML2", pkgConfig: "libxml-2.0", providers: [.apt(["libxml2-dev"])]),
        .target(name: "CXMLShims", dependencies: ["CLibXML2"], exclude: ["README.md"]),
        .target(name: "CEventShims", dependencies: ["CEvent"], exclude: ["README.md"]),

        .target(name: "Octets", exclude: ["README.md"], swiftSettings: settings),
        .target(
            name: "Serialization", dependencies: ["CXMLShims", "Octets"], exclude: ["README.md"],
            swiftSettings: settings),
        .target(name: "HTTPWire", dependencies: ["Octets"], exclude: ["README.md"], swiftSettings: settings),
        .target(
            name: "EventLoop", dependencies: ["CEvent", "CEventShims", "CCares", "Octets"], exclude: ["README.md"],
            swiftSettings: settings),
        .target(
            name: "Proxy", dependencies: ["EventLoop", "HTTPWire", "Serialization", "Octets"], exclude: ["README.md"],
            swiftSettings: settings),
        .target(
            name: "Settings",
            dependencies: ["Proxy", "HTTPWire", "Serialization", "Octets", .product(name: "Yams", package: "Yams")],
            exclude: ["README.md"], swiftSettings: settings),
        .executableTarget(
            name: "recast",
            dependencies: [
                "Settings", "Proxy", "EventLoop", "HTTPWire", "Serialization", "Octets",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            exclude: ["README.md"], swiftSettings: settings),

        .target(
            name: "TestSupport", dependencies: ["Octets", "Serialization"], path: "Tests/TestSupport",
            swiftSettings: settings),
        .target(
            name: "FuzzTargets", dependencies: ["Octets", "Serialization", "TestSupport"], path: "Tests/FuzzTargets",
            swiftSettings: settings),
        .testTarget(name: "FuzzTests", dependencies: ["FuzzTargets"], swiftSettings: settings),
        .testTarget(name: "OctetsTests", dependencies: ["Octets", "TestSupport"], swiftSettings: settings),
        .testTarget(
            name: "SerializationTests", dependencies: ["Serialization", "Octets", "TestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "HTTPWireTests", dependencies: ["HTTPWire", "Octets", "TestSupport"], swiftSettings: settings),
        .testTarget(
            name: "EventLoopTests", dependencies: ["EventLoop", "Octets", "TestSupport"], swiftSettings: settings),
        .testTarget(
            name: "ProxyTests",
            dependencies: ["Proxy", "EventLoop", "HTTPWire", "Serialization", "Octets", "TestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "SettingsTests", dependencies: ["Settings", "Proxy", "Serialization", "TestSupport"],
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
