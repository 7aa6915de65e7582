import Persistence
import Postgres

/// What a person does for a player, each by a route of its own; the database's role needs `countersign_desk` for it.
struct DeskRoutes: Sendable {
    let assignments: AssignRoutes
    let adjustments: AdjustmentRoutes
    let retries: RetryRoutes
    let extensions: ExtensionRoutes

    init(_ authenticator: Authenticator, pool: PostgresPool, body: JSONBody, turns: ReadingTurns) {
        assignments = AssignRoutes(
            authenticator: authenticator, claims: OperatorClaimStore(pool: pool), owners: OwnershipStore(pool: pool),
            body: body, turns: turns)
        adjustments = AdjustmentRoutes(authenticator: authenticator, pool: pool, body: body)
        retries = RetryRoutes(authenticator: authenticator, store: SubmissionStore(pool: pool), body: body)
        extensions = ExtensionRoutes(
            authenticator: authenticator, store: AppleCallStore(pool: pool), body: body, turns: turns)
    }
}
