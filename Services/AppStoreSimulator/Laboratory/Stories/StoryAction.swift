/// Something that a step can do: its name, what it may be told, and where that goes.
struct StoryAction: Sendable {
    /// What a field holds.
    enum Kind: String, Sendable {
        case text = "a text"
        case whole = "a whole number"
        case flag = "true or false"
        case map = "a mapping"
        case any = "a value"
        /// The name of an account of the story.
        case account = "an account of the story"
        case device = "a device of the story"
        case environment = "Production or Sandbox"
        /// `P1M`, `36h`, `90m`, `10s`, or milliseconds.
        case duration = "a duration such as P1M, 36h, 90m or 10s"
    }

    struct Field: Sendable {
        let name: String
        var kind = Kind.text
        var isRequired = false
        /// The control API's name, where it is another one.
        var sentAs: String?
    }

    /// Who does it.
    enum Call: Sendable {
        /// The control API: fields named in the path go there, the rest into the body, or the query of a GET.
        case control(String, String)
        /// The runner itself.
        case runner(Special)
    }

    enum Special: Sendable {
        case setClock, faults, api, verifyReceipt, receiver, backend, control
    }

    let name: String
    /// Which field is meant when the step gives a single value: `refund: "${x}"`.
    var scalarField: String?
    let fields: [Field]
    let call: Call
    /// Further fields are passed on as they are.
    var isOpen = false
    /// Whether the app's bundle id goes along in the body or query.
    var namesApp = false

    /// Whether the runner itself does it, and this.
    func isDone(by special: Special) -> Bool {
        if case .runner(let own) = call { own == special } else { false }
    }

    /// The action of that name.
    static func named(_ name: String) -> StoryAction? { byName[name] }

    /// All names, for error messages.
    static var names: [String] { all.map(\.name) }

    private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    private static let all = selling + living + looking + misbehaving + direct

    private static let transaction = Field(name: "transaction", isRequired: true)
    private static let subscription = Field(name: "subscription", isRequired: true)
    private static let account = Field(name: "account", kind: .account, isRequired: true)
    private static let environment = Field(name: "environment", kind: .environment)
    private static let product = Field(name: "product", isRequired: true)

    private static let selling = [
        StoryAction(
            name: "buy",
            fields: [
                Field(name: "account", kind: .account), Field(name: "product", isRequired: true, sentAs: "productId"),
                Field(name: "device", kind: .device), environment, Field(name: "quantity", kind: .whole),
                Field(name: "appAccountToken"), Field(name: "price", kind: .whole), Field(name: "currency"),
                Field(name: "storefront"), Field(name: "offer", kind: .map), Field(name: "count", kind: .whole),
                Field(name: "type"), Field(name: "expiresDate", kind: .whole), Field(name: "originalTransactionId"),
            ], call: .control("POST", "sales"), namesApp: true),
        onId("approve", "deferred", "POST", "deferred/{deferred}/approve"),
        onId("disapprove", "deferred", "POST", "deferred/{deferred}/decline"),
        onId("finish", "transaction", "POST", "transactions/{transaction}/finish"),
        StoryAction(
            name: "restore", scalarField: "device",
            fields: [
                Field(name: "device", kind: .device, isRequired: true), environment, Field(name: "purchaseDate"),
                Field(name: "originalPurchaseDate"),
            ], call: .control("POST", "devices/{device}/restore"), namesApp: true),
        StoryAction(
            name: "regrant", scalarField: "transaction",
            fields: [transaction, Field(name: "device", kind: .device), Field(name: "count", kind: .whole)],
            call: .control("POST", "transactions/{transaction}/regrant")),
        StoryAction(
            name: "sign",
            fields: [
                transaction, Field(name: "fields", kind: .map), Field(name: "renewalInfo", kind: .map),
                Field(name: "notification", kind: .map), Field(name: "keep", kind: .flag),
            ], call: .control("POST", "transactions/{transaction}/sign")),
        StoryAction(
            name: "move", scalarField: "subscription", fields: [subscription, Field(name: "to")],
            call: .control("POST", "subscriptions/{subscription}/move")),
    ]

