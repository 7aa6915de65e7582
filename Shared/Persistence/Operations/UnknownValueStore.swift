package import Postgres
package import PurchaseModel

/// The table `unknown_values`: words and fields of Apple's that are not the usual ones.
package enum UnknownValueStore {
    enum Limit {
        /// How long a word that is noted is not noted again: everybody has what Apple signs from one day on.
        static let minutes: Int64 = 60
        /// Days after which a word is not told of any more.
        static let days: Int64 = 90
        /// Words that are told of.
        static let listed: Int64 = 20
    }

    /// A word, and a transaction that has it.
    package struct Noted: Sendable, Hashable {
        package let app: String
        package let field: String
        /// Empty where the field's name is what is not known.
        package let text: String
        package let isNamed: Bool
        package let effect: Vocabulary.Effect
        package let example: OrderKey

        package init(
            app: String, field: String, text: String, isNamed: Bool, effect: Vocabulary.Effect, example: OrderKey
        ) {
            self.app = app
            self.field = field
            self.text = text
            self.isNamed = isNamed
            self.effect = effect
            self.example = example
        }
    }

    /// Notes words, in one order everywhere, so that two batches cannot wait for each other.
    ///
    /// - Throws: `PostgresError`.
    package static func note(_ values: [Noted], on connection: PostgresConnection) async throws {
        guard !values.isEmpty else { return }
        _ = try await connection.query(
            """
            INSERT INTO unknown_values AS known (app, field, value, is_named, effect, environment, transaction_id)
            SELECT DISTINCT ON (new.app, new.field, new.value) new.*
            FROM unnest(
                \(values.map(\.app)), \(values.map(\.field)), \(values.map(\.text)), \(values.map(\.isNamed)),
                \(values.map(\.effect.rawValue)), \(values.map(\.example.environment)),
                \(values.map(\.example.transactionId)))
                AS new (app, field, value, is_named, effect, environment, transaction_id)
            -- Nobody waits for the row of what everybody has.
            WHERE NOT EXISTS (SELECT FROM unknown_values k WHERE (k.app, k.field, k.value) = (new.app, new.field, new.value)
                AND k.is_named = new.is_named AND k.last_seen_at > now() - \(Limit.minutes) * interval '1 minute')
            ORDER BY new.app, new.field, new.value
            ON CONFLICT (app, field, value) DO UPDATE SET last_seen_at = now(), is_named = excluded.is_named
            """)
    }
}

extension BacklogStore {
    /// A word or a field of Apple's that is not a usual one.
    package struct UnknownValue: Sendable, Hashable {
        package let app: String
        package let field: String
        /// Empty where the field's name is what is not known.
        package let text: String
        package let isNamed: Bool
        /// What it does: `holds`, `revokes` or `noted`.
        package let effect: String
        /// The environment and id of a transaction that has it.
        package let example: String

        package init(app: String, field: String, text: String, isNamed: Bool, effect: String, example: String) {
            self.app = app
            self.field = field
            self.text = text
            self.isNamed = isNamed
            self.effect = effect
            self.example = example
        }
    }

    /// What was seen of late, the newest first.
    ///
    /// - Throws: `PostgresError`.
    package func unknownValues() async throws -> [UnknownValue] {
        let result = try await pool.query(
            """
            SELECT app, field, value AS text, is_named, effect, environment || ' ' || transaction_id AS example
            FROM unknown_values WHERE last_seen_at > now() - \(UnknownValueStore.Limit.days) * interval '1 day'
            ORDER BY first_seen_at DESC, app, field, value LIMIT \(UnknownValueStore.Limit.listed)
            """)
        return try result.map(UnknownValue.init)
    }
}
