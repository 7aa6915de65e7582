/// Which of Apple's two worlds a purchase was made in.
///
/// It is part of every key, so that a test purchase never meets a paid one. Apple also signs `Xcode` and
/// `LocalTesting`; those never leave a developer's machine, and have no value here.
/// Source: developer.apple.com/documentation/appstoreserverapi/environment.
package enum StoreEnvironment: String, Codable, Sendable, Hashable, CaseIterable {
    case production
    case sandbox

    /// The environment that Apple's signed data calls by this name; nil for a name that is neither.
    package init?(appleName: String) {
        switch appleName {
        case "Production": self = .production
        case "Sandbox": self = .sandbox
        default: return nil
        }
    }
}
