import PurchaseModel

extension Dossier {
    /// The dossier as a person reads it: a heading for each part, and a line or two for each row.
    var text: String {
        let parts: [(String, [String])] = [
            ("in all", countLines),
            (counts == nil ? "submissions" : "submissions that wait, or were refused", submissions.flatMap(\.lines)),
            ("orders", orders.flatMap(\.lines)),
            ("transaction ids", orderTransactions.map(\.line)),
            ("conflicts: data that contradicts the order, nothing was granted by it", purchaseConflicts.map(\.line)),
            ("ledger", ledgerEntries.map(\.line)),
            ("balances of the account", balances.map(\.line)),
            ("entitlements of the account", entitlements.map(\.line)), ("owners", bindings.map(\.line)),
            ("subscription", subscriptions.map(\.line)), ("events", events.map(\.line)),
            ("deliveries", deliveries.map(\.line)), ("calls to Apple", appleCalls.map(\.line)),
            ("by hand", auditLog.map(\.line)), ("shared with it", (shares ?? []).map(\.line)),
            ("spent", (spends ?? []).map(\.line)), ("appAccountTokens", (accountTokens ?? []).map(\.line)),
            ("intents to buy", (purchaseIntents ?? []).map(\.line)), ("consent", (consents ?? []).map(\.line)),
        ]
        return parts.filter { !$0.1.isEmpty }
            .map { heading, lines in ([heading] + lines.map { "  " + $0 }).joined(separator: "\n") }
            .joined(separator: "\n\n")
    }

    /// How many orders and submissions there are of each state; the lists have the newest.
    private var countLines: [String] {
        guard let counts else { return [] }
        guard !counts.isEmpty else { return ["nothing was bought, and nothing posted"] }
        return counts.sorted { $0.key < $1.key }.map { name, count in
            "\(ToolOutput.padded(name.split(separator: "_").joined(separator: " "), 24)) \(count)"
        }
    }

    /// `2026-11-21T03:56:07.568708+00:00` as `2026-11-21 03:56:07Z`; anything else as it is.
    static func time(_ text: String) -> String {
        guard text.count > 19, text.hasSuffix("+00:00") else { return text }
        return text.prefix(10) + " " + text.dropFirst(11).prefix(8) + "Z"
    }
}

extension Dossier.Submission {
    var lines: [String] {
        let end =
            if let settledAt {
                "settled \(Dossier.time(settledAt))"
            } else {
                "due \(dueAt.map(Dossier.time) ?? "never"), sent again \(attempts) times"
            }
        var lines = [
            "\(id)  \(state)\(reason.map { " (\($0))" } ?? "")",
            "  \(account.isEmpty ? "sent by Apple" : "of \(account)") for \(app), \(kind) of \(proofBytes) bytes; received \(Dossier.time(receivedAt)), \(end)",
        ]
        if let namedTransactionId { lines.append("  names the transaction \(namedTransactionId)") }
        if let expectedEnvironment { lines.append("  the app expects \(expectedEnvironment)") }
        if let alarmedAt { lines.append("  ALARM: without an outcome for too long, told \(Dossier.time(alarmedAt))") }
        return lines + ["  correlation \(correlationId)"]
    }
}

extension Dossier.AppleCall {
    var line: String {
        let asked = requestReason.map { " (\($0))" } ?? ""
        let answer = [status.map { "HTTP \($0)" }, code.map { "code \($0)" }, outcome].compactMap(\.self)
        let end = finishedAt.map { " \(Dossier.time($0))" } ?? deadlineAt.map { ", until \(Dossier.time($0))" } ?? ""
        return "\(kind)\(asked) of \(environment) \(transactionId), queued \(Dossier.time(createdAt)): \(state)\(end), "
            + "\(attempts) attempts\(answer.isEmpty ? "" : " (\(answer.joined(separator: ", ")))")\(body.map { ": \($0)" } ?? "")"
    }
}

extension Dossier.Order {
    var lines: [String] {
        var lines = [
            "\(environment) \(transactionId)  \(state)\(reason.map { " (\($0))" } ?? "") \(account.map { "to \($0)" } ?? "to nobody")",
            "  \(quantity) × \(productId) (\(productType)) of \(app)\(price), bought \(Dossier.time(purchaseDate))",
        ]
        if originalTransactionId != transactionId { lines.append("  renews \(originalTransactionId)") }
        if let expiresDate { lines.append("  paid until \(Dossier.time(expiresDate))") }
        if let revocationDate {
            let kind = revocationType.map { " (\($0))" } ?? ""
            let share =
                revocationPercentage.map { Double($0) / 1000 }
                .map { ", \(ToolOutput.number($0, digits: 3)) % of it" } ?? ""
            let heard = revokedAt.map { ", taken up \(Dossier.time($0))" } ?? ""
            lines.append("  revoked by Apple \(Dossier.time(revocationDate))\(kind)\(share)\(heard)")
        }
        if !unusualValues.isEmpty { lines.append("  Apple says \(unusualValues.joined(separator: ", "))") }
        if let testPurchase { lines.append("  a test purchase (\(testPurchase)): nobody paid for it") }
        if let appAccountToken { lines.append("  appAccountToken \(appAccountToken)") }
        lines.append(
            "  brought by \(submissionId), recorded \(Dossier.time(createdAt))"
                + (grantedAt.map { ", granted \(Dossier.time($0))" } ?? "")
                + (grantedElsewhere ? " by the older system" : ""))
        return lines
    }

