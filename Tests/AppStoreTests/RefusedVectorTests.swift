import AppStore
import Foundation
import Testing
import VectorTesting

/// What Apple did not sign must be refused, each for its own reason.
@Suite("Refused vectors", .enabled(if: Vectors.areAvailable, Comment(rawValue: Vectors.skipped)))
struct RefusedVectorTests {
    /// A file and the first check that it fails, in the order of the checks.
    struct Case: Sendable, CustomTestStringConvertible {
        let file: String
        let code: RejectionCode
        var testDescription: String { file }
    }

    static let cases: [Case] = [
        // Genuine headers but for `alg`, which is HS256.
        Case(file: "jws-negative/getmimo-algparameterisunsupported-fails.jws", code: .algorithmNotES256),
        // A genuine chain over an edited payload, which besides has no signedDate: that is looked for first.
        Case(
            file: "jws-negative/notification-v2-subscribed-resubscribe-com-example-app-44253a.jws",
            code: .signedDateMissing),
        // `x5c` is empty.
        Case(file: "jws-negative/notification-v2-test-com-example-1706887729389-d3496f.jws", code: .certificateCount),
        // The intermediate stands in the leaf's place too, and did not issue itself.
        Case(file: "jws-negative/notification-v2-test-com-getmimo-mimo-1706887729389-ad1e6f.jws", code: .chainInvalid),
        // A genuine chain over an edited payload.
        Case(
            file: "jws-negative/transaction-auto-renewable-subscription-com-example-app-1714925642898-3b8e06.jws",
            code: .signatureInvalid),
        // Xcode signs with one certificate of its own, and names its key.
        Case(
            file: "jws-xcode/app-transaction-com-example-naturelab-backyardbirds-example-880511.jws",
            code: .environmentXcode),
        Case(file: "jws-xcode/renewal-info-pass-premium-1697679936711-0747-3db823.jws", code: .environmentXcode),
        Case(file: "apple-library/xcode/xcode-signed-app-transaction", code: .environmentXcode),
        Case(file: "apple-library/xcode/xcode-signed-renewal-info", code: .environmentXcode),
        Case(file: "apple-library/xcode/xcode-signed-transaction", code: .environmentXcode),
        Case(file: "apple-library/xcode/xcode-app-receipt-empty", code: .notAJWS),
        Case(file: "apple-library/xcode/xcode-app-receipt-with-transaction", code: .notAJWS),
        // The test data of Apple's library is signed under a root of its own.
        Case(file: "apple-library/mock_signed_data/legacyTransaction", code: .notAJWS),
        Case(file: "apple-library/mock_signed_data/missingX5CHeaderClaim", code: .certificateCount),
        Case(file: "apple-library/mock_signed_data/renewalInfo", code: .rootNotTrusted),
        Case(file: "apple-library/mock_signed_data/testNotification", code: .rootNotTrusted),
        Case(file: "apple-library/mock_signed_data/transactionInfo", code: .rootNotTrusted),
        Case(file: "apple-library/mock_signed_data/wrongBundleId", code: .rootNotTrusted),
    ]

    @Test("is refused with its code, whatever it is taken for", arguments: cases)
    func refused(_ refused: Case) throws {
        let jws = try Vectors.bytes(refused.file)
        let verifier = SignedDataVerifier(roots: .appleRootG3)
        #expect(rejection(verifier.payload(jws)) == refused.code)
        let app = AppIdentity(bundleId: "com.example")
        #expect(rejection(verifier.transaction(jws, app: app)) == refused.code)
        #expect(rejection(verifier.appTransaction(jws, app: app)) == refused.code)
        #expect(rejection(verifier.notification(jws, app: app)) == refused.code)
        #expect(rejection(verifier.renewalInfo(jws, originalTransactionId: "1")) == refused.code)
        #expect(verifier.chainsCached == 0)
    }

    @Test("every hostile vector of the index is in the list")
    func listIsComplete() {
        let listed = Set(Self.cases.map(\.file))
        let hostile = Vectors.all.filter { !$0.file.hasPrefix("jws-apple/") }.map(\.file)
        #expect(!hostile.isEmpty)
        #expect(Set(hostile).subtracting(listed) == [])
    }

    @Test("is refused for the same reason by a verifier that has just accepted Apple's chain", arguments: cases)
    func refusedAfterGenuine(_ refused: Case) throws {
        let verifier = SignedDataVerifier(roots: .appleRootG3)
        for vector in Vectors.genuine { _ = try verifier.payload(try vector.jws).get() }
        #expect(rejection(verifier.payload(try Vectors.bytes(refused.file))) == refused.code)
    }
}
