import Foundation
import Messages
import NIOHTTP1
import Postgres
import Testing

extension EndToEnd {
    /// Anybody may post where Apple's notifications go.
    @Suite("The address for Apple's notifications")
    struct NotificationDoorTests {
        /// Connections that post junk without a pause.
        private static let flooders = 8

        private struct Artefacts: Decodable {
            struct Artefact: Decodable { let value: String }
            let artefacts: [Artefact]
        }

        private static func forged(_ kind: String, _ client: IntakeClient) async throws -> String {
            let made = try await client.controlled(
                "POST", "attacks", #"{"kind":"\#(kind)","bundleId":"com.example.game","productId":"gems.100"}"#)
            return try #require(try JSONDecoder().decode(Artefacts.self, from: made).artefacts.first).value
        }

        private static func post(_ notification: String, _ client: IntakeClient) async throws -> IntakeClient.Answer {
            try await client.send(
                .POST, client.intake + "/v1/notifications", headers: ["content-type": "application/json"],
                body: Array(#"{"signedPayload":"\#(notification)"}"#.utf8))
        }

        private static func rows(of notification: String, _ database: Database) async throws -> Int64 {
            // A row may lack the header, which is kept once.
            try await database.number(
                """
                SELECT count(*) AS n FROM submissions s
                JOIN submission_proofs p ON p.received_at = s.proof_at AND p.submission_id = s.id
                LEFT JOIN proof_headers h ON h.fingerprint = p.header
                WHERE s.kind = 'server_notification' AND coalesce(p.proof, h.header || '.' || p.rest) = $1
                """, [.text(notification)])
        }

        /// Posts junk until it is cancelled; how many answers there were, by their status.
        private static func flood(_ junk: [String], _ client: IntakeClient) async -> [Int: Int] {
            await withTaskGroup(of: [Int: Int].self) { group in
                for number in 0..<flooders {
                    group.addTask {
                        var statuses: [Int: Int] = [:]
                        while !Task.isCancelled {
                            guard let answer = try? await post(junk[number % junk.count], client) else { continue }
                            statuses[answer.status, default: 0] += 1
                        }
                        return statuses
                    }
                }
                return await group.reduce(into: [:]) { all, some in all.merge(some, uniquingKeysWith: +) }
            }
        }

        @Test("what the App Store did not sign is refused, and nothing of it is written down; what it signed is taken")
        func refused() async throws {
            try await withStack { _, client, database in
                for (kind, problem) in [
                    // Its third part is empty.
                    ("notification_unsigned", "proof-malformed"),
                    ("notification_self_made", "notification-not-genuine"),
                    ("notification_edited", "notification-not-genuine"),
                    ("notification_xcode", "notification-not-genuine"),
                    // Of another form inside.
                    ("transaction_as_notification", "proof-malformed"),
                ] {
                    let forged = try await Self.forged(kind, client)
                    let answer = try await Self.post(forged, client)
                    #expect(answer.status == 400, "\(kind)")
                    #expect(answer.problem == problem, "\(kind)")
                    #expect(try await Self.rows(of: forged, database) == 0, "\(kind)")
                }
                let genuine = try await Self.forged("notification_about_nobody", client)
                #expect(try await Self.post(genuine, client).status == 200)
                #expect(try await Self.rows(of: genuine, database) == 1)
            }
        }

        @Test("a flood of junk leaves no row, and every purchase that comes meanwhile is granted")
        func flooded() async throws {
            try await withStack { stack, client, database in
                let load = Load(stack)
                let purchases = ["--count", "200", "--concurrency", "8", "--wait", "20"]
                let before = try await load.run(purchases)
                // One under the chain that signs everything here, and one of a stranger's.
                let junk = [
                    try await Self.forged("notification_edited", client),
                    try await Self.forged("notification_self_made", client),
                ]
                let flood = Task { await Self.flood(junk, client) }
                let during: Load.Report
                do {
                    defer { flood.cancel() }
                    during = try await load.run(purchases)
                }
                let posted = await flood.value
                let after = try await load.run(purchases)
                print("junk notifications, by status: \(posted)")
                for (name, report) in [("before", before), ("during", during), ("after", after)] {
                    let times = report.purchases.compactMap(\.outcomeMilliseconds).sorted()
                    try #require(times.count == 200, "\(name)")
                    print("purchases \(name) a flood of notifications: p50 \(times[100]) ms, p99 \(times[198]) ms")
                }
                #expect(Set(posted.keys).isSubset(of: [400, 503]) && posted[400, default: 0] > 0)
                for text in junk { #expect(try await Self.rows(of: text, database) == 0) }
            }
        }
    }
}
