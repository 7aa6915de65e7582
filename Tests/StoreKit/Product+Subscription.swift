// The names are Apple's, and documented at the addresses.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, BeginDocumentationCommentWithOneLineSummary

public import Foundation

extension Product {
    /// developer.apple.com/documentation/storekit/product/subscriptionperiod
    public struct SubscriptionPeriod: Equatable, Hashable, Sendable {
        public enum Unit: Hashable, Sendable {
            case day, week, month, year
        }

        public let unit: Unit
        public let value: Int

        package init(_ value: Int, _ unit: Unit) {
            self.unit = unit
            self.value = value
        }
    }

    /// developer.apple.com/documentation/storekit/product/subscriptionoffer
    public struct SubscriptionOffer: Equatable, Hashable, Sendable {
        public struct OfferType: RawRepresentable, Equatable, Hashable, Sendable {
            public let rawValue: String

            public init(rawValue: String) { self.rawValue = rawValue }

            public static let introductory = OfferType(rawValue: "Introductory")
            public static let promotional = OfferType(rawValue: "Promotional")
            public static let winBack = OfferType(rawValue: "WinBack")
        }

        public struct PaymentMode: RawRepresentable, Equatable, Hashable, Sendable {
            public let rawValue: String

            public init(rawValue: String) { self.rawValue = rawValue }

            public static let payAsYouGo = PaymentMode(rawValue: "PayAsYouGo")
            public static let payUpFront = PaymentMode(rawValue: "PayUpFront")
            public static let freeTrial = PaymentMode(rawValue: "FreeTrial")
        }

        public let id: String?
        public let type: OfferType
        public let price: Decimal
        public let displayPrice: String
        public let period: SubscriptionPeriod
        public let periodCount: Int
        public let paymentMode: PaymentMode

        package init(id: String?, type: OfferType, period: SubscriptionPeriod, paymentMode: PaymentMode) {
            self.id = id
            self.type = type
            price = 0
            displayPrice = "€0.00"
            self.period = period
            periodCount = 1
            self.paymentMode = paymentMode
        }
    }

    /// developer.apple.com/documentation/storekit/product/subscriptioninfo
    public struct SubscriptionInfo: Sendable {
        public let introductoryOffer: SubscriptionOffer?
        public let promotionalOffers: [SubscriptionOffer]
        /// Since iOS 18.
        public let winBackOffers: [SubscriptionOffer]
        public let subscriptionGroupID: String
        public let subscriptionPeriod: SubscriptionPeriod
        let isEligible: Bool

        package init(
            period: SubscriptionPeriod, group: String, introductoryOffer: SubscriptionOffer?,
            winBackOffers: [SubscriptionOffer], isEligible: Bool
        ) {
            subscriptionPeriod = period
            subscriptionGroupID = group
            self.introductoryOffer = introductoryOffer
            promotionalOffers = []
            self.winBackOffers = winBackOffers
            self.isEligible = isEligible
        }

        public var isEligibleForIntroOffer: Bool { get async { isEligible } }
    }
}
