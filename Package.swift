// swift-tools-version: 6.2
import Foundation
import PackageDescription

/// Strictness every target is built with: warnings are errors, and tomorrow's defaults are today's.
let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

/// The pages that a folder may have for its readers: no source, so they are kept out of the build.
func pages(in path: String) -> [String] {
    let files = try? FileManager.default.contentsOfDirectory(atPath: "\(Context.packageDirectory)/\(path)")
    return (files ?? []).filter { $0.hasSuffix(".md") }.sorted()
}

/// A library of `Shared/`; `apart` is what of its folder is no source of it.
func shared(_ name: String, _ dependencies: [Target.Dependency] = [], apart: [String] = []) -> Target {
    let path = "Shared/\(name)"
    return .target(
        name: name, dependencies: dependencies, path: path, exclude: pages(in: path) + apart, swiftSettings: strict)
}

/// Files that are compiled in, by C's `#embed`, which takes no time: `.embedInCode` makes a Swift array, and 100 kB of it
/// compile for 20 seconds at -O.
func embedded(_ name: String, in path: String, _ files: [String] = []) -> Target {
    .target(
        name: name, path: path, exclude: files, publicHeadersPath: ".",
        cSettings: [.treatAllWarnings(as: .error), .disableWarning("c23-extensions")])
}

/// A module of the app's side: sources of the package in `Shared/CountersignClient`, which an app takes, with this package's flags.
func client(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(
        name: name, dependencies: dependencies, path: "Shared/CountersignClient/Sources/\(name)",
        exclude: name == "CountersignClient" ? ["PrivacyInfo.xcprivacy"] : [], swiftSettings: strict)
}

/// Of tests, which look at what ships, and of the tool, which waits for the database: neither need be fast.
let unoptimized: [SwiftSetting] = strict + [.unsafeFlags(["-Onone"])]

/// A process of `Services/`; `apart` are folders of its that are no source of the process: examples, or a target of their own.
func service(
    _ name: String, _ dependencies: [Target.Dependency], apart: [String] = [], settings: [SwiftSetting] = strict
) -> Target {
    let path = "Services/\(name)"
    return .executableTarget(
        name: name, dependencies: dependencies, path: path, exclude: pages(in: path) + apart, swiftSettings: settings)
}

/// A suite of `Tests/`.
func suite(_ name: String, _ dependencies: [Target.Dependency], apart: [String] = []) -> Target {
    let path = "Tests/\(name)"
    return .testTarget(
        name: name, dependencies: dependencies, path: path, exclude: pages(in: path) + apart, swiftSettings: unoptimized
    )
}

let log = Target.Dependency.product(name: "Logging", package: "swift-log")
let metrics = Target.Dependency.product(name: "Metrics", package: "swift-metrics")
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let signals = Target.Dependency.product(name: "UnixSignals", package: "swift-service-lifecycle")
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let x509 = Target.Dependency.product(name: "X509", package: "swift-certificates")
let asn1 = Target.Dependency.product(name: "SwiftASN1", package: "swift-asn1")
let configuration = Target.Dependency.product(name: "Configuration", package: "swift-configuration")
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let httpClient = Target.Dependency.product(name: "AsyncHTTPClient", package: "async-http-client")
let jwt = Target.Dependency.product(name: "JWTKit", package: "jwt-kit")
let yams = Target.Dependency.product(name: "Yams", package: "Yams")
let coreMetrics = Target.Dependency.product(name: "CoreMetrics", package: "swift-metrics")
let nio = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioHTTPTypes = Target.Dependency.product(name: "NIOHTTPTypes", package: "swift-nio-extras")
let nioHTTP = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let hummingbirdTesting = Target.Dependency.product(name: "HummingbirdTesting", package: "hummingbird")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let hummingbirdHTTP2 = Target.Dependency.product(name: "HummingbirdHTTP2", package: "hummingbird")
let nioTLS = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl")
let cryptoExtras = Target.Dependency.product(name: "CryptoExtras", package: "swift-crypto")
let mustache = Target.Dependency.product(name: "Mustache", package: "swift-mustache")
let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")

