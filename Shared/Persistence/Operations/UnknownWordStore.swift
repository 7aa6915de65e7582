package import Postgres
package import PurchaseModel

/// The table `unknown_words`: words and fields of Apple's that are not the usual ones.
package enum UnknownWordStore {
    enum Limit {
        /// How long a word that is noted is not noted again: everybody has what Apple signs from one day on.
        static let minutes: Int64 = 60
        /// Days after which a word is not told of any more.
        static let days: Int64 = 90
        /// Words that are told of.
        static let told: Int64 = 20
    }

    /// A word, and a transaction that has it.
    package struct Noted: Sendable, Hashable {
        package let app: String
        package let field: String
        /// Empty where the field's name is what is not known.
        package let word: String
        package let isNamed: Bool
        package let effect: Vocabulary.Effect
        package let example: OrderKey

        package init(
            app: String, field: String, word: String, isNamed: Bool, effect: Vocabulary.Effect, example: OrderKey
        ) {
            self.app = app
            self.field = field
            self.word = word
            self.isNamed = isNamed
            self.effect = effect
            self.example = example
        }
    }

    /// Notes words, in one order everywhere, so that two batches cannot wait for each other.
    ///
    /// - Throws: `PostgresError`.
    package static func note(_ words: [Noted], on connection: PostgresConnection) async throws {
        guard !words.isEmpty else { return }
        _ = try await connection.query(
            """
            INSERT INTO unknown_words AS known (app, field, word, is_named, effect, environment, transaction_id)
            SELECT DISTINCT ON (new.app, new.field, new.word) new.*
            FROM unnest($1::text[], $2::text[], $3::text[], $4::bool[], $5::text[], $6::text[], $7::text[])
                AS new (app, field, word, is_named, effect, environment, transaction_id)
            -- Nobody waits for the row of what everybody has.
            WHERE NOT EXISTS (SELECT FROM unknown_words k WHERE (k.app, k.field, k.word) = (new.app, new.field, new.word)
                AND k.is_named = new.is_named AND k.last_seen_at > now() - $8 * interval '1 minute')
            ORDER BY new.app, new.field, new.word
            ON CONFLICT (app, field, word) DO UPDATE SET last_seen_at = now(), is_named = excluded.is_named
            """,
            [
                .textArray(words.map(\.app)), .textArray(words.map(\.field)), .textArray(words.map(\.word)),
                .boolArray(words.map(\.isNamed)), .textArray(words.map(\.effect.rawValue)),
                .textArray(words.map(\.example.environment.rawValue)),
                .textArray(words.map(\.example.transactionId)), .int8(Limit.minutes),
            ])
    }
}

extension BacklogStore {
    /// A word or a field of Apple's that is not a usual one.
    package struct UnknownWord: Sendable, Hashable {
        package let app: String
        package let field: String
        /// Empty where the field's name is what is not known.
        package let word: String
        package let isNamed: Bool
        /// What it does: `holds`, `revokes` or `noted`.
        package let effect: String
        /// The environment and id of a transaction that has it.
        package let example: String

        package init(app: String, field: String, word: String, isNamed: Bool, effect: String, example: String) {
            self.app = app
            self.field = field
            self.word = word
            self.isNamed = isNamed
            self.effect = effect
            self.example = example
        }
    }

    /// What was seen of late, the newest first.
    ///
    /// - Throws: `PostgresError`.
    package func unknownWords() async throws -> [UnknownWord] {
        let result = try await pool.query(
            """
            SELECT app, field, word, is_named, effect, environment || ' ' || transaction_id AS example
            FROM unknown_words WHERE last_seen_at > now() - $1 * interval '1 day'
            ORDER BY first_seen_at DESC, app, field, word LIMIT $2
            """, [.int8(UnknownWordStore.Limit.days), .int8(UnknownWordStore.Limit.told)])
        return try result.rows.map { row in
            UnknownWord(
                app: try row.decode("app"), field: try row.decode("field"), word: try row.decode("word"),
                isNamed: try row.decode("is_named"), effect: try row.decode("effect"),
                example: try row.decode("example"))
        }
    }
}
