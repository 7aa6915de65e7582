package import Postgres
package import ServiceRuntime

/// The settings of PostgreSQL that every service has, read the same way everywhere.
package enum PostgresSettings {
    /// Connections of a pool unless configured otherwise: each is a thread here and a process there.
    package static let poolSizeByDefault = 8

    /// Where the database is and how it is used.
    ///
    /// - Throws: `SettingError`, also for an address that libpq does not understand.
    package static func read(_ settings: SettingReader, applicationName: String) throws -> PostgresConfiguration {
        // the database; or `postgres.url_file`, a file that holds the address
        let url = try settings.requiredSecret("postgres.url").value
        guard var configuration = try? PostgresConfiguration(url: url) else {
            throw SettingError.invalid("postgres.url", expected: "a PostgreSQL connection URL", found: nil)
        }
        configuration.applicationName = applicationName
        // connections to it
        configuration.poolSizeMaximum = try settings.int("postgres.pool_size", default: poolSizeByDefault, in: 1...64)
        configuration.prefersIndexes = true
        // `false` behind PgBouncer before 1.21 in transaction mode
        configuration.preparesStatements = try settings.bool("postgres.prepared_statements", default: true)
        return configuration
    }
}
