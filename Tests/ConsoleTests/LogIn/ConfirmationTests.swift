import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Synchronization
import Testing

@testable import Console

@Suite("The provider is asked again", .timeLimit(.minutes(1)))
struct ConfirmationTests {
    @Test("who was removed there is out within a minute")
    func removed() async throws {
        try await LogInStage.withOpenID { stage, provider in
            let browser = stage.browser()
            try await browser.logIn(at: provider)
            provider.change { ($0.refusesUserInfo, $0.refusesRefresh) = (true, true) }
            stage.clock.advance(by: 59)
            #expect(try await browser.isIn())
            stage.clock.advance(by: 1)
            #expect(try await !browser.isIn())
            #expect(stage.sessions.all.isEmpty)
            // Not even when the provider takes that person back: it is another session then.
            provider.change { ($0.refusesUserInfo, $0.refusesRefresh) = (false, false) }
            #expect(try await !browser.isIn())
        }
    }

    @Test("roles follow groups, up and down, and the end of the last one is the end")
    func groups() async throws {
        try await LogInStage.withOpenID(people: [.group("support"): .support, .group("admins"): .admin]) {
            stage, provider in
            let browser = stage.browser()
            try await browser.logIn(at: provider)
            #expect(try await browser.get("/sessions").status == .forbidden)
            provider.change { $0.groups = ["admins"] }
            stage.clock.advance(by: 60)
            #expect(try await browser.get("/sessions").status == .ok)
            provider.change { $0.groups = ["support"] }
            stage.clock.advance(by: 60)
            #expect(try await browser.get("/sessions").status == .forbidden)
            provider.change { $0.groups = nil }
            stage.clock.advance(by: 60)
            #expect(try await !browser.isIn())
        }
    }

    @Test("it is asked once a minute, however many pages are opened")
    func once() async throws {
        try await LogInStage.withOpenID { stage, provider in
            let browser = stage.browser()
            try await browser.logIn(at: provider)
            for _ in 0..<3 {
                stage.clock.advance(by: 60)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<10 {
                        group.addTask {
                            let isIn = try await browser.isIn()
                            #expect(isIn)
                        }
                    }
                    try await group.waitForAll()
                }
            }
            // One of them is the log-in's.
            #expect(provider.behaviour.withLock { $0.userInfoRequests } == 4)
        }
    }

    @Test("an access token that has ended is renewed; where that is refused, the session is over")
    func refresh() async throws {
        try await LogInStage.withOpenID { stage, provider in
            provider.change { $0.expiresIn = .integer(30) }
            let browser = stage.browser()
            try await browser.logIn(at: provider)
            stage.clock.advance(by: 60)
            #expect(try await browser.isIn())
            // Ended before its time.
            provider.change { ($0.expiresIn, $0.accessTokens) = (.null, []) }
            stage.clock.advance(by: 60)
            #expect(try await browser.isIn())
            provider.change { ($0.accessTokens, $0.refusesRefresh) = ([], true) }
            stage.clock.advance(by: 60)
            #expect(try await !browser.isIn())
        }
    }

    @Test("while it is away sessions go on for five minutes, and then a page says why not")
    func away() async throws {
        try await LogInStage.withOpenID { stage, provider in
            let browser = stage.browser()
            try await browser.logIn(at: provider)
            provider.change { $0.isAway = true }
            stage.clock.advance(by: 60)
            #expect(try await browser.isIn())
            #expect(try await browser.isIn())
            // Not asked with every request.
            #expect(provider.behaviour.withLock { $0.userInfoRequests } == 2)
            stage.clock.advance(by: 239)
            #expect(try await browser.isIn())
            stage.clock.advance(by: 1)
            #expect(try await browser.get("/").status == .serviceUnavailable)
            #expect(try await browser.get("/login").status == .ok)
            provider.change { $0.isAway = false }
            stage.clock.advance(by: 10)
            #expect(try await browser.isIn())
        }
    }
}
