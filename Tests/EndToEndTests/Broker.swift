import Foundation
import Testing

/// The brokers that a stack can be given.
enum Broker: String, Sendable {
    /// Apache Kafka: a killed one comes back with its data.
    case kafka
    /// Tansu: a killed one comes back empty, and its consumer groups stall.
    case tansu

    /// Whether a stack of a test's own can have it.
    var isAvailable: Bool {
        switch self {
        // Where no Java runtime can be had, or somebody else's broker is used, there is none to start.
        case .kafka: Self.ofSharedStack == Broker.kafka.rawValue
        case .tansu: ProcessInfo.processInfo.environment["COUNTERSIGN_TEST_TANSU"] != nil
        }
    }

    /// What is said where it is not available.
    var skipped: Comment {
        switch self {
        case .kafka: "SKIPPED: COUNTERSIGN_TEST_BROKER is not kafka, nothing was tried on a Kafka of its own"
        case .tansu: "SKIPPED: COUNTERSIGN_TEST_TANSU is not set, nothing was tried on a broker that comes back empty"
        }
    }

    /// `kafka`, `tansu` or `external`, which no test may kill.
    static var ofSharedStack: String? { ProcessInfo.processInfo.environment["COUNTERSIGN_TEST_BROKER"] }
}
