#if canImport(ObjectiveC)
    import CountersignClient
    public import Foundation

    /// Purchases for Objective-C: set up at launch, told who plays, and told what to buy.
    ///
    /// It is for the main thread, and completions come there.
    ///
    /// ```objc
    /// self.purchases = [[CSPurchases alloc] initWithServer:url app:@"com.example.game" token:^(NSString *account, BOOL refresh,
    ///     void (^answer)(NSString *, NSError *)) { answer([self tokenOf:account], nil); }];
    /// [self.purchases logIn:@"player-7" completion:^{ }];
    /// [self.purchases buy:@"gems.100" reference:nil completion:^(CSPurchaseOutcome outcome, NSString *id, NSError *error) { }];
    /// ```
    @MainActor
    @objc(CSPurchases)
    public final class ObjectiveCPurchases: NSObject {
        /// What Swift has beside this, for apps of both languages.
        public let purchases: Purchases

        /// Sets the purchases up, at launch, before anything else.
        ///
        /// - Parameters:
        ///   - server: the address of Countersign.
        ///   - app: the bundle id.
        ///   - token: gives the JWT of an account by its last argument, once; nil where nobody is logged in as that account.
        @objc public init(
            server: URL, app: String,
            token:
                @escaping @Sendable (
                    _ account: String, _ isRefreshing: Bool,
                    _ answer: @escaping @Sendable (String?, (any Error)?) -> Void
                ) -> Void
        ) {
            purchases = Purchases(server: server, app: app) { account, isRefreshing in
                try await withCheckedThrowingContinuation { continuation in
                    token(account, isRefreshing) { token, error in
                        if let error {
                            continuation.resume(throwing: error)
                        } else {
                            continuation.resume(returning: token)
                        }
                    }
                }
            }
            super.init()
        }

        /// Says who plays from now on; nil for nobody.
        @objc public func logIn(_ account: String?, completion: @escaping @MainActor @Sendable () -> Void) {
            purchases.logIn(account, completion: completion)
        }

        /// Buys a product for who is logged in as this is called: what a button's action calls.
        ///
        /// - Parameters:
        ///   - reference: your own number of the order.
        ///   - completion: how it ended, Apple's id of the transaction where there is one, and the error where it failed:
        ///     its `localizedDescription` is for people.
        @objc public func buy(
            _ productID: String, reference: String?,
            completion: @escaping @MainActor @Sendable (ObjectiveCOutcome, String?, (any Error)?) -> Void
        ) {
            purchases.buy(productID, reference: reference) { result, error in
                completion(ObjectiveCOutcome(result, error), result?.transactionID, error)
            }
        }

        /// The button that App Review asks for.
        ///
        /// - Parameter completion: how many transactions the account has now, -1 where it failed or the person cancelled, and
        ///   the error where it failed.
        @objc public func restore(completion: @escaping @MainActor @Sendable (Int, (any Error)?) -> Void) {
            purchases.restore { result, error in completion(result?.grantedCount ?? -1, error) }
        }

        /// The app came to the foreground, or protected data became available.
        @objc public func enterForeground() {
            Task { await purchases.enterForeground() }
        }

        /// Whether the player has an entitlement, as far as this device knows: no request is made.
        @objc public func has(_ entitlement: String) -> Bool { purchases.has(entitlement) }

        /// How many of an item the player has, as far as this device knows.
        @objc public func balance(of item: String) -> Int64 { purchases.state.account?.balances[item] ?? 0 }
    }

    /// How a purchase ended: ``PurchaseResult`` for Objective-C.
    @objc(CSPurchaseOutcome)
    public enum ObjectiveCOutcome: Int, Sendable {
        /// The account has what was paid for.
        case granted
        /// It is paid and held until a doubt is resolved.
        case held
        /// It belongs to another account.
        case belongsToAnother
        /// The server refused it.
        case refused
        /// It is paid and safe; the outcome comes later.
        case processing
        /// Somebody has to approve it.
        case pending
        /// The person closed the payment sheet; nothing was paid.
        case cancelled
        /// The error says why, and whether anything can have been paid.
        case failed

        init(_ result: PurchaseResult?, _ error: PurchaseError?) {
            switch result {
            case .settled(let report), .earlierPurchase(let report): self.init(report.outcome)
            case .processing: self = .processing
            case .pending: self = .pending
            case .cancelled: self = .cancelled
            case nil: self = error == nil ? .cancelled : .failed
            }
        }

        private init(_ outcome: PurchaseOutcome) {
            switch outcome {
            case .granted: self = .granted
            case .held: self = .held
            case .belongsToAnother: self = .belongsToAnother
            case .refused: self = .refused
            case .processing: self = .processing
            }
        }
    }

    extension PurchaseResult {
        fileprivate var transactionID: String? {
            switch self {
            case .settled(let report), .earlierPurchase(let report): report.transactionID
            case .processing(let id): id
            case .pending, .cancelled: nil
            }
        }
    }
#endif