#if os(Linux)
    /// Apple's StoreKit, declared: what the adapters are typechecked and driven with where there is none.
    let storeKit: [Target.Dependency] = ["StoreKit"]
    /// A `switch` over an enumeration of a framework needs its default; that Foundation has no such form here is no matter.
    let evolving: [SwiftSetting] = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .unsafeFlags(["-enable-library-evolution", "-suppress-warnings"]),
    ]
    let storeKitTargets: [Target] = [
        .target(
            name: "StoreKit", path: "Tests/StoreKit", exclude: pages(in: "Tests/StoreKit"),
            swiftSettings: evolving),
        .target(
            name: "StoreKitTesting", dependencies: ["StoreKit"], path: "Tests/StoreKitTesting",
            swiftSettings: strict),
        .target(
            name: "ExampleApp", dependencies: ["CountersignClientStoreKit"], path: "Tests/ExampleApp",
            exclude: pages(in: "Tests/ExampleApp"), swiftSettings: strict),
        suite(
            "CountersignClientStoreKitTests",
            [
                "ChanceTesting", "CountersignClient", "CountersignClientStoreKit", "ExampleApp", "StoreKit",
                "StoreKitTesting",
                "StoreTesting",
            ]),
    ]
#else
    let storeKit: [Target.Dependency] = []
    let storeKitTargets: [Target] = []
#endif

