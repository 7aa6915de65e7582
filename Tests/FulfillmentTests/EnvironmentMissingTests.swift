import Foundation
import Messages
import Persistence
import PersistenceTesting
import PurchaseModel
import Testing

@testable import Fulfillment

/// What Apple signed before its data named an environment: recorded and held, until something says what it is.
@Suite("Transactions without an environment", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct EnvironmentMissingTests {
    private static func pro(token: UUID? = nil) -> Transaction {
        var transaction = Bench.signed("t", product: "pro", token: token)
        transaction.environment = nil
        return transaction
    }

    private static func known(_ environment: StoreEnvironment) -> Transaction {
        var transaction = Bench.signed("t", product: "pro", environment: environment)
        transaction.signedDate = Bench.day(9)
        return transaction
    }

    private static func with(_ body: (Bench) async throws -> Void) async throws {
        try await Bench.with { bench in
            try await body(bench)
            try await bench.expectClean()
        }
    }

    private func expectHeld(_ bench: Bench, _ id: String) async throws {
        let outcome = try #require(try await bench.outcome(id))
        #expect(outcome.state == .parked && outcome.reason == .environmentMissing && !outcome.finish)
        #expect(try await bench.standing(of: "t") == "parked environment_missing -")
        #expect(try await bench.number("SELECT count(*) FROM entitlements WHERE environment = 'production'") == 0)
    }

    @Test func `it is an order that grants nothing and binds nothing`() async throws {
        try await Self.with { bench in
            let token = try await bench.token(of: "anna")
            try await bench.post("s1", Self.pro(token: token), by: "ben")
            try await expectHeld(bench, "s1")
            #expect(try await bench.owner(of: "t") == "-")
            try await bench.post("s2", Self.pro(token: token), by: "ben")
            try await expectHeld(bench, "s2")
        }
    }

    @Test func `newer data that names production decides it, whichever comes first`() async throws {
        for isFirst in [true, false] {
            try await Self.with { bench in
                if isFirst { try await bench.post("s1", Self.known(.production), by: "anna") }
                try await bench.post("s2", Self.pro(), by: "anna")
                if !isFirst {
                    try await expectHeld(bench, "s2")
                    try await bench.post("s1", Self.known(.production), by: "anna")
                }
                #expect(try await bench.standing(of: "t") == "granted - anna")
                #expect(try await bench.outcome("s2")?.state == .fulfilled)
                #expect(try await bench.inForce() == ["anna pro t"])
            }
        }
    }

    @Test func `once Apple says that it is production's, whoever has the old proof has it`() async throws {
        try await Self.with { bench in
            try await bench.notify("n1", Self.known(.production))
            #expect(try await bench.standing(of: "t") == "parked unclaimed -")
            try await bench.post("s1", Self.pro(), by: "anna")
            #expect(try await bench.standing(of: "t") == "granted - anna")
            #expect(try await bench.outcome("s1")?.state == .fulfilled)
        }
    }

    @Test func `an old proof of another moment is no proof of it`() async throws {
        try await Self.with { bench in
            try await bench.notify("n1", Self.known(.production))
            var other = Self.pro()
            other.purchaseDate += 86_400
            try await bench.post("s1", other, by: "anna")
            #expect(try await bench.standing(of: "t") == "parked unclaimed -")
        }
    }

    @Test func `what turns out to be the sandbox's is an order of its own there`() async throws {
        try await Self.with { bench in
            try await bench.post("s1", Self.pro(), by: "anna")
            try await bench.post("s2", Self.known(.sandbox), by: "anna")
            try await expectHeld(bench, "s1")
            #expect(try await bench.standing(of: "t", .sandbox) == "granted - anna")
        }
    }

    @Test func `an operator says that it was paid for, and whose it is`() async throws {
        try await Self.with { bench in
            try await bench.post("s1", Self.pro(), by: "anna")
            _ = try await OperatorClaimStore(pool: bench.pool).claim(
                environment: .production, transactionId: "t", account: "anna", actor: "olga", reason: "saw the invoice")
            #expect(try await bench.grantParked() == 1)
            #expect(try await bench.standing(of: "t") == "granted - anna")
            let outcome = try #require(try await bench.outcome("s1"))
            #expect(outcome.state == .fulfilled && outcome.finish)
        }
    }
}
