import AppStoreServerAPI
import Persistence

extension ExtendRenewalDateRequest {
    /// What somebody asked for, in Apple's words.
    init(_ asked: RenewalExtension) {
        let reason: ExtendReasonCode =
            switch asked.reason {
            case .undeclared: .undeclared
            case .customerSatisfaction: .customerSatisfaction
            case .other: .other
            case .serviceIssueOrOutage: .serviceIssueOrOutage
            }
        self.init(extendByDays: asked.days, extendReasonCode: reason, requestIdentifier: asked.requestIdentifier)
    }
}

extension AppStoreServerError {
    /// Apple answered as it should, and said that it did not extend the subscription.
    static let notExtended = AppStoreServerError(
        category: .invalidRequest, status: 200, code: nil, message: "the answer says success: false")
}
