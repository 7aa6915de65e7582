import Foundation
import Testing

@Suite("The list of events")
struct EventListTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static func types(in file: String) throws -> Set<String> {
        let text = try String(contentsOf: root.appending(path: file), encoding: .utf8)
        return Set(text.matches(of: /iap\.[a-z]+\.[a-z_]+/).map { String($0.output) })
    }

    @Test("the README lists every type of event, and no other")
    func readme() throws {
        let known = try Self.types(in: "Shared/Messages/PurchaseEvent+Types.swift")
        #expect(known.count >= 27)
        #expect(try Self.types(in: "Shared/Messages/README.md") == known)
    }
}