    private static let living = [
        StoryAction(
            name: "advance", scalarField: "by", fields: [Field(name: "by", kind: .duration, isRequired: true)],
            call: .control("POST", "clock/advance")),
        StoryAction(
            name: "set-clock", scalarField: "to", fields: [Field(name: "to", kind: .any, isRequired: true)],
            call: .runner(.setClock)),
        StoryAction(
            name: "refund-request", scalarField: "transaction", fields: [transaction, Field(name: "reason")],
            call: .control("POST", "transactions/{transaction}/refund-request")),
        StoryAction(
            name: "refund", scalarField: "transaction",
            fields: [
                transaction, Field(name: "percentage", kind: .whole), Field(name: "reason", kind: .whole),
                Field(name: "revokes"),
            ],
            call: .control("POST", "transactions/{transaction}/refund")),
        onId("decline-refund", "transaction", "POST", "transactions/{transaction}/decline-refund"),
        onId("reverse-refund", "transaction", "POST", "transactions/{transaction}/reverse-refund"),
        onSubscription("auto-renew", Field(name: "on", kind: .flag, isRequired: true)),
        StoryAction(
            name: "plan",
            fields: [
                subscription, Field(name: "product", isRequired: true, sentAs: "productId"),
                Field(name: "offer", kind: .map),
            ], call: .control("POST", "subscriptions/{subscription}/plan")),
        onSubscription("payment", Field(name: "fails", kind: .flag, isRequired: true)),
        onSubscription("price-consent", Field(name: "agrees", kind: .flag, isRequired: true)),
        onSubscription("extend", Field(name: "days", kind: .whole, isRequired: true)),
        StoryAction(
            name: "price-increase",
            fields: [
                product, Field(name: "price", kind: .whole, isRequired: true),
                Field(name: "needsConsent", kind: .flag, isRequired: true), Field(name: "effectiveDate", kind: .any),
            ], call: .control("POST", "apps/{bundleId}/products/{product}/price-increase")),
        onId("stop-selling", "product", "POST", "apps/{bundleId}/products/{product}/stop-selling"),
        StoryAction(name: "account", fields: [account], call: .control("PUT", "accounts/{account}"), isOpen: true),
        StoryAction(
            name: "device", fields: [Field(name: "device", kind: .device, isRequired: true), account],
            call: .control("PUT", "devices/{device}")),
        StoryAction(name: "app", fields: [], call: .control("PUT", "apps/{bundleId}"), isOpen: true),
        StoryAction(
            name: "leave-family", scalarField: "account", fields: [account],
            call: .control("POST", "accounts/{account}/leave-family")),
        StoryAction(
            name: "family-share", fields: [transaction, account, Field(name: "webOrderLineItem")],
            call: .control("POST", "transactions/{transaction}/family-share")),
        StoryAction(
            name: "stop-sharing", scalarField: "transaction", fields: [transaction, Field(name: "revokes")],
            call: .control("POST", "transactions/{transaction}/stop-sharing")),
        StoryAction(
            name: "rescind-consent", scalarField: "account", fields: [account, environment],
            call: .control("POST", "accounts/{account}/rescind-consent"), namesApp: true),
        StoryAction(
            name: "external-purchase",
            fields: [environment, Field(name: "tokenType"), Field(name: "expiresIn", kind: .duration)],
            call: .control("POST", "external-purchase-tokens"), namesApp: true),
        onId("report-external-purchase", "token", "POST", "external-purchase-tokens/{token}/report"),
    ]

    private static let looking = [
        StoryAction(
            name: "receipt", scalarField: "account",
            fields: [
                account, Field(name: "device", kind: .device), environment, Field(name: "fraction", kind: .whole),
            ],
            call: .control("GET", "receipts"), namesApp: true),
        StoryAction(
            name: "app-transaction", scalarField: "account",
            fields: [account, Field(name: "device", kind: .device), environment],
            call: .control("GET", "app-transactions"), namesApp: true),
        StoryAction(
            name: "device-transactions", scalarField: "device",
            fields: [Field(name: "device", kind: .device, isRequired: true), environment],
            call: .control("GET", "devices/{device}/transactions"), namesApp: true),
        onId("transaction", "transaction", "GET", "transactions/{transaction}"),
        onId("subscription", "subscription", "GET", "subscriptions/{subscription}"),
        StoryAction(
            name: "consumption-answers", scalarField: "transactionId",
            fields: [Field(name: "transactionId", isRequired: true)], call: .control("GET", "consumption-answers")),
        onId("notification", "uuid", "GET", "notifications/{uuid}"),
        onId("resend", "uuid", "POST", "notifications/{uuid}/resend"),
        StoryAction(
            name: "verify-receipt", scalarField: "receipt",
            fields: [
                Field(name: "receipt", isRequired: true), environment, Field(name: "password"),
                Field(name: "excludeOldTransactions", kind: .flag),
            ], call: .runner(.verifyReceipt)),
        StoryAction(
            name: "api",
            fields: [
                Field(name: "get"), Field(name: "post"), Field(name: "put"), Field(name: "delete"), environment,
                Field(name: "body", kind: .map), Field(name: "token"),
            ], call: .runner(.api)),
    ]

    private static let misbehaving = [
        StoryAction(name: "faults", scalarField: "off", fields: [], call: .runner(.faults), isOpen: true),
        hostile("forge", "forgeries"), hostile("attack", "attacks"),
        StoryAction(
            name: "trigger", scalarField: "type",
            fields: [
                Field(name: "type", isRequired: true, sentAs: "notificationType"), Field(name: "subtype"), environment,
                Field(name: "account", kind: .account), Field(name: "override", kind: .map),
            ], call: .control("POST", "trigger"), namesApp: true),
        StoryAction(
            name: "receiver", fields: [Field(name: "answers", kind: .any, isRequired: true)],
            call: .runner(.receiver)),
    ]

    private static let direct = [
        StoryAction(
            name: "control",
            fields: [
                Field(name: "get"), Field(name: "post"), Field(name: "put"), Field(name: "delete"),
                Field(name: "body", kind: .map),
            ], call: .runner(.control)),
        StoryAction(
            name: "backend",
            fields: [
                Field(name: "get"), Field(name: "post"), Field(name: "put"), Field(name: "account", kind: .account),
                Field(name: "purchase"), Field(name: "body", kind: .map), Field(name: "headers", kind: .map),
            ], call: .runner(.backend)),
    ]

    private static func onId(_ name: String, _ field: String, _ method: String, _ path: String) -> StoryAction {
        StoryAction(
            name: name, scalarField: field, fields: [Field(name: field, isRequired: true)],
            call: .control(method, path))
    }

    private static func hostile(_ name: String, _ path: String) -> StoryAction {
        StoryAction(
            name: name, scalarField: "kind",
            fields: [
                Field(name: "kind", isRequired: true), Field(name: "account", kind: .account),
                Field(name: "product", sentAs: "productId"), environment,
            ], call: .control("POST", path), isOpen: true, namesApp: true)
    }

    private static func onSubscription(_ name: String, _ field: Field) -> StoryAction {
        StoryAction(
            name: name, fields: [subscription, field], call: .control("POST", "subscriptions/{subscription}/\(name)"))
    }
}
