// The names are Apple's, and documented at the addresses.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, BeginDocumentationCommentWithOneLineSummary

public import Foundation

/// developer.apple.com/documentation/storekit/appstore
public enum AppStore {
    public static var canMakePayments: Bool { StoreKitDevices.device.canMakePayments }

    public static func sync() async throws { try await StoreKitDevices.device.sync() }
}

/// developer.apple.com/documentation/storekit/storekiterror
public enum StoreKitError: Error {
    case unknown
    case userCancelled
    case networkError(URLError)
    case systemError(any Error)
    case notAvailableInStorefront
    case notEntitled
}
