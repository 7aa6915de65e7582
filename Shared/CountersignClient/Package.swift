// swift-tools-version: 5.9
import PackageDescription

// The package that an app takes. `deploy/release` exports this folder as a repository of its own, since SwiftPM wants a manifest at a
// repository's root. It has no dependency, and no flag that a package which is one may not have; warnings are errors in the
// build of the repository that it comes from.

/// What Swift 6 would do anyway, and what the sources are written for.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

#if os(Linux)
    // Linux has no StoreKit, and no use for a privacy manifest: the queue alone is there.
    let modules = ["CountersignClient"]
    let adapters: [Target] = []
    let resources: [Resource] = []
    let left = ["PrivacyInfo.xcprivacy"]
#else
    let modules = ["CountersignClient", "CountersignClientStoreKit"]
    let adapters: [Target] = [
        .target(name: "CountersignClientStoreKit", dependencies: ["CountersignClient"], swiftSettings: settings)
    ]
    let resources: [Resource] = [.copy("PrivacyInfo.xcprivacy")]
    let left: [String] = []
#endif

let package = Package(
    name: "countersign-client",
    platforms: [.iOS(.v15), .macOS(.v12), .tvOS(.v15), .watchOS(.v8), .visionOS(.v1)],
    products: [.library(name: "CountersignClient", targets: modules)],
    targets: [
        .target(name: "CountersignClient", exclude: left, resources: resources, swiftSettings: settings)
    ] + adapters
)
