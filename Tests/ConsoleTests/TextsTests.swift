import Foundation
import PurchaseModel
import Testing

@testable import Console

@Suite("The texts of the console")
struct TextsTests {
    @Test("every language has the same keys, and no text is empty")
    func sameKeys() throws {
        let english = try Texts.read(.en)
        for language in Language.allCases {
            let texts = try Texts.read(language)
            #expect(Set(texts.keys).symmetricDifference(english.keys) == [], "\(language)")
            #expect(texts.filter { $0.value.isEmpty }.isEmpty)
            for (key, text) in texts {
                #expect(Self.places(text) == Self.places(english[key] ?? ""), "\(language) \(key)")
            }
        }
    }

    @Test("every reason has a text, and what is held for it has something to do")
    func reasons() throws {
        let texts = try Texts.read(.en)
        #expect(Reason.all.filter { texts["reason.\($0.code)"] == nil }.map(\.code) == [])
        let held = Reason.all.filter { $0.parked != nil }
        #expect(held.count > 10)
        #expect(held.filter { texts["to_do.\($0.code)"] == nil }.map(\.code) == [])
    }

    private static func places(_ text: String) -> Set<String> {
        Set(text.matches(of: #/\{[a-z0-9_]+\}/#).map { String($0.0) })
    }

    @Test("every key that the sources name is there")
    func namedKeys() throws {
        let texts = try Texts.read(.en)
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Services/Console").standardizedFileURL
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
        var named: Set<String> = []
        for file in files {
            let source = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
            named.formUnion(source.matches(of: #/texts\("([a-z_-]+\.[a-zA-Z_]+)"/#).map { String($0.1) })
        }
        #expect(named.count > 100)
        #expect(named.filter { texts[$0] == nil }.sorted() == [])
        for permission in Permission.allCases { #expect(texts["permission.\(permission.rawValue)"] != nil) }
        for role in Role.allCases { #expect(texts["role.\(role.rawValue)"] != nil) }
        for place in Place.allCases { #expect(texts["place.\(place.rawValue)"] != nil) }
        for many in ManyAct.allCases {
            #expect(texts["\(many.rawValue).title"] != nil && texts["\(many.rawValue).do"] != nil)
        }
        for act in Act.allCases { #expect(texts["\(act.rawValue).title"] != nil && texts["\(act.rawValue).do"] != nil) }
    }
}
