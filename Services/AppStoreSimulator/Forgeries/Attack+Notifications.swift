import Foundation

/// Server notifications that the store did not send, or did not send like this (apple-facts C6, step 7).
extension Attack {
    static let notifications = [
        Attack(
            "notification_unsigned", "A REFUND that nobody signed: alg is none.",
            goodBackend: "It is refused, and nothing is revoked."
        ) { material in
            let (_, payload) = try await material.refundNotification()
            return [.notification(material.unsigned(payload))]
        },
        Attack(
            "notification_self_made", "A REFUND below the attacker's own root.",
            goodBackend: "It is refused, and nothing is revoked."
        ) { material in
            let (_, payload) = try await material.refundNotification()
            return [.notification(try material.signAsStranger(payload))]
        },
        Attack(
            "notification_edited", "A genuine ONE_TIME_CHARGE that was made a REFUND.",
            goodBackend: "It is refused: the signature is of another payload."
        ) { material in
            let transaction = try await material.buy()
            let app = try await material.app()
            let genuine = material.notification(
                .oneTimeCharge, app: app, environment: transaction.environment,
                transaction: try material.sign(transaction))
            var edited = PayloadText(genuine)
            edited["notificationType"] = JSONText.quoted(NotificationType.refund.rawValue)
            return [.notification(try ForgeryMaterial.editing(try material.signer.sign(genuine), edited.text))]
        },
        Attack(
            "notification_xcode", "A self-made notification whose environment is Xcode.",
            goodBackend: "It is refused: what it says of itself does not choose how it is checked."
        ) { material in
            let (_, payload) = try await material.refundNotification()
            var text = PayloadText(payload)
            var data = PayloadText(text["data"] ?? "{}")
            data["environment"] = "\"Xcode\""
            text["data"] = data.text
            return [.notification(try material.signAsStranger(text.text))]
        },
        Attack(
            "transaction_as_notification", "A genuine transaction posted where notifications go.",
            goodBackend: "It is refused: it has no notificationType."
        ) { material in
            [.notification(try material.sign(try await material.buy()))]
        },
        Attack(
            "notification_about_nobody", "A genuine REFUND of a transaction that no customer ever posted.",
            goodBackend: "It is kept or dropped, but never attached to some customer."
        ) { material in
            let (_, payload) = try await material.refundNotification()
            return [.notification(try material.signer.sign(payload))]
        },
        Attack(
            "notification_replayed", "A genuine notification that is sent ten times: the same UUID.",
            goodBackend: "It is answered 200 each time and has its effect once."
        ) { material in
            let (_, payload) = try await material.refundNotification()
            return [Artefact(kind: .notification, value: try material.signer.sign(payload), times: 10)]
        },
    ]

    static let nested = [
        Attack(
            "notification_of_another_app", "A genuine notification of another app, sent to this one's address.",
            goodBackend: "It is refused: bundleId and appAppleId are not ours."
        ) { material in
            let other = try await material.buy { $0.bundleId += ".other" }
            let payload = material.notification(
                .oneTimeCharge, app: try await material.app(other.bundleId), environment: other.environment,
                transaction: try material.sign(other))
            return [.notification(try material.signer.sign(payload))]
        },
        Attack(
            "notification_of_another_number", "A notification with our bundle id and another app's appAppleId.",
            goodBackend: "It is refused: in production both must be ours."
        ) { material in
            let transaction = try await material.buy { $0.environment = .production }
            var app = try await material.app()
            app.appAppleId += 1
            let payload = material.notification(
                .oneTimeCharge, app: app, environment: .production, transaction: try material.sign(transaction))
            return [.notification(try material.signer.sign(payload))]
        },
        Attack(
            "nested_transaction_of_another_app",
            "A notification of ours that carries the genuine transaction of another app.",
            goodBackend: "It is refused: the transaction's bundleId is not the notification's."
        ) { material in
            let other = try await material.buy { $0.bundleId += ".other" }
            let payload = material.notification(
                .oneTimeCharge, app: try await material.app(), environment: other.environment,
                transaction: try material.sign(other))
            return [.notification(try material.signer.sign(payload))]
        },
        Attack(
            "nested_transaction_of_sandbox", "A production notification that carries a genuine sandbox transaction.",
            goodBackend: "It is refused: the transaction's environment is not the notification's."
        ) { material in
            let transaction = try await material.buy { $0.environment = .sandbox }
            let payload = material.notification(
                .oneTimeCharge, app: try await material.app(), environment: .production,
                transaction: try material.sign(transaction))
            return [.notification(try material.signer.sign(payload))]
        },
        Attack(
            "nested_transaction_self_made",
            "A notification that is signed well and carries a transaction below the attacker's root.",
            goodBackend: "It is refused: what is nested is verified as if it came alone."
        ) { material in
            let transaction = try await material.buy()
            let nested = try material.signAsStranger(transaction.payload(signedDate: material.now))
            let payload = material.notification(
                .oneTimeCharge, app: try await material.app(), environment: transaction.environment,
                transaction: nested)
            return [.notification(try material.signer.sign(payload))]
        },
        Attack(
            "nested_renewal_info_of_another",
            "A notification with a transaction and the renewal info of another subscription.",
            goodBackend: "It is refused: renewal info has no bundleId, so its originalTransactionId must agree."
        ) { material in
            let transaction = try await material.buy()
            let other = try await material.buy()
            let payload = material.notification(
                .didRenew, app: try await material.app(), environment: transaction.environment,
                transaction: try material.sign(transaction),
                renewalInfo: try material.renewalInfo(
                    of: transaction, originalTransactionId: other.originalTransactionId))
            return [.notification(try material.signer.sign(payload))]
        },
    ]
}

extension AttackMaterial {
    /// A transaction, and the payload of its REFUND.
    fileprivate func refundNotification() async throws -> (transaction: TransactionRecord, payload: String) {
        var transaction = try await buy()
        transaction.revocationDate = now / 1_000 * 1_000
        transaction.revocationReason = 0
        transaction.revocationType = .refundFull
        transaction.revocationPercentage = 100_000
        let payload = notification(
            .refund, app: try await app(), environment: transaction.environment, transaction: try sign(transaction))
        return (transaction, payload)
    }
}