let package = Package(
    name: "countersign",
    // An app takes the package in Shared/CountersignClient, and nothing from here.
    platforms: [.iOS(.v15), .macOS(.v15), .tvOS(.v15), .watchOS(.v8), .visionOS(.v1)],
    products: [
        .executable(name: "receipt-intake", targets: ["ReceiptIntake"]),
        .executable(name: "verification-worker", targets: ["VerificationWorker"]),
        .executable(name: "fulfillment", targets: ["Fulfillment"]),
        .executable(name: "notification", targets: ["Notification"]),
        .executable(name: "console", targets: ["Console"]),
        .executable(name: "app-store-simulator", targets: ["AppStoreSimulator"]),
        .executable(name: "countersign", targets: ["CountersignTool"]),
        .library(name: "Kafka", targets: ["Kafka"]),
        .library(name: "Postgres", targets: ["Postgres"]),
        .library(name: "AppStore", targets: ["AppStore"]),
        .library(name: "AppStoreServerAPI", targets: ["AppStoreServerAPI"]),
        .library(name: "CertificateRevocation", targets: ["CertificateRevocation"]),
        .library(name: "Pacing", targets: ["Pacing"]),
        .library(name: "WebhookSigning", targets: ["WebhookSigning"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.0.0"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.10.0"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.3.0"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.0.0", traits: [.defaults, "YAML"]),
        .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.29.0"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.24.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.3.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.24.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.5.0"),
        .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.0.0"),
        .package(url: "https://github.com/vapor/jwt-kit", from: "5.1.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.0.0"),
    ],
    targets: [
        // Layer 0: C headers.
        .systemLibrary(name: "CLibrdkafka", path: "Shared/CLibrdkafka", pkgConfig: "rdkafka"),
        .systemLibrary(name: "CLibpq", path: "Shared/CLibpq", pkgConfig: "libpq"),
        // Layer 1: threads that C may block, which build this is, how fast something may be asked, and what a purchase is.
        shared("BlockingThreads"),
        shared("BuildVersion"),
        shared("JSONText"),
        shared("Pacing"),
        shared("PurchaseModel"),
        // The app's side: it imports nothing of these, and nothing of these imports it.
        client("CountersignClient"),
        client("CountersignClientStoreKit", ["CountersignClient"] + storeKit),
        // Layer 2: one thing of the outside world each.
        shared("Kafka", ["CLibrdkafka", "BlockingThreads", log, lifecycle]),
        shared("Postgres", ["CLibpq", "BlockingThreads", log, lifecycle]),
        shared("AppStore", ["JSONText", crypto, cryptoExtras, x509, asn1]),
        shared("AppStoreServerAPI", [crypto, httpClient, nio, nioHTTP]),
        shared("CertificateRevocation", [crypto, x509, asn1, httpClient, nio, nioHTTP]),
        shared("WebhookSigning", [crypto]),
        embedded("EventFiles", in: "Shared/Messages/Schemas", ["events.json", "examples.json"]),
        shared("Messages", ["EventFiles", "JSONText", "PurchaseModel"], apart: ["Schemas"]),
        // Layer 3: what is kept, and how a process lives.
        embedded("SchemaFile", in: "Shared/Persistence/SchemaFile"),
        shared(
            "Persistence", ["SchemaFile", "Postgres", "PurchaseModel", "Messages", "WebhookSigning", crypto],
            apart: ["SchemaFile", "schema.sql", "Migrations/0002_what_0_2_0_needs.sql"]),
        shared(
            "ServiceRuntime",
            [
                "BuildVersion", "PurchaseModel", log, metrics, coreMetrics, lifecycle, signals, configuration,
                hummingbird, yams, nio, nioPosix, httpTypes,
            ]),
        // Layer 4: consume, decode, handle, record, commit.
        shared(
            "EventProcessing",
            [
                "Kafka", "Postgres", "Messages", "PurchaseModel", "Persistence", "ServiceRuntime", log, metrics,
                lifecycle,
            ]),
        shared("TrustedRootSettings", ["AppStore", "ServiceRuntime", log]),
        shared("JSONWebKeys", ["ServiceRuntime", jwt]),
        // Layer 5: the processes.
        service(
            "ReceiptIntake",
            [
                "BlockingThreads", "EventProcessing", "Persistence", "ServiceRuntime", "Messages", "PurchaseModel",
                "Kafka", "Postgres", "AppStore", "JSONText", "JSONWebKeys", "Pacing", "TrustedRootSettings",
                "OpenAPIFile", crypto, hummingbird, httpTypes, jwt, httpClient, log, metrics, lifecycle, nio, nioHTTP,
                nioHTTPTypes,
            ], apart: ["OpenAPI/Document"]),
        embedded("OpenAPIFile", in: "Services/ReceiptIntake/OpenAPI/Document", ["openapi.yaml"]),
        service(
            "VerificationWorker",
            [
                "EventProcessing", "Persistence", "ServiceRuntime", "Messages", "PurchaseModel", "Kafka", "Postgres",
                "AppStore", "AppStoreServerAPI", "CertificateRevocation", "Pacing", "TrustedRootSettings", httpClient,
                nio, log, metrics, lifecycle,
            ]),
        service(
            "Fulfillment",
            [
                "EventProcessing", "Persistence", "ServiceRuntime", "Messages", "PurchaseModel", "Kafka", "Postgres",
                log, metrics, lifecycle,
            ]),
        service(
            "Notification",
            [
                "EventProcessing", "Persistence", "ServiceRuntime", "Messages", "Kafka", "Postgres", "WebhookSigning",
                "BlockingThreads", httpClient, nio, nioHTTP, log, metrics, lifecycle,
            ], apart: ["Receivers"]),
        // It has no database and no broker: it calls receipt-intake's API as any backend may.
        service(
            "Console",
            [
                "JSONWebKeys", "Pacing", "ServiceRuntime", "ConsoleFiles", crypto, hummingbird, httpTypes, httpClient,
                jwt,
                mustache, yams, log, metrics, lifecycle, nio, nioHTTP,
            ], apart: ["Files"]),
        embedded(
            "ConsoleFiles", in: "Services/Console/Files",
            [
                "console.css", "console.js", "layout.mustache", "blocks.mustache", "cell.mustache", "form.mustache",
                "fields.mustache", "login.mustache", "texts.en.yaml", "texts.zh.yaml", "texts.ko.yaml",
            ]),
        // How a studio's backend receives webhooks, in Swift.
        .executableTarget(
            name: "webhook-receiver-example", dependencies: ["WebhookSigning", hummingbird, httpTypes, nio],
            path: "Services/Notification/Receivers/Swift", swiftSettings: strict),
        service(
            "AppStoreSimulator",
            [
                "BlockingThreads", "BuildVersion", "JSONText", "WebhookSigning", arguments, crypto, cryptoExtras, x509,
                asn1,
                hummingbird, httpClient, httpTypes, jwt, lifecycle, log, nio, nioHTTP, nioTLS, signals,
                yams,
            ]),
        service(
            "CountersignTool",
            [
                "BlockingThreads", "BuildVersion", "EventProcessing", "Persistence", "ServiceRuntime", "Messages",
                "PurchaseModel", "AppStore", "AppStoreServerAPI", "Kafka", "Postgres", "TrustedRootSettings",
                "WebhookSigning", arguments, crypto, httpClient, log, nio, nioHTTP, yams,
            ],
            settings: unoptimized),
        // Suites: see Tests/README.md.
        .target(
            name: "PersistenceTesting", dependencies: ["Persistence", "Postgres", log],
            path: "Tests/PersistenceTesting", swiftSettings: strict),
        .target(
            name: "KafkaTesting", dependencies: ["Kafka", "CLibrdkafka"], path: "Tests/KafkaTesting",
            swiftSettings: strict),
        .target(
            name: "ServerTesting", dependencies: [nio, nioPosix], path: "Tests/ServerTesting", swiftSettings: strict),
        .target(name: "LogTesting", dependencies: [log], path: "Tests/LogTesting", swiftSettings: strict),
        .target(name: "ChanceTesting", path: "Tests/ChanceTesting", swiftSettings: strict),
        .target(name: "ProcessTesting", path: "Tests/ProcessTesting", swiftSettings: strict),
        .target(name: "VectorTesting", path: "Tests/VectorTesting", swiftSettings: strict),
        .target(name: "SchemaTesting", path: "Tests/SchemaTesting", swiftSettings: strict),
        .target(
            name: "StoreTesting", dependencies: ["CountersignClient"], path: "Tests/StoreTesting",
            swiftSettings: strict),
        .target(
            name: "SimulatorTesting", dependencies: ["ProcessTesting", httpClient, nio, nioHTTP],
            path: "Tests/SimulatorTesting", swiftSettings: strict),
        suite("CountersignClientTests", ["ChanceTesting", "ProcessTesting", "CountersignClient", "StoreTesting"]),
        suite("PurchaseModelTests", ["ChanceTesting", "PurchaseModel"]),
        suite("JSONTextTests", ["ChanceTesting", "JSONText"]),
        suite("MessagesTests", ["Messages", "PurchaseModel", "SchemaTesting"]),
        suite(
            "FulfillmentTests",
            [
                "ChanceTesting", "ProcessTesting", "Fulfillment", "EventProcessing", "LogTesting", "Persistence",
                "PersistenceTesting",
                "Postgres",
                "Messages", "PurchaseModel", "SchemaTesting", "ServiceRuntime", log,
            ], apart: ["ReleasedSchemas"]),
        suite(
            "AppStoreTests",
            [
                "ProcessTesting", "VectorTesting", "AppStore", "AppStoreSimulator", "JSONText", crypto, cryptoExtras,
                x509, asn1,
            ]),
        suite(
            "AppStoreSimulatorTests",
            [
                "ServerTesting", "SimulatorTesting", "ProcessTesting", "VectorTesting", "AppStore", "AppStoreSimulator",
                "WebhookSigning", crypto,
                cryptoExtras, x509, asn1,
                hummingbird,
                hummingbirdTesting, httpClient, httpTypes, lifecycle, log, nio, nioHTTP, nioPosix,
            ]),
        suite(
            "AppStoreServerAPITests",
            [
                "ServerTesting", "SimulatorTesting", "ChanceTesting", "AppStoreServerAPI", crypto, httpClient, nio,
                nioHTTP,
            ]),
        suite("BlockingThreadsTests", ["BlockingThreads"]),
        suite("ProcessTestingTests", ["ProcessTesting"]),
        suite("PacingTests", ["ChanceTesting", "Pacing"]),
        suite(
            "CertificateRevocationTests",
            [
                "ServerTesting", "SimulatorTesting", "ProcessTesting", "CertificateRevocation", "AppStore", crypto,
                x509, asn1,
                httpClient, nio, nioHTTP,
                nioPosix,
            ]),
        suite(
            "VerificationWorkerTests",
            [
                "SimulatorTesting", "VerificationWorker", "Fulfillment", "AppStore", "AppStoreServerAPI",
                "CertificateRevocation", "Pacing",
                "Messages",
                "PurchaseModel", "Persistence", "PersistenceTesting", "Postgres", "ServiceRuntime", httpClient, nio,
                nioHTTP, log,
            ]),
        suite("WebhookSigningTests", ["WebhookSigning", crypto]),
        suite(
            "ServiceRuntimeTests",
            [
                "BuildVersion", "ServiceRuntime", "LogTesting", log, metrics, coreMetrics, lifecycle, configuration,
                hummingbird, httpTypes, nio,
            ]),
        suite("TrustedRootSettingsTests", ["TrustedRootSettings", "AppStore", "LogTesting", "ServiceRuntime", log]),
        suite("PostgresTests", ["Postgres", log, lifecycle]),
        suite(
            "NotificationTests",
            [
                "ServerTesting", "ProcessTesting", "Notification", "Messages", "Persistence", "PersistenceTesting",
                "Postgres",
                "PurchaseModel",
                "ServiceRuntime", "WebhookSigning", asn1, crypto, httpClient, httpTypes, hummingbird, hummingbirdHTTP2,
                lifecycle, log, nio, nioHTTP, nioPosix, nioTLS, x509,
            ]),
        suite(
            "ReceiptIntakeTests",
            [
                "ChanceTesting", "ProcessTesting", "ReceiptIntake", "AppStore", "AppStoreSimulator", "EventProcessing",
                "JSONWebKeys", "Kafka",
                "LogTesting", "Messages",
                "Persistence", "PersistenceTesting", "Postgres", "PurchaseModel", "SchemaTesting", "ServiceRuntime",
                "WebhookSigning", configuration, crypto, hummingbird, hummingbirdTesting, httpTypes, lifecycle, log,
                nio, nioPosix,
            ]),
        suite(
            "ConsoleTests",
            [
                "Console", "ProcessTesting", "PurchaseModel", "ServiceRuntime", configuration, crypto, hummingbird,
                hummingbirdTesting, httpClient, httpTypes, jwt, lifecycle, log, nio, nioHTTP,
            ]),
        suite(
            "EventProcessingTests",
            [
                "EventProcessing", "Kafka", "KafkaTesting", "LogTesting", "Messages", "ServiceRuntime", configuration,
                lifecycle, log,
            ]),
        suite("KafkaTests", ["ProcessTesting", "Kafka", "KafkaTesting", "CLibrdkafka", log, lifecycle]),
        suite(
            "CountersignToolTests",
            [
                "ChanceTesting", "ProcessTesting", "CountersignTool", "AppStore", "AppStoreServerAPI",
                "EventProcessing", "Kafka", "Messages", "Persistence", "PersistenceTesting", "Postgres",
                "PurchaseModel", "ServiceRuntime", "TrustedRootSettings", arguments, crypto, log,
            ]),
        suite(
            "EndToEndTests",
            [
                "ChanceTesting", "ProcessTesting", "CountersignClient", "Messages", "PurchaseModel", "Kafka",
                "KafkaTesting", "Postgres",
                "ServerTesting", "StoreTesting", "VectorTesting",
                crypto, httpClient, nio, nioHTTP, log,
            ]),
    ]
)

package.targets += storeKitTargets

// `deploy/test --quick` names one suite: the others are then neither compiled nor linked.
if let chosen = Context.environment["COUNTERSIGN_SUITE"], !chosen.isEmpty {
    package.targets.removeAll { $0.type == .test && $0.name != chosen }
}
