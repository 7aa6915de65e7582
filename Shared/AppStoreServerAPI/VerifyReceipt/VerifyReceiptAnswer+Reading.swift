import Foundation

extension VerifyReceiptAnswer {
    /// Reads the body of an answer.
    ///
    /// - Throws: ``AppStoreServerError`` of the category `unreadable` when it is no answer of `verifyReceipt`; never with
    ///   anything of what it says.
    init(
        reading body: Data, httpStatus: Int, from environment: AppStoreEnvironment, hasSentSharedSecret: Bool
    ) throws {
        guard let wire = try? JSONDecoder().decode(Wire.self, from: body) else {
            throw AppStoreServerError.unreadable(httpStatus, "the answer is not one of verifyReceipt")
        }
        guard !RepeatedNames.occur(in: Array(body)) else {
            throw AppStoreServerError.unreadable(httpStatus, "the answer says something twice")
        }
        guard wire.receipt != nil || !wire.status.isValid else {
            throw AppStoreServerError.unreadable(httpStatus, "the answer calls a receipt valid and has none")
        }
        self.init(
            environment: environment, status: wire.status, isRetryable: wire.isRetryable,
            hasSentSharedSecret: hasSentSharedSecret)
        guard wire.status.isValid, let stated = wire.receipt else { return }
        var receipt = stated.receipt
        receipt.environment = wire.environment
        self.receipt = receipt
        (purchases, unreadablePurchases) = wire.statements.read
        pendingRenewals = wire.renewals
    }

    /// The whole answer.
    private struct Wire: Decodable {
        let status: VerifyReceiptStatus
        let isRetryable: Bool?
        let environment: EnvironmentName?
        let receipt: StatedReceipt?
        let statements: PurchaseStatements
        let renewals: [PendingRenewal]

        init(from decoder: any Decoder) throws {
            let fields = try AnswerFields(decoder)
            guard let number = fields.integer("status").known else {
                throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "no status"))
            }
            status = VerifyReceiptStatus(rawValue: number)
            // Documented with a hyphen, sent with an underscore.
            isRetryable = fields.flag("is-retryable").known ?? fields.flag("is_retryable").known
            environment = fields.text("environment").known.map(EnvironmentName.init(rawValue:))
            receipt = try? fields.container.decodeIfPresent(StatedReceipt.self, forKey: .init("receipt"))
            var statements = PurchaseStatements()
            statements.add(receipt?.entries ?? [], areInReceipt: true)
            // Of a receipt of a single transaction (iOS 6 style) that has expired: 21006.
            statements.add(fields.entries("latest_expired_receipt_info"))
            statements.add(fields.entries("latest_receipt_info"))
            self.statements = statements
            renewals = Self.renewals(fields, receipt)
        }

        private static func renewals(_ fields: AnswerFields, _ receipt: StatedReceipt?) -> [PendingRenewal] {
            // Beside a single transaction (iOS 6 style) it is not in a list.
            if fields.has("auto_renew_status"), let id = receipt?.singleLineage { return [PendingRenewal(id, fields)] }
            var renewals: [PendingRenewal] = []
            var places: [String: Int] = [:]
            for entry in fields.entries("pending_renewal_info", of: StatedRenewal.self) {
                guard let renewal = entry?.renewal else { continue }
                if let place = places[renewal.originalTransactionId] {
                    renewals[place] = renewal
                } else {
                    places[renewal.originalTransactionId] = renewals.count
                    renewals.append(renewal)
                }
            }
            return renewals
        }
    }

    /// What stands under `receipt`.
    private struct StatedReceipt: Decodable {
        let receipt: Receipt
        let entries: [PurchaseStatement?]
        /// The original transaction id of a receipt of a single transaction; nil of an app's receipt.
        let singleLineage: String?

        init(from decoder: any Decoder) throws {
            let fields = try AnswerFields(decoder)
            let isSingle = !fields.has("in_app") && fields.has("transaction_id")
            singleLineage = isSingle ? fields.identifier("original_transaction_id").known : nil
            entries = isSingle ? [PurchaseStatement(fields)] : fields.entries("in_app")
            receipt = Receipt(
                bundleId: fields.text("bundle_id").known ?? fields.text("bid").known,
                appAppleId: fields.integer(isSingle ? "app_item_id" : "adam_id").known,
                type: fields.text("receipt_type").known,
                creationDate: fields.date("receipt_creation_date").known,
                requestDate: fields.date("request_date").known,
                applicationVersion: fields.text(isSingle ? "bvrs" : "application_version").known,
                originalApplicationVersion: fields.text("original_application_version").known,
                originalPurchaseDate: isSingle ? nil : fields.date("original_purchase_date").known,
                isSingleTransaction: isSingle)
        }
    }

    private struct StatedRenewal: Decodable {
        let renewal: PendingRenewal?

        init(from decoder: any Decoder) throws {
            let fields = try AnswerFields(decoder)
            let id = fields.identifier("original_transaction_id").known
            renewal = id.map { PendingRenewal($0, fields) }
        }
    }
}

extension AnswerFields {
    /// The entries of a list; what is neither a list nor an object is one entry that cannot be read.
    func entries<Entry: Decodable>(_ name: String, of type: Entry.Type = PurchaseStatement.self) -> [Entry?] {
        container.entries(Name(name))
    }
}

extension VerifyReceiptAnswer.PendingRenewal {
    fileprivate init(_ originalTransactionId: String, _ fields: AnswerFields) {
        self.init(
            originalTransactionId: originalTransactionId, productId: fields.text("product_id").known,
            autoRenewProductId: fields.text("auto_renew_product_id").known,
            willAutoRenew: fields.flag("auto_renew_status").known,
            expirationIntent: fields.text("expiration_intent").known,
            isInBillingRetryPeriod: fields.flag("is_in_billing_retry_period").known,
            gracePeriodExpiresDate: fields.date("grace_period_expires_date").known,
            priceIncreaseStatus: fields.text("price_increase_status").known
                ?? fields.text("price_consent_status").known)
    }
}
