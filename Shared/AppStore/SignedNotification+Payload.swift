import Foundation

extension SignedDataVerifier {
    /// Verifies a server notification and everything that is signed in it (C6, step 7).
    ///
    /// What is nested is verified as if it came alone, and must be of the notification's app and environment. Whatever
    /// Apple does not write in one of them is a disagreement too.
    ///
    /// - Parameters:
    ///   - jws: the compact form: the `signedPayload` that Apple posts.
    ///   - app: whose it must be; in production its `appAppleId` is checked too when it is known.
    /// - Returns: the notification, or the first check that failed; of what is nested, `detail` names the field.
    public func notification(_ jws: [UInt8], app: AppIdentity) -> Result<SignedNotification, SignedDataRejection> {
        do {
            let content = try verified(jws).get()
            return .success(try SignedNotification(content, app: app, verifier: self))
        } catch {
            return .failure(error)
        }
    }
}

extension SignedNotification {
    init(_ content: SignedContent, app: AppIdentity, verifier: SignedDataVerifier) throws(SignedDataRejection) {
        var fields = PayloadFields(content.fields)
        guard fields.has("notificationType") else {
            throw SignedDataRejection(.notANotification, "no notificationType")
        }
        notificationType = NotificationType(rawValue: try fields.required("notificationType"))
        notificationUUID = try fields.required("notificationUUID")
        // What a notification does depends on it.
        subtype = try fields.strictString("subtype").map(Subtype.init(rawValue:))
        signedDate = content.signedDate
        version = fields.string("version")

        let kinds = Kind.allCases.filter { fields.has($0.rawValue) }
        guard kinds.count == 1, let kind = kinds.first, var inner = try fields.strictObject(kind.rawValue) else {
            throw SignedDataRejection(.notificationContent, "\(kinds.count) of the four contents, not 1")
        }
        let statedBundleId = try inner.strictString("bundleId").flatMap { $0.isEmpty ? nil : $0 }
        // Apple leaves it out of one in a million; then the transaction inside must say whose it is.
        guard statedBundleId != nil || kind == .data && inner.has("signedTransactionInfo") else {
            throw SignedDataRejection(.fieldMissing, "no bundleId")
        }
        bundleId = statedBundleId ?? app.bundleId
        appAppleId = try inner.strictInteger("appAppleId", in: 1...Int64.max)
        environment = try Self.environment(of: inner, kind)
        guard app.isNamed(bundleId) else {
            throw SignedDataRejection(.bundleMismatch, "the notification is another app's")
        }
        try SignedDataEnvironment.check(environment)
        try app.checkNumber(appAppleId, in: environment)

        let frame = Frame(
            app: app, isAppKnown: statedBundleId != nil, environment: environment, appAppleId: appAppleId,
            type: notificationType)
        self.content =
            switch kind {
            case .data: .data(try PurchaseData(&inner, frame, verifier))
            case .summary: .summary(try Summary(&inner))
            case .externalPurchaseToken: .externalPurchaseToken(try ExternalPurchaseToken(&inner))
            case .appData: .appData(try AppData(&inner, frame, verifier))
            }
        certificatesExpire = min(content.certificatesExpire, self.content.certificatesExpire)
        unreadableFields = fields.unreadable + inner.unreadable.map { "\(kind.rawValue).\($0)" }
        unknownFields =
            fields.names(besides: Self.knownFields)
            + inner.names(besides: kind.knownFields).map { "\(kind.rawValue).\($0)" }
        payload = content.fields.text
    }

    /// An external purchase token names no environment: only its id says it (Apple's library reads it so too).
    private static func environment(
        of inner: PayloadFields, _ kind: Kind
    ) throws(SignedDataRejection) -> SignedDataEnvironment {
        guard kind == .externalPurchaseToken else {
            return SignedDataEnvironment(rawValue: try inner.required("environment"))
        }
        return try inner.required("externalPurchaseId").utf8.starts(with: "SANDBOX".utf8) ? .sandbox : .production
    }

    private static let knownFields = Set(Kind.allCases.map(\.rawValue)).union([
        "notificationType", "subtype", "notificationUUID", "version", "signedDate",
    ])

    /// The four contents, one of which a notification has.
    private enum Kind: String, CaseIterable {
        case data
        case summary
        case externalPurchaseToken
        case appData

        var knownFields: Set<String> {
            switch self {
            case .data:
                [
                    "environment", "appAppleId", "bundleId", "bundleVersion", "signedTransactionInfo",
                    "signedRenewalInfo", "status", "consumptionRequestReason",
                ]
            case .summary:
                [
                    "environment", "appAppleId", "bundleId", "productId", "requestIdentifier", "storefrontCountryCodes",
                    "succeededCount", "failedCount",
                ]
            case .externalPurchaseToken:
                [
                    "externalPurchaseId", "tokenCreationDate", "appAppleId", "bundleId", "tokenType",
                    "tokenExpirationDate",
                ]
            case .appData: ["appAppleId", "bundleId", "environment", "signedAppTransactionInfo"]
            }
        }
    }

