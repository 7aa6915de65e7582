package import Postgres
import SchemaFile

/// What each service's role may do in the database: `rights.sql`, which the owner of the tables applies.
package struct DatabaseRights: Sendable {
    /// What became of them.
    package enum Outcome: Hashable, Sendable {
        /// The roles have what `rights.sql` lists, and nothing else.
        case applied
        /// None of the roles exists: all services use the owner's role.
        case noRoles
        /// Some of the roles exist, and these do not, by name.
        case rolesMissing([String])
        /// The database or a table belongs to another role, by name, which has to apply them.
        case ownedByAnother(String)
    }

    private let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// The script, as `psql -f` takes it, too.
    package static var script: String { String(cString: rights_file()) }

    /// The roles that the script names, which `create-roles.sql` makes.
    package static let roles = [
        "countersign_fulfillment", "countersign_intake", "countersign_notification", "countersign_operator",
        "countersign_reader", "countersign_wallet", "countersign_worker",
    ]

    /// Applies the rights where this role may; one transaction, beside running services.
    ///
    /// - Throws: `PostgresError`.
    package func apply() async throws -> Outcome {
        try await pool.withConnection { connection in
            let missing = try await Self.missingRoles(on: connection)
            if missing.count == Self.roles.count { return .noRoles }
            if !missing.isEmpty { return .rolesMissing(missing) }
            if let owner = try await Self.otherOwner(on: connection) { return .ownedByAnother(owner) }
            // It has a transaction of its own; where it fails, the pool gives the connection up.
            try await connection.executeScript(Self.script)
            return .applied
        }
    }

    private static func missingRoles(on connection: PostgresConnection) async throws -> [String] {
        let found = try await connection.query(
            "SELECT rolname::text AS name FROM pg_roles WHERE rolname = ANY($1)", [.textArray(roles)])
        let present = try found.rows.map { try $0.decode("name", as: String.self) }
        return roles.filter { !present.contains($0) }
    }

    /// Somebody whose rights this role lacks, and who owns the database or a table in it that is no extension's.
    private static func otherOwner(on connection: PostgresConnection) async throws -> String? {
        let found = try await connection.query(
            """
            SELECT owner::regrole::text AS name FROM (
                SELECT datdba AS owner FROM pg_database WHERE datname = current_database()
                UNION ALL SELECT relowner FROM pg_class AS c
                WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm')
                    AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = c.oid AND deptype = 'e')
            ) AS owners
            WHERE NOT pg_has_role(owner, 'USAGE')
            ORDER BY 1 LIMIT 1
            """)
        return try found.rows.first?.decode("name", as: String.self)
    }
}
