import AppStoreServerAPI
import Testing

@testable import CountersignTool

/// Each failure of `apple check` says what to do in App Store Connect.
@Suite struct AppleJudgementTests {
    private func judgement(isReleased: Bool = true) -> AppleJudgement {
        AppleJudgement(bundleId: "com.example.game", issuerId: "iss", keyId: "KEY", isReleased: isReleased)
    }

    private func error(
        _ category: AppStoreServerError.Category, _ code: AppStoreServerError.Code? = nil
    ) -> AppStoreServerError {
        AppStoreServerError(category: category, status: nil, code: code, message: "m")
    }

    @Test func aRefusedKeyIsWrongUnlessTheAppWasNeverReleased() {
        let refused = judgement().ofKey(error(.unauthorized), in: .production)
        #expect(refused.level == .wrong)
        #expect(refused.remedy?.contains("KEY") == true && refused.remedy?.contains("In-App Purchase") == true)
        #expect(judgement(isReleased: false).ofKey(error(.unauthorized), in: .production).level == .warning)
        #expect(judgement(isReleased: false).ofKey(error(.unauthorized), in: .sandbox).level == .wrong)
    }

    @Test func aMissingAddressSaysWhereItIsEntered() {
        let missing = error(.notFound, .serverNotificationURLNotFound)
        let finding = judgement().ofNotification(missing, in: .sandbox)
        #expect(finding.level == .wrong)
        #expect(finding.remedy?.contains("App Store Server Notifications") == true)
        #expect(finding.remedy?.contains("sandbox server URL") == true)
    }

    @Test func whatAppleMetIsToldWithARemedy() {
        #expect(judgement().ofAttempt(.success, in: .production).level == .good)
        for result in [SendAttemptResult.timedOut, .tlsIssue, .noResponse, SendAttemptResult(rawValue: "NEW")] {
            let finding = judgement().ofAttempt(result, in: .production)
            #expect(finding.level == .wrong && finding.detail.contains(result.rawValue) && finding.remedy != nil)
        }
        #expect(judgement().ofSilence(.seconds(60), in: .production).level == .warning)
    }

    @Test func everyOtherFailureHasARemedyToo() {
        for category in AppStoreServerError.Category.allCases {
            #expect(judgement().ofKey(error(category), in: .sandbox).remedy?.isEmpty == false)
            #expect(judgement().ofNotification(error(category), in: .sandbox).remedy?.isEmpty == false)
        }
    }
}
