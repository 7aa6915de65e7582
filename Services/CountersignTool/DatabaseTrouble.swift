import Persistence
import Postgres

/// Why the tool and a database do not come together, in a sentence with what to do.
enum DatabaseTrouble {
    /// What libpq and servers say, and what that asks for; the first that is found in the message is taken.
    ///
    /// Libpq has no code for a connection that was not made, only these texts (fe-connect.c, fe-auth.c, miscinit.c).
    private static let advices: [(part: String, advice: String)] = [
        ("password authentication failed", "the password is wrong, or the user does not exist: look at the address"),
        ("no password supplied", "the server wants a password: write it into the address, or name a file by …_FILE"),
        ("no pg_hba.conf entry", "the server lets this user in from elsewhere only: add a line to its pg_hba.conf"),
        ("role \"", "there is no such user: create the roles (deploy/postgres), or correct the address"),
        ("database \"", "there is no such database: create it (deploy/postgres), or correct the address"),
        ("could not translate host name", "the host's name is not known: correct the address"),
        ("connection refused", "nothing listens there: is PostgreSQL running, and are host and port right?"),
        (
            "no such file or directory",
            "nothing listens at this socket: is PostgreSQL running, and is the address right?"
        ),
        ("timeout", "nothing answers there: are host and port right, and does a firewall let this machine through?"),
        ("certificate", "the server's certificate is not trusted: look at sslrootcert and sslmode in the address"),
        ("does not support ssl", "the server speaks no TLS: look at sslmode in the address"),
        (
            "too many clients",
            "the server has no connection left: `countersign database`, once one is free, says who has them"
        ),
        ("remaining connection slots", "the server has no connection left for this user"),
        ("starting up", "the server is starting: wait until it has, and repeat the command"),
        ("shutting down", "the server is stopping"),
        ("session is read-only", "this is a standby: name the primary"),
        ("session is not read-write", "this is a standby: name the primary"),
    ]

    /// The failure that a person is shown.
    ///
    /// - Parameter server: which one, without its password.
    static func failure(_ error: PostgresError, server: String) -> ToolFailure {
        ToolFailure("PostgreSQL (\(server)): \(sentence(error))")
    }

    /// What is wrong, and what to do where that is known.
    static func sentence(_ error: PostgresError) -> String {
        let text = "\(error)"
        if let advice = advice(error, text) { return "\(advice) (\(text))" }
        return text
    }

    private static func advice(_ error: PostgresError, _ text: String) -> String? {
        switch (error.sqlState, error.code) {
        case ("42501", _):
            return "this user may not do that: looking needs the rights of countersign_reader, acting those of "
                + "countersign_operator, and `migrate` the owner (ACCESS.md); `countersign migrate` gives each role its rights"
        case ("42P01", _), ("42703", _):
            return "the schema lacks what this version reads: run `countersign migrate`"
        case ("25006", _): return "this is a standby, or the session is read-only: name the primary"
        case ("53100", _): return "the server's disk is full: make room there first"
        case ("57014", _): return "the server cancelled the statement, since it took too long"
        case ("55P03", _), ("40P01", _): return "somebody else holds what this needs: repeat the command"
        case (_, .connectionFailed), (_, .connectionLost):
            let lower = text.lowercased()
            return advices.first { lower.contains($0.part) }?.advice
        default: return nil
        }
    }
}
