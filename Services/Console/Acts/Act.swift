/// What somebody can do here; each is a route of intake's, which writes down who did it and why.
enum Act: String, CaseIterable, Sendable {
    case assign, adjust, extend, retry, resend, ping, enable, disable, forget
    case retryAll = "retry-all"
    case askApple = "ask-apple"

    var permission: Permission {
        switch self {
        case .assign: .assign
        case .adjust: .adjust
        case .extend: .extend
        case .retry, .retryAll: .retry
        case .askApple: .askApple
        case .resend: .resend
        case .ping, .enable, .disable: .changeEndpoints
        case .forget: .forget
        }
    }

    /// Whether intake can say beforehand what it would do.
    var hasDryRun: Bool {
        switch self {
        case .assign, .adjust, .extend, .retry, .retryAll, .resend: true
        case .askApple, .ping, .enable, .disable, .forget: false
        }
    }

    /// What the person fills in, beside the reason.
    var fields: [String] {
        switch self {
        case .assign: ["account"]
        case .adjust: ["item", "amount"]
        case .extend: ["days", "apple_reason"]
        case .askApple, .retry, .retryAll, .resend, .ping, .enable, .disable, .forget: []
        }
    }

    /// What a field may say, where it is chosen.
    func choices(of field: String) -> [String] {
        field == "apple_reason" ? ["customer_satisfaction", "service_issue_or_outage", "other"] : []
    }

    /// What says which purchase, account or endpoint is meant.
    var subjects: [String] {
        switch self {
        case .assign: ["environment", "transaction_id"]
        case .adjust, .forget: ["environment", "account"]
        case .extend: ["environment", "original_transaction_id"]
        case .askApple: ["environment", "transaction_id", "account", "order_id"]
        case .retry: ["submission_id"]
        case .retryAll: ["rejected_reason"]
        case .resend: ["event", "endpoint"]
        case .ping, .enable, .disable: ["endpoint"]
        }
    }

    /// The route, and what it is sent.
    ///
    /// - Throws: `ConsoleTrouble` for a field that has another form.
    func call(_ page: PageRequest, dryRun: Bool) throws -> (path: String, body: JSON) {
        let fields = page.fields
        var body: [String: JSON] = [
            "app": .string(page.app), "reason": .string(fields["reason"] ?? ""),
        ]
        if hasDryRun { body["dry_run"] = .bool(dryRun) }
        func part(_ name: String) -> String { IntakeClient.part(fields[name] ?? "") }
        func add(_ names: String...) {
            for name in names { if let text = fields[name], !text.isEmpty { body[name] = .string(text) } }
        }
        switch self {
        case .assign:
            add("environment", "account")
            return ("/v1/orders/\(part("transaction_id"))/assign", .object(body))
        case .adjust:
            add("environment")
            guard let amount = Int64(fields["amount"] ?? ""), amount != 0, let item = fields["item"], !item.isEmpty
            else { throw ConsoleTrouble(.badRequest, page.texts("adjust.mistake")) }
            body["items"] = .list([["item": .string(item), "amount": .integer(amount)]])
            return ("/v1/accounts/\(part("account"))/adjustments", .object(body))
        case .extend:
            add("environment", "apple_reason")
            guard let days = Int64(fields["days"] ?? "") else {
                throw ConsoleTrouble(.badRequest, page.texts("extend.mistake"))
            }
            body["days"] = .integer(days)
            return ("/v1/subscriptions/\(part("original_transaction_id"))/extend", .object(body))
        case .retry:
            body["submissions"] = .list([.string(fields["submission_id"] ?? "")])
            return ("/v1/submissions/retry", .object(body))
        case .retryAll:
            add("rejected_reason")
            return ("/v1/submissions/retry", .object(body))
        case .askApple:
            add("environment", "transaction_id", "account", "order_id")
            return ("/v1/sweeps", .object(body))
        case .resend:
            add("event", "endpoint")
            return ("/v1/webhooks/resend", .object(body))
        case .ping, .enable, .disable:
            return ("/v1/webhooks/endpoints/\(part("endpoint"))/\(rawValue)", .object(body))
        case .forget:
            return ("/v1/accounts/\(part("account"))/forget", .object(body))
        }
    }
}
