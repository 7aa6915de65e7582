package import Foundation
package import PurchaseModel

/// By how much a subscription's renewal date is to be extended, and why: what Apple is asked for.
package struct RenewalExtension: Codable, Sendable, Hashable {
    package enum Limit {
        /// Days of one extension (Apple, ExtendRenewalDateRequest).
        package static let days = 1...90
    }

    /// Why, in Apple's words.
    package enum Reason: String, Codable, Sendable, CaseIterable {
        case undeclared
        case customerSatisfaction = "customer_satisfaction"
        case other
        case serviceIssueOrOutage = "service_issue_or_outage"
    }

    /// Whole days, 1 to 90.
    package let days: Int
    package let reason: Reason
    /// A UUID by which the request is known at Apple.
    package let requestIdentifier: String

    enum CodingKeys: String, CodingKey {
        case days, reason
        case requestIdentifier = "request_identifier"
    }

    /// An extension with a request identifier of its own.
    package init(days: Int, reason: Reason) {
        self.days = days
        self.reason = reason
        requestIdentifier = UUID().uuidString.lowercased()
    }
}

/// An extension that somebody asked for, and what came of it.
package struct AskedExtension: Sendable {
    package let id: Int64
    package let environment: StoreEnvironment
    /// As Apple is asked about it.
    package let originalTransactionId: String
    package let asked: RenewalExtension
    package let state: AppleCallStore.State
    package let createdAt: Date
    package let finishedAt: Date?
    /// When the subscription renews now, as Apple said.
    package let renewsAt: Date?
    /// Of Apple's last answer, HTTP.
    package let status: Int?
    /// Apple's number in it.
    package let code: Int64?
    /// Why, in a word, where it was not done.
    package let outcome: String?
    package let auditId: Int64?
    package let actor: String?
    /// Why, in the words of who asked.
    package let note: String?
}
