/// The keys of this library's log metadata.
enum PostgresLogKey {
    static let connection = "postgres_connection"
    static let error = "error"
    static let attempt = "attempt"
}
