import Foundation
import HTTPTypes
import HummingbirdTesting
import Messages
import PurchaseModel
import SchemaTesting
import Testing

@testable import ReceiptIntake
@testable import ServiceRuntime

/// The pages that problems and reasons lead to, and the files about events.
@Suite("Pages")
struct PageTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized

    private static func sources(_ folder: String) throws -> [String] {
        let files = FileManager.default.enumerator(at: root.appending(path: folder), includingPropertiesForKeys: nil)
        let paths = (files?.allObjects as? [URL] ?? []).filter { $0.pathExtension == "swift" }
        return try paths.map { try String(contentsOf: $0, encoding: .utf8) }
    }

    @Test func `every kind of problem is in the table, is told by something, and is made of the table alone`() throws {
        let sources = try Self.sources("Services/ReceiptIntake").joined()
        let declared = sources.matches(of: /static let (\w+) = ProblemKind\(\s*"([a-z-]+)"/)
        #expect(declared.map { String($0.2) }.sorted() == ProblemKind.all.map(\.code))
        for name in declared.map(\.1) where name != "internalServerError" {
            // No \b: a dot between letters is none in Unicode's words.
            let isTold = sources.contains(try Regex("(ProblemDetails\\(\\s*|ProblemKind)\\.\(name)(?![A-Za-z])"))
            #expect(isTold, "nothing tells \(name)")
        }
        #expect(!sources.contains(/ProblemDetails\(\s*"/))
        // The middleware of every service makes it.
        let internalError = ProblemDetails(status: .internalServerError)
        let kind = ProblemKind.internalServerError
        #expect(internalError.code == kind.code && internalError.title == kind.title)
    }

    @Test func `every reason that the code names has a page, and no other`() throws {
        let pages = Reason.all.map(\.code.rawValue)
        #expect(Set(pages).count == pages.count, "two pages of one reason")
        var named: Set<String> = []
        for folder in ["Shared/PurchaseModel", "Shared/AppStore", "Services/VerificationWorker"] {
            for text in try Self.sources(folder) {
                named.formUnion(
                    text.matches(of: /(?:ReasonCode|RejectionCode)\(rawValue: "([a-z0-9_]+)"\)/).map { String($0.1) })
            }
        }
        for text in try Self.sources("Shared/AppStoreServerAPI/VerifyReceipt") {
            named.formUnion(text.matches(of: /Self\(rawValue: "([a-z0-9_]+)"\)/).map { String($0.1) })
        }
        #expect(named == Set(pages))
    }

    @Test(.enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment))
    func `the type of a real problem leads to its page, and its reason to another`() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let problem = try await intake.send(.get, "/v1/accounts/a?app=x", token: nil)
                let type = try #require(problem.fields["type"] as? String)
                let page = try await intake.send(.get, type, token: nil)
                #expect(page.status == 200 && page.text.hasPrefix("authentication-required\n"))
                #expect(page.headers[.contentType] == "text/plain; charset=utf-8")
                for path in ["/problems", "/reasons", "/reasons/product_unknown"] {
                    #expect(try await intake.send(.get, path, token: nil).status == 200, "\(path)")
                }
                for path in ["/problems/none", "/reasons/none", "/problems/%00", "/reasons/%2e%2e"] {
                    #expect(try await intake.send(.get, path, token: nil).slug == "not-found", "\(path)")
                }
                let schema = try await intake.send(.get, "/schemas/events.json", token: nil)
                #expect(schema.headers[.contentType] == "application/schema+json")
                #expect(Array(schema.text.utf8) == EventSchemas.schema)
                #expect(
                    Array(try await intake.send(.get, "/schemas/examples.json", token: nil).text.utf8)
                        == EventSchemas.examples)
            }
        }
    }
}
