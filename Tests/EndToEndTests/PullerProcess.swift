import Foundation
import ProcessTesting

/// The example of a backend that asks for events (`Services/Notification/Receivers/puller.py`), as a process that is killed.
struct PullerProcess: Sendable {
    private enum Limit {
        /// How long one may live, in milliseconds: sometimes too short for a page.
        static let life = 100...500
        /// By how much one may live longer than the one before, so that a slow machine gets on, too.
        static let growth = 50
        static let wait = Duration.seconds(60)
        static let pause = Duration.milliseconds(100)
    }

    private static let script = Stack.root.appending(path: "Services/Notification/Receivers/puller.py").path
    private static let reading = """
        import json, sqlite3, sys
        books = sqlite3.connect(sys.argv[1])
        # The puller may have been killed before it had made its table.
        made = books.execute("SELECT count(*) FROM sqlite_master WHERE name = 'events'").fetchone()[0]
        for row in books.execute("SELECT body FROM events ORDER BY rowid") if made else []:
            event = json.loads(row[0])
            if event.get("customer", {}).get("id") == sys.argv[2]: print(event["id"])
        """

    let intake: String
    let app: String
    /// The SQLite file that it keeps its events and its cursor in.
    let books: String
    let apiKey: String

    /// Starts it and kills it with SIGKILL, again and again, until the task is cancelled.
    ///
    /// - Returns: how many were killed.
    func runAndKill() async throws -> Int {
        var kills = 0
        while !Task.isCancelled {
            let puller = try Program(
                path: "/usr/bin/env", arguments: ["python3", Self.script, intake, app, books],
                environment: ["COUNTERSIGN_API_KEY": apiKey]
            ).start()
            let longest = Limit.life.upperBound + kills * Limit.growth
            // The moment of the accident is any: nothing is waited for.
            try? await Task.sleep(for: .milliseconds(Int.random(in: Limit.life.lowerBound...longest)))
            puller.kill()
            _ = try await puller.ended()
            kills += 1
        }
        return kills
    }

    /// Ids of the account's events in the order in which the process wrote them down.
    func events(of account: String) async throws -> [String] {
        let program = Program(path: "/usr/bin/env", arguments: ["python3", "-c", Self.reading, books, account])
        return try await program.result().split(separator: "\n").map(String.init)
    }

    /// Waits until so many events of the account are there.
    func wait(for count: Int, of account: String) async throws {
        let deadline = ContinuousClock.now + Limit.wait
        while try await events(of: account).count < count {
            guard ContinuousClock.now < deadline else { throw StackFailure("the puller has not all \(count) events") }
            // Another process's file has no signal.
            try await Task.sleep(for: Limit.pause)
        }
    }
}