    /// What the outside says, with which the inside must agree.
    fileprivate struct Frame {
        let app: AppIdentity
        /// Whether the outside names the app.
        let isAppKnown: Bool
        let environment: SignedDataEnvironment
        let appAppleId: Int64?
        let type: NotificationType

        func check(_ name: String, environment nested: SignedDataEnvironment?) throws(SignedDataRejection) {
            guard nested == environment else {
                throw SignedDataRejection(.nestedEnvironmentMismatch, "\(name) is of another environment, or of none")
            }
        }

        /// What is nested in a field, in the words of the notification when it is refused.
        func verified<Value>(
            _ name: String, _ result: Result<Value, SignedDataRejection>
        ) throws(SignedDataRejection) -> Value {
            switch result {
            case .success(let value): return value
            case .failure(let rejection):
                let code: RejectionCode =
                    switch rejection.code {
                    case .bundleMismatch: .nestedBundleMismatch
                    case .appAppleIdMismatch: .nestedAppAppleIdMismatch
                    default: rejection.code
                    }
                throw SignedDataRejection(code, "\(name): \(rejection.detail)")
            }
        }
    }
}

extension SignedNotification.Content {
    /// When the first certificate expires of what is signed in it; never, where nothing is.
    fileprivate var certificatesExpire: Date {
        switch self {
        case .data(let data):
            min(
                data.transaction?.certificatesExpire ?? .distantFuture,
                data.renewalInfo?.certificatesExpire ?? .distantFuture)
        case .appData(let data): data.appTransaction?.certificatesExpire ?? .distantFuture
        case .summary, .externalPurchaseToken: .distantFuture
        }
    }
}

extension SignedNotification.PurchaseData {
    fileprivate init(
        _ fields: inout PayloadFields, _ frame: SignedNotification.Frame, _ verifier: SignedDataVerifier
    ) throws(SignedDataRejection) {
        let signedTransaction = try fields.strictString("signedTransactionInfo")
        let signedRenewalInfo = try fields.strictString("signedRenewalInfo")
        if frame.type == .test, signedTransaction != nil || signedRenewalInfo != nil {
            throw SignedDataRejection(.nestedInTest, "a TEST is about nothing")
        }
        var verifiedTransaction: SignedTransaction?
        if let signedTransaction {
            let name = "signedTransactionInfo"
            let found = try frame.verified(
                name, verifier.transaction(Array(signedTransaction.utf8), app: frame.app, isAppKnown: frame.isAppKnown))
            try frame.check(name, environment: found.environment)
            verifiedTransaction = found
        }
        transaction = verifiedTransaction
        if let signedRenewalInfo {
            let name = "signedRenewalInfo"
            // Apple may send it without a transaction; then the notification alone says whose it is.
            let found = try frame.verified(
                name,
                verifier.renewalInfo(
                    Array(signedRenewalInfo.utf8), originalTransactionId: verifiedTransaction?.originalTransactionId))
            try frame.check(name, environment: found.environment)
            renewalInfo = found
        } else {
            renewalInfo = nil
        }
        bundleVersion = fields.string("bundleVersion")
        status = fields.integer("status").map(SignedNotification.SubscriptionStatus.init(rawValue:))
        consumptionRequestReason = fields.string("consumptionRequestReason")
            .map(SignedNotification.ConsumptionRequestReason.init(rawValue:))
    }
}

extension SignedNotification.AppData {
    fileprivate init(
        _ fields: inout PayloadFields, _ frame: SignedNotification.Frame, _ verifier: SignedDataVerifier
    ) throws(SignedDataRejection) {
        let name = "signedAppTransactionInfo"
        guard let signed = try fields.strictString(name) else {
            appTransaction = nil
            return
        }
        guard frame.type != .test else { throw SignedDataRejection(.nestedInTest, "a TEST is about nothing") }
        let found = try frame.verified(name, verifier.appTransaction(Array(signed.utf8), app: frame.app))
        try frame.check(name, environment: found.receiptType)
        // When we do not know our number, the two must still be the same.
        if let number = found.appAppleId, let outer = frame.appAppleId, number != outer {
            throw SignedDataRejection(.nestedAppAppleIdMismatch, "\(name) has another appAppleId")
        }
        appTransaction = found
    }
}

extension SignedNotification.Summary {
    fileprivate init(_ fields: inout PayloadFields) throws(SignedDataRejection) {
        requestIdentifier = try fields.required("requestIdentifier")
        productId = try fields.required("productId")
        storefrontCountryCodes = fields.strings("storefrontCountryCodes")
        succeededCount = fields.integer("succeededCount")
        failedCount = fields.integer("failedCount")
    }
}

extension SignedNotification.ExternalPurchaseToken {
    fileprivate init(_ fields: inout PayloadFields) throws(SignedDataRejection) {
        externalPurchaseId = try fields.required("externalPurchaseId")
        tokenCreationDate = try fields.requiredDate("tokenCreationDate")
        tokenExpirationDate = try fields.strictDate("tokenExpirationDate")
        tokenType = fields.string("tokenType")
    }
}
