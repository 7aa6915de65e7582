import EventProcessing
import Foundation
import Kafka
import Logging
import Persistence
import Postgres
import ServiceRuntime

/// What the tool can be told, by the variables that the services read.
///
/// | variable | used by |
/// |---|---|
/// | `COUNTERSIGN_POSTGRES_URL`, or `…_FILE`, `COUNTERSIGN_POSTGRES_PREPARED_STATEMENTS` | whatever asks or changes the database, and doctor |
/// | `COUNTERSIGN_KAFKA_BOOTSTRAP_SERVERS`, `COUNTERSIGN_KAFKA_PROPERTIES_FILE` | topics, kafka dump, dead-letters, doctor |
/// | `COUNTERSIGN_APPS_FILE`, `COUNTERSIGN_CATALOGUE_FILE`, `COUNTERSIGN_WEBHOOKS_FILE`, `COUNTERSIGN_TRUSTED_ROOTS`, `COUNTERSIGN_RECEIPT_ROOTS`, `COUNTERSIGN_TRUSTED_DENIED_CERTIFICATES` | doctor; the catalogue's also refunds preview and import compare |
/// | `COUNTERSIGN_WEBHOOKS_FILE`, `COUNTERSIGN_WEBHOOKS_KEY`, `COUNTERSIGN_WEBHOOKS_PRIVATE_ADDRESSES` | webhooks, doctor; the key seals secrets of endpoints in the database |
/// | `COUNTERSIGN_WEBHOOKS`, `COUNTERSIGN_EVENT_ALARM_AGE` | doctor |
/// | `COUNTERSIGN_APP_STORE_PRODUCTION_URL`, `COUNTERSIGN_APP_STORE_SANDBOX_URL` | apple check and apple test-notification, where Apple is not asked itself |
struct ToolSettings: Sendable {
    let reader: SettingReader
    let logger: Logger

    /// How long one statement of the tool may run: it reads whole tables, which no service does.
    private static let statementTimeout = Duration.seconds(600)

    /// Reads the environment and the file that `COUNTERSIGN_CONFIG` names.
    ///
    /// - Throws: `SettingError`.
    static func load() async throws -> ToolSettings {
        let source = try await ConfigurationSources.reader(environment: ProcessInfo.processInfo.environment)
        // Standard output belongs to the command's answer; librdkafka's and the pool's debug lines to nobody.
        return ToolSettings(
            reader: SettingReader(source),
            logger: Logger(label: "countersign") { _ in SwiftLogNoOpLogHandler() })
    }

    /// Where the database is.
    ///
    /// - Throws: `SettingError`, `PostgresError`.
    func postgres() throws -> PostgresConfiguration {
        var configuration = try PostgresSettings.read(reader, applicationName: "countersign-tool")
        configuration.poolSizeMaximum = 2
        // An audit and the books of a year do read tables whole.
        configuration.prefersIndexes = false
        configuration.statementTimeout = Self.statementTimeout
        configuration.responseTimeout = Self.statementTimeout + .seconds(30)
        return configuration
    }

    /// Runs the body with a database whose schema this version works with, and closes the connections whatever happens.
    ///
    /// - Throws: what the body throws; a `PostgresError` as a `ToolFailure` that says which server; one for another schema.
    func withDatabase<Result: Sendable>(_ body: (PostgresPool) async throws -> Result) async throws -> Result {
        try await withAnySchema { pool in
            try await Self.requireSchema(pool)
            return try await body(pool)
        }
    }

    private static func requireSchema(_ pool: PostgresPool) async throws {
        do {
            try await Migrator(pool: pool).requireUsableSchema()
        } catch let error as SchemaError {
            throw ToolFailure("\(error)")
        }
    }

    /// Runs the body with the database, whatever its schema, and closes the connections whatever happens.
    ///
    /// - Throws: what the body throws; a `PostgresError` as a `ToolFailure` that says which server.
    func withAnySchema<Result: Sendable>(_ body: (PostgresPool) async throws -> Result) async throws -> Result {
        let configuration = try postgres()
        let pool = PostgresPool(configuration: configuration, logger: logger)
        do {
            let result = try await body(pool)
            await pool.close()
            return result
        } catch let error as PostgresError {
            await pool.close()
            throw DatabaseTrouble.failure(error, server: "\(configuration)")
        } catch {
            await pool.close()
            throw error
        }
    }

    /// Runs the body with an administrator of the broker, and closes it whatever happens.
    ///
    /// - Throws: what the body throws; a `KafkaError` as a `ToolFailure` that says which broker.
    func withKafka<Result: Sendable>(_ body: (KafkaAdmin) async throws -> Result) async throws -> Result {
        let configuration = try KafkaSettings.read(reader, clientId: "countersign-tool")
        do {
            let admin = try KafkaAdmin(configuration: configuration, logger: logger)
            do {
                let result = try await body(admin)
                await admin.close()
                return result
            } catch {
                await admin.close()
                throw error
            }
        } catch let error as KafkaError {
            let text = "\(error) (brokers: \(configuration.bootstrapServers))"
            // Librdkafka's names for what is said when nobody answers.
            let isSilent = ["_TRANSPORT", "_ALL_BROKERS_DOWN", "_TIMED_OUT", "_RESOLVE"].contains { text.contains($0) }
            throw ToolFailure(
                isSilent
                    ? "no broker answers: is Kafka running, and is COUNTERSIGN_KAFKA_BOOTSTRAP_SERVERS right? (\(text))"
                    : text)
        }
    }
}
