import AppStoreServerAPI
import PurchaseModel

extension ConsumptionRequest {
    /// What Apple is sent; the customer has consented, or there is no answer.
    ///
    /// `countersign refunds preview` shows the same.
    init(_ answer: ConsumptionAnswer) {
        self.init(
            customerConsented: true, sampleContentProvided: answer.hasSample,
            deliveryStatus: answer.isDelivered ? .delivered : .undeliveredOther,
            consumptionPercentage: answer.consumed,
            refundPreference: answer.preference.map { RefundPreference(rawValue: $0.rawValue.uppercased()) })
    }
}

extension ConsumptionRequestV1 {
    /// The same in the first version's words; what is not known is undeclared, and no token is told.
    init(_ answer: ConsumptionAnswer) {
        self.init(customerConsented: true, sampleContentProvided: answer.hasSample)
        deliveryStatus = answer.isDelivered ? .delivered : .other
        consumptionStatus =
            switch answer.consumed {
            case nil: .undeclared
            case .some(0): .notConsumed
            case .some(ConsumptionAnswer.whole...): .fullyConsumed
            case .some: .partiallyConsumed
            }
        platform = .apple
        refundPreference =
            switch answer.preference {
            case nil: nil
            case .decline: .preferDecline
            case .grantFull, .grantProrated: .preferGrant
            }
    }
}
