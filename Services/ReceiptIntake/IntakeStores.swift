import Persistence
import Postgres
import PurchaseModel

/// What the routes read and write in the database.
struct IntakeStores: Sendable {
    let accounts: AccountStore
    let orders: OrderReadingStore
    let intents: IntentStore
    let spends: SpendStore
    let resends: WebhookResendStore
    let forgetting: ForgetRequestStore
    let consents: AccountConsentStore
    let endpoints: EndpointRoutes.Stores
    let sweeps: SweepRequestStore
    let views: ViewStore
    let lists: ListRoutes.Stores
    let pool: PostgresPool

    init(pool: PostgresPool) {
        self.pool = pool
        accounts = AccountStore(pool: pool)
        orders = OrderReadingStore(pool: pool)
        intents = IntentStore(pool: pool)
        spends = SpendStore(pool: pool)
        resends = WebhookResendStore(pool: pool)
        forgetting = ForgetRequestStore(pool: pool)
        consents = AccountConsentStore(pool: pool)
        endpoints = EndpointRoutes.Stores(pool: pool)
        sweeps = SweepRequestStore(pool: pool)
        views = ViewStore(pool: pool)
        lists = ListRoutes.Stores(pool: pool)
    }

    /// All that is known of an account.
    @Sendable
    func export(app: String, account: Account) -> AccountExport {
        AccountExport(pool: pool, app: app, account: account)
    }
}
