import AppStore
import Messages
import PurchaseModel
import ServiceRuntime

/// The latest period of a subscription and its renewal info, as Get All Subscription Statuses gave them: two JWS, a line each.
extension OfflineJudge {
    /// What becomes of a status that the sweep took in; nobody claims what is in it.
    func subscriptionStatus(
        _ proof: String, of app: AppsFile.App, _ submission: SubmissionMessage
    ) -> OfflineJudgement {
        let lines = proof.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard lines.count == 2 else {
            return .found(Finding(.rejected(.payloadInvalid, detail: "a status is a transaction and a renewal info")))
        }
        switch posted(lines[0], of: app, submission, isAppKnown: true) {
        case .failure(let refusal): return .found(Finding(refusal.verdict))
        case .success(let transaction):
            guard let environment = transaction.environment, transaction.isVouchedFor else {
                return .found(Finding(.rejected(.payloadInvalid, detail: "a status is what Apple has just signed")))
            }
            switch signedData.renewalInfo(
                Array(lines[1].utf8), originalTransactionId: transaction.originalTransactionId)
            {
            case .failure(let rejection): return .found(Finding(Self.verdict(rejection)))
            case .success(let info):
                guard info.environment.flatMap({ StoreEnvironment(appleName: $0.rawValue) }) == environment else {
                    return .found(
                        Finding(.rejected(.payloadInvalid, detail: "the renewal info is of another environment")))
                }
                guard !info.unreadableFields.contains("appAccountToken") else {
                    return .found(.unknown(.accountTokenUnreadable, after: RetryTime.unreadable))
                }
                let verdict = EnvironmentFirewall.pass(
                    [transaction], proved: environment, policy: app.sandbox, expected: submission.expectedEnvironment)
                guard case .genuine = verdict else { return .found(Finding(verdict)) }
                return .found(
                    Finding(verdict, claims: [], renewals: [RenewalStatement(info, environment: environment)]))
            }
        }
    }
}
