/// Something that a step can do: its name, what it may be told, and where that goes.
struct StoryAction: Sendable {
    /// What a field holds.
    enum Kind: String, Sendable, CaseIterable {
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

        /// By the cases' own names.
        fileprivate static let byName = Dictionary(uniqueKeysWithValues: allCases.map { ("\($0)", $0) })
    }

    struct Field: Sendable {
        let name: String
        let kind: Kind
        let isRequired: Bool
        /// The control API's name, where it is another one.
        let sentAs: String?

        /// Reads `name`, with `!` where it is required, `:kind` where it is no text, and `>sentAs`.
        ///
        /// A field that is named as a kind, such as `account`, is of that kind.
        fileprivate init(_ text: Substring) {
            let parts = text.split(separator: ">").map(String.init)
            let named = parts[0].split(separator: ":").map(String.init)
            isRequired = named[0].hasSuffix("!")
            name = isRequired ? String(named[0].dropLast()) : named[0]
            kind = Kind.byName[named.count > 1 ? named[1] : name] ?? .text
            sentAs = parts.count > 1 ? parts[1] : nil
        }
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
    let scalarField: String?
    let fields: [Field]
    let call: Call
    /// Further fields are passed on as they are.
    let isOpen: Bool
    /// Whether the app's bundle id goes along in the body or query.
    let namesApp: Bool

    private init(
        _ name: String, _ call: Call, _ fields: String, scalar: String? = nil, isOpen: Bool = false,
        namesApp: Bool = false
    ) {
        self.name = name
        self.call = call
        self.fields = fields.split(separator: " ").map(Field.init)
        scalarField = scalar
        self.isOpen = isOpen
        self.namesApp = namesApp
    }

    /// One with a single field, which a single value is.
    private init(_ name: String, _ method: String, _ path: String, _ field: String) {
        self.init(name, .control(method, path), field + "!", scalar: field)
    }

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

    private static func post(
        _ name: String, _ path: String, _ fields: String, scalar: String? = nil, isOpen: Bool = false,
        namesApp: Bool = false
    ) -> StoryAction {
        StoryAction(name, .control("POST", path), fields, scalar: scalar, isOpen: isOpen, namesApp: namesApp)
    }

    private static let selling = [
        post(
            "buy", "sales",
            """
            account product!>productId device environment quantity:whole appAccountToken price:whole currency \
            storefront offer:map count:whole type expiresDate:whole originalTransactionId
            """, namesApp: true),
        StoryAction("approve", "POST", "deferred/{deferred}/approve", "deferred"),
        StoryAction("disapprove", "POST", "deferred/{deferred}/decline", "deferred"),
        StoryAction("finish", "POST", "transactions/{transaction}/finish", "transaction"),
        post(
            "restore", "devices/{device}/restore", "device! environment purchaseDate originalPurchaseDate",
            scalar: "device", namesApp: true),
        post(
            "regrant", "transactions/{transaction}/regrant", "transaction! device count:whole", scalar: "transaction"),
        post(
            "sign", "transactions/{transaction}/sign",
            "transaction! fields:map renewalInfo:map notification:map keep:flag"),
        post("move", "subscriptions/{subscription}/move", "subscription! to", scalar: "subscription"),
    ]

    private static let living = [
        post("advance", "clock/advance", "by!:duration", scalar: "by"),
        StoryAction("set-clock", .runner(.setClock), "to!:any", scalar: "to"),
        post(
            "refund-request", "transactions/{transaction}/refund-request", "transaction! reason",
            scalar: "transaction"),
        post(
            "refund", "transactions/{transaction}/refund", "transaction! percentage:whole reason:whole revokes",
            scalar: "transaction"),
        StoryAction("decline-refund", "POST", "transactions/{transaction}/decline-refund", "transaction"),
        StoryAction("reverse-refund", "POST", "transactions/{transaction}/reverse-refund", "transaction"),
        post("auto-renew", "subscriptions/{subscription}/auto-renew", "subscription! on!:flag"),
        post("plan", "subscriptions/{subscription}/plan", "subscription! product!>productId offer:map"),
        post("payment", "subscriptions/{subscription}/payment", "subscription! fails!:flag"),
        post("price-consent", "subscriptions/{subscription}/price-consent", "subscription! agrees!:flag"),
        post("extend", "subscriptions/{subscription}/extend", "subscription! days!:whole"),
        post(
            "price-increase", "apps/{bundleId}/products/{product}/price-increase",
            "product! price!:whole needsConsent!:flag effectiveDate:any"),
        StoryAction("stop-selling", "POST", "apps/{bundleId}/products/{product}/stop-selling", "product"),
        StoryAction("account", .control("PUT", "accounts/{account}"), "account!", isOpen: true),
        StoryAction("device", .control("PUT", "devices/{device}"), "device! account!"),
        StoryAction("app", .control("PUT", "apps/{bundleId}"), "", isOpen: true),
        StoryAction("leave-family", "POST", "accounts/{account}/leave-family", "account"),
        post(
            "family-share", "transactions/{transaction}/family-share", "transaction! account! webOrderLineItem"),
        post(
            "stop-sharing", "transactions/{transaction}/stop-sharing", "transaction! revokes", scalar: "transaction"),
        post(
            "rescind-consent", "accounts/{account}/rescind-consent", "account! environment", scalar: "account",
            namesApp: true),
        post(
            "external-purchase", "external-purchase-tokens", "environment tokenType expiresIn:duration",
            namesApp: true),
        StoryAction("report-external-purchase", "POST", "external-purchase-tokens/{token}/report", "token"),
    ]

    private static let looking = [
        StoryAction(
            "receipt", .control("GET", "receipts"), "account! device environment fraction:whole", scalar: "account",
            namesApp: true),
        StoryAction(
            "app-transaction", .control("GET", "app-transactions"), "account! device environment", scalar: "account",
            namesApp: true),
        StoryAction(
            "device-transactions", .control("GET", "devices/{device}/transactions"), "device! environment",
            scalar: "device", namesApp: true),
        StoryAction("transaction", "GET", "transactions/{transaction}", "transaction"),
        StoryAction("subscription", "GET", "subscriptions/{subscription}", "subscription"),
        StoryAction("consumption-answers", "GET", "consumption-answers", "transactionId"),
        StoryAction("notification", "GET", "notifications/{uuid}", "uuid"),
        StoryAction("resend", "POST", "notifications/{uuid}/resend", "uuid"),
        StoryAction(
            "verify-receipt", .runner(.verifyReceipt), "receipt! environment password excludeOldTransactions:flag",
            scalar: "receipt"),
        StoryAction("api", .runner(.api), "get post put delete environment body:map token"),
    ]

    private static let misbehaving = [
        StoryAction("faults", .runner(.faults), "", scalar: "off", isOpen: true),
        post("forge", "forgeries", hostile, scalar: "kind", isOpen: true, namesApp: true),
        post("attack", "attacks", hostile, scalar: "kind", isOpen: true, namesApp: true),
        post(
            "trigger", "trigger", "type!>notificationType subtype environment account override:map", scalar: "type",
            namesApp: true),
        StoryAction("receiver", .runner(.receiver), "answers!:any"),
    ]

    private static let hostile = "kind! account product>productId environment"

    private static let direct = [
        StoryAction("control", .runner(.control), "get post put delete body:map"),
        StoryAction("backend", .runner(.backend), "get post put account purchase body:map headers:map"),
    ]
}
