import Foundation
import Testing

/// The table "The articles' pitfalls" in Tests/README.md names tests and stories that exist.
@Suite("The table of pitfalls")
struct PitfallTableTests {
    private static let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()

    /// A row of the table.
    private struct Row {
        let pitfall: String
        let articles: [Int]
        /// `Type.function`, a story, or a script of `deploy`.
        let proofs: [String]
    }

    private func rows() throws -> [Row] {
        let text = try String(contentsOf: Self.tests.appending(path: "README.md"), encoding: .utf8)
        let section = try #require(text.components(separatedBy: "## The articles' pitfalls").last)
        let lines = section.components(separatedBy: "\n## ")[0].split(separator: "\n").filter { $0.hasPrefix("| ") }
        return try lines.dropFirst().map { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            try #require(cells.count == 3, "\(line)")
            let articles = cells[1].split(separator: ",").compactMap { Int($0.trimmingCharacters(in: .whitespaces)) }
            // Every second piece is between backticks.
            let pieces = cells[2].components(separatedBy: "`")
            let proofs = stride(from: 1, to: pieces.count, by: 2).map { pieces[$0] }
            return Row(pitfall: cells[0], articles: articles, proofs: proofs)
        }
    }

    /// The sources in which a type of this name is declared.
    private func sources() throws -> [String] {
        let files = FileManager.default.enumerator(at: Self.tests, includingPropertiesForKeys: nil)
        return try (files?.compactMap { $0 as? URL } ?? []).filter { $0.pathExtension == "swift" }
            .map { try String(contentsOf: $0, encoding: .utf8) }
    }

    @Test func `every pitfall has a proof, and every proof exists`() throws {
        let rows = try rows()
        let sources = try sources()
        #expect(rows.count > 30)
        #expect(Set(rows.flatMap(\.articles)) == [1, 2, 3, 4])
        for row in rows {
            #expect(!row.proofs.isEmpty && !row.articles.isEmpty, "\(row.pitfall)")
            for proof in row.proofs {
                #expect(exists(proof, in: sources), "\(proof) does not exist: \(row.pitfall)")
            }
        }
    }

    private func exists(_ proof: String, in sources: [String]) -> Bool {
        if proof.hasPrefix("Stories/") {
            return FileManager.default.fileExists(atPath: Self.tests.appending(path: proof).path)
        }
        if proof.hasPrefix("deploy/") {
            let root = Self.tests.deletingLastPathComponent()
            return FileManager.default.fileExists(atPath: root.appending(path: proof).path)
        }
        guard let dot = proof.firstIndex(of: ".") else { return false }
        let (type, function) = (proof[..<dot], proof[proof.index(after: dot)...])
        return sources.contains { source in
            source.contains("struct \(type) {") && source.contains("@Test")
                && (source.contains("func \(function)(") || source.contains("func `\(function)`("))
        }
    }
}