    /// What it is held for, or a policy decided about.
    private var unusualValues: [String] {
        Vocabulary.unusual(type: ProductType(appleName: productType), ownership: ownership)
            .map { "\($0.field) \($0.text)" } + (bundleField.map { ["a part of a bundle (\($0))"] } ?? [])
    }

    private var price: String {
        guard let priceMilliunits, let currency else { return "" }
        return " at \(ToolOutput.number(Double(priceMilliunits) / 1000, digits: 2)) \(currency)"
    }
}

extension Dossier.OrderTransaction {
    var line: String {
        let order = transactionId == orderTransactionId ? "the order's own" : "of the order \(orderTransactionId)"
        return "\(environment) \(transactionId)  \(order), by \(submissionId), \(Dossier.time(createdAt))"
    }
}

extension Dossier.PurchaseConflict {
    var line: String {
        "\(id): \(environment) \(transactionId) by \(submissionId), \(Dossier.time(createdAt)), contradicts "
            + "\(orderTransactionId) (\(cause)), "
            + (resolvedAt.map { "resolved \(Dossier.time($0))" } ?? "OPEN")
    }
}

extension Dossier.LedgerEntry {
    var line: String {
        "\(environment) \(transactionId ?? "by hand") \(kind) \(sequence): \(amount.magnitude) \(item) "
            + "\(amount < 0 ? "from" : "to") \(account), \(Dossier.time(createdAt))"
    }
}

extension Dossier.Balance {
    var line: String { "\(environment) \(account): \(amount) \(item)" }
}

extension Dossier.Entitlement {
    var line: String {
        "\(environment) \(account): \(entitlement) by \(transactionId), "
            + (revokedAt.map { "taken back \(Dossier.time($0)) (\(revokedBecause ?? "?"))" }
                ?? expiresAt.map { "until \(Dossier.time($0))" } ?? "for ever")
    }
}

extension Dossier.Binding {
    var line: String {
        var causes = [cause]
        if let policy { causes.append("policy \(policy)") }
        if let submissionId { causes.append("submission \(submissionId)") }
        if let auditId { causes.append("audit \(auditId)") }
        return "\(environment) \(originalTransactionId): \(fromAccount ?? "nobody") → \(toAccount), "
            + "\(Dossier.time(createdAt)) (\(causes.joined(separator: ", ")))"
    }
}

extension Dossier.Subscription {
    var line: String {
        "\(environment) \(originalTransactionId)  \(state.rawValue), \(productId) by \(transactionId) "
            + "\(account.map { "of \($0)" } ?? "of nobody"); "
            + (state.hasAccess ? "access until \(Dossier.time(accessUntil))" : "no access")
            + ", so since \(Dossier.time(changedAt))"
    }
}

extension Dossier.Event {
    var line: String {
        let number = sequence.map { ", number \($0) of \(account ?? "")" } ?? ""
        let state = dueAt.map { "not taken over yet, due \(Dossier.time($0))" } ?? "taken over by notification"
        let order = transactionId.map { " of \($0)" } ?? ""
        return "\(id)  \(type)\(order)\(number), \(Dossier.time(createdAt)), \(state)"
    }
}

extension Dossier.Delivery {
    var line: String {
        var line = "\(eventId) to \(endpointId): \(state), \(attempts) attempts"
        if let lastStatus { line += ", last answer \(lastStatus)" }
        if let lastError { line += ", last error: \(lastError)" }
        if let deliveredAt { line += ", delivered \(Dossier.time(deliveredAt))" }
        if let dueAt { line += ", due \(Dossier.time(dueAt))" }
        return line
    }
}

extension Dossier.AuditRow {
    var line: String { "\(Dossier.time(createdAt)) \(actor) \(action) \(subject): \(reason)" }
}

extension Dossier.AccountToken {
    var line: String { "\(token) for \(app), registered \(Dossier.time(createdAt))" }
}

extension Dossier.Intent {
    var line: String { "\(id): \(productId) of \(app), opened \(Dossier.time(createdAt))" }
}

extension Dossier.Share {
    var line: String { "\(environment) \(originalTransactionId) of \(app), since \(Dossier.time(createdAt))" }
}

extension Dossier.Spend {
    var line: String {
        "\(environment) spend \(id) in \(app), \(Dossier.time(createdAt)), key \(idempotencyKey)"
            + (reference.map { ", for \($0)" } ?? "")
    }
}

extension Dossier.Consent {
    var line: String {
        "\(app): Apple \(consented ? "may be told" : "is not told") how much was used, since \(Dossier.time(changedAt))"
    }
}
