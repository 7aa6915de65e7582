/// The environment that signed data belongs to (ADP environment).
public struct SignedDataEnvironment: RawRepresentable, Sendable, Hashable {
    /// Apple's name.
    public let rawValue: String

    /// Takes a name, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Real purchases.
    public static let production = SignedDataEnvironment(rawValue: "Production")
    /// Purchases with test accounts, and in TestFlight.
    public static let sandbox = SignedDataEnvironment(rawValue: "Sandbox")
    /// StoreKit Testing in Xcode; refused by all but a development server.
    public static let xcode = SignedDataEnvironment(rawValue: "Xcode")
    /// StoreKit's local testing; always refused.
    public static let localTesting = SignedDataEnvironment(rawValue: "LocalTesting")
}

extension SignedDataEnvironment {
    /// The environment that something counts in: its own, or the sandbox for what Xcode signed and this server takes.
    ///
    /// - Parameter isXcodes: whether one of the trusted certificates of Xcode signed it.
    static func counted(
        _ environment: SignedDataEnvironment?, isXcodes: Bool
    ) throws(SignedDataRejection) -> SignedDataEnvironment? {
        guard isXcodes else {
            try check(environment)
            return environment
        }
        guard environment == .xcode else {
            throw SignedDataRejection(.environmentXcode, "signed by Xcode, and of another environment")
        }
        return .sandbox
    }

    /// Refuses what was not signed for real customers or testers (C6, step 8); nil is not refused.
    static func check(_ environment: SignedDataEnvironment?) throws(SignedDataRejection) {
        switch environment {
        case nil, .production?, .sandbox?: return
        case .xcode?: throw SignedDataRejection(.environmentXcode, "signed by Xcode")
        case .localTesting?: throw SignedDataRejection(.environmentLocalTesting, "signed for local testing")
        default: throw SignedDataRejection(.environmentUnknown, "an environment that is not known")
        }
    }
}
