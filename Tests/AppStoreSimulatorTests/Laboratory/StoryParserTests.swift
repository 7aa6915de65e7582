import Foundation
import Testing

@testable import AppStoreSimulator

/// What is wrong with a story is said with its line, all at once, and with what is allowed.
@Suite struct StoryParserTests {
    private static let head = """
        story: A story
        app: {bundleId: com.example.game, products: [{productId: gems, type: Consumable}]}
        accounts: {alice: {}}
        steps:

        """

    /// The first line of the steps is line 5.
    private static func problems(_ steps: String) -> [StoryProblem] {
        do {
            _ = try StoryParser.parse(head + steps)
            return []
        } catch let failure as StoryParser.Failure {
            return failure.problems
        } catch {
            return [StoryProblem(line: 0, message: "\(error)")]
        }
    }

    @Test func aWholeStoryIsRead() throws {
        let story = try StoryParser.parse(
            """
            story: A story
            about: what it is about
            clock: "2026-01-31T10:00:00Z"
            environment: Sandbox
            app:
              bundleId: com.example.game
              gracePeriod: SIXTEEN_DAYS
              products:
                - {productId: vip, type: Auto-Renewable Subscription, period: P1M, price: 4990}
            accounts:
              alice: {storefront: USA}
              bob:
            devices: {phone: {account: alice}}
            receiver: {answers: [500, 200]}
            steps:
              - buy: {account: alice, device: phone, product: vip}
                as: first
                expect: {outcome: bought, notifications: [SUBSCRIBED/INITIAL_BUY]}
              - advance: P6M
                times: 2
                eventually: true
                expect:
                  notifications: [DID_RENEW ×6]
                  json: {now: {above: 1}}
            """)
        #expect(story.clock == 1_769_853_600_000 && story.environment == "Sandbox")
        #expect(story.app == ["gracePeriod": .text("SIXTEEN_DAYS")] && story.products.map(\.name) == ["vip"])
        #expect(story.accounts.map(\.name) == ["alice", "bob"] && story.devices.map(\.name) == ["phone"])
        #expect(story.receiver == ReceiverScript(answers: [500, 200]))
        let last = try #require(story.steps.last)
        #expect(last.fields == ["by": .text("P6M")] && last.times == 2 && last.isEventual && last.line == 19)
        guard case .notifications(let list) = try #require(last.expectations.first).subject else {
            Issue.record("no notifications")
            return
        }
        #expect(list.expected.map(\.type) == Array(repeating: "DID_RENEW", count: 6))
    }

    @Test(arguments: [
        ("  - refnd: x", 5, "a step has no \"refnd\"; allowed: as, note, times, eventually, expect, and one of buy,"),
        (
            "  - buy: {account: alice, product: gems, colour: red}", 5,
            "buy has no \"colour\"; allowed: account, product"
        ),
        ("  - buy: {account: bob, product: gems}", 5, "account must be an account of the story: alice"),
        ("  - buy: {account: alice}", 5, "buy needs \"product\""),
        ("  - buy: {account: alice, product: gems, quantity: many}", 5, "quantity must be a whole number"),
        (
            "  - buy: {account: alice, product: gems, environment: Xcode}", 5,
            "environment must be Production or Sandbox"
        ),
        ("  - advance: P1M\n    finish: \"1\"", 6, "one action a step: advance or finish"),
        ("  - advance: P1M\n    times: 5001", 6, "times must be a whole number from 1 to 5000"),
        ("  - finish: \"${nope.transactionId}\"", 5, "no earlier step is kept as \"nope\""),
        ("  - advance: P1M\n    expect: {sttus: 3}", 6, "expect has no \"sttus\"; allowed: outcome, status"),
        ("  - advance: P1M\n    expect: {json: {now: {abov: 3}}}", 6, "no test is \"abov\"; allowed: equals, not"),
        ("  - advance: P1M\n    expect: {json: {\"a[\": 3}}", 6, "\"a[\" is no path such as data[0].status"),
        ("  - advance: P1M\n    expect: {notifications: [RENEWED]}", 6, "no notification type is \"RENEWED\"; allowed"),
        ("  - advance: P1M\n    expect: {notifications: [EXPIRED/NEVER]}", 6, "EXPIRED has VOLUNTARY, BILLING_RETRY"),
        ("  - advance: P1M\n    expect: {received: []}", 6, "the story has no receiver"),
        ("  - api: {get: /a, post: /b}", 5, "api needs one of get, post, put or delete with a path"),
        ("  - api: {get: /a, token: stolen}", 5, "token is good, none, expired"),
        ("  - advance: P1M\n    as: now", 6, "as: ${now} is there already"),
        ("  - finish: \"${account.bob}\"", 5, "${account.bob}: accounts of the story: alice"),
        ("  - {}", 5, "a step needs one of buy"),
        ("  - buy: [1", 6, "no YAML"),
    ])
    func aMistakeHasItsLine(_ steps: String, line: Int, message: String) throws {
        let problems = Self.problems(steps)
        let problem = try #require(problems.first, "\(steps) was taken")
        #expect(problem.line == line && problem.message.contains(message), "\(problem)")
    }

    @Test func allMistakesAreToldAtOnce() {
        let problems = Self.problems("  - refnd: x\n  - buy: {account: alice}\n  - {}")
        #expect(problems.map(\.line) == [5, 6, 7])
    }

    @Test func whatIsTooMuchIsRefused() throws {
        func message(_ yaml: String) -> String {
            do {
                _ = try StoryParser.parse(yaml)
                return "taken"
            } catch let failure as StoryParser.Failure {
                return failure.problems.first?.message ?? ""
            } catch {
                return "\(error)"
            }
        }
        #expect(message(String(repeating: " ", count: StoryDocument.Limit.bytes + 1)).contains("larger than 256 KiB"))
        #expect(message("story: \(String(repeating: "[", count: 2_000))").contains("no YAML"))
        #expect(
            message("story: \(String(repeating: "[", count: 30))\(String(repeating: "]", count: 30))").contains("24"))
        let many = String(repeating: "  - advance: 1s\n", count: Story.Limit.steps + 1)
        #expect(Self.problems(many).first?.message == "steps: at most 500, not 501")
        // Aliases within aliases: small as a file, huge as a tree.
        let bomb = (1...11).map {
            "a\($0): &a\($0) [\(Array(repeating: "*a\($0 - 1)", count: 10).joined(separator: ","))]"
        }
        #expect(message("a0: &a0 [x]\n" + bomb.joined(separator: "\n")).contains("more than 20000 values"))
        #expect(message("") == "the file is empty")
        #expect(message("story: a\nstory: b").contains("twice in one mapping"))
    }

    @Test func theStoriesThatShipAreReadWithoutComplaint() throws {
        for file in try ShippedStories.files() {
            let story = try StoryParser.parse(file: file.path)
            #expect(!story.about.isEmpty, "\(file.lastPathComponent) does not say what it is about")
        }
        #expect(try ShippedStories.files().count >= 12)
    }
}

/// The stories of `Tests/Stories`.
enum ShippedStories {
    static func files() throws -> [URL] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Stories")
        return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "yaml" }.sorted { $0.path < $1.path }
    }
}
