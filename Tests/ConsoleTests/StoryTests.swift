import Foundation
import Testing

@testable import Console

@Suite("Stories and problems in every language")
struct StoryTests {
    private static func source(_ path: String) throws -> String {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardizedFileURL
        return try String(contentsOf: folder.appending(path: path), encoding: .utf8)
    }

    @Test("every clause of a story, every event and every problem of intake's has its words")
    func complete() throws {
        let document = try Self.source("Services/ReceiptIntake/OpenAPI/Document/openapi.yaml")
        let codes = try #require(document.firstMatch(of: #/What a clause says: ([a-z_,\s]+)\./#)).1
            .split(whereSeparator: { !$0.isLetter && $0 != "_" }).map(String.init)
        let events = try Self.source("Services/ReceiptIntake/Reading/EventSentence.swift")
            .matches(of: #/PurchaseEvent\.([A-Za-z]+):/#).count
        let problems = try Self.source("Services/ReceiptIntake/HTTP/ProblemKind+List.swift")
            .matches(of: #/ProblemKind\(\s*"([a-z-]+)"/#).map { String($0.1) }
        #expect(codes.count > 60 && problems.count > 40)
        for language in Language.allCases {
            let texts = try Texts.read(language)
            #expect(codes.filter { texts["story.\($0)"] == nil } == [], "\(language)")
            #expect(problems.filter { texts["problem.\($0)"] == nil } == [], "\(language)")
            #expect(texts.keys.count { $0.hasPrefix("event.iap.") } == events, "\(language)")
        }
    }

    private static func sentence(_ parts: [JSON]) -> JSON { ["text": "English.", "parts": .list(parts)] }

    @Test("a sentence is said clause by clause, with codes and times as words")
    func sentences() throws {
        let texts = try Texts.all()
        let parts: [JSON] = [
            ["code": "no_outcome", "values": ["submission_id": "sub_1"]],
            ["code": "because", "values": ["reason": "unclaimed"]],
            ["code": "next_try", "values": ["due_at": "2026-11-21T15:39:22.104Z"]],
        ]
        let chinese = try #require(texts[.zh]).sentence(Self.sentence(parts))
        #expect(chinese == "提交 sub_1 尚无结果。原因：无人提交，账号未知。下次尝试：2026-11-21 15:39:22 UTC。")
        let english = try #require(texts[.en]).sentence(Self.sentence(parts))
        #expect(english.hasPrefix("Submission sub_1 has no outcome yet. Because: nobody has posted it"))
    }

    @Test("a clause that is not known here, or lacks a value, leaves the sentence in intake's English")
    func fallback() throws {
        let korean = try #require(try Texts.all()[.ko])
        for part: JSON in [
            ["code": "of_tomorrow", "values": [:]], ["code": "next_try", "values": [:]], ["code": "next_try"],
        ] {
            #expect(korean.sentence(Self.sentence([part])) == "English.")
        }
        #expect(korean.sentence(["text": "English."]) == "English.")
    }

    @Test("what a stranger wrote is no place of a text")
    func places() throws {
        let english = try #require(try Texts.all()[.en])
        let part: JSON = ["code": "granted", "values": ["account": "{version} {0}"]]
        #expect(english.sentence(Self.sentence([part])) == "Delivered to account {version} {0}.")
        #expect(english("many.done", "{1}", "2") == "{1} of 2 are done.")
    }
}
