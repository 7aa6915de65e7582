import Testing

@testable import CountersignTool

/// What is added to a settings file stands where it belongs, and everything else stays as it was.
@Suite struct SettingsTextTests {
    private static let app = SettingValue.fields([
        ("bundle_id", .text("com.example.game")), ("app_apple_id", .number(7)),
    ])
    private static let block = "- bundle_id: com.example.game\n", id = "app_apple_id: 7\n"

    private func edited(_ text: String, _ body: (inout SettingsText) throws -> Void) throws -> String {
        var settings = try SettingsText(text, path: "apps.yaml")
        try body(&settings)
        return settings.text
    }

    private func withApp(_ text: String) throws -> String {
        try edited(text) { try $0.add(Self.app, toListAt: [.field("apps")]) }
    }

    @Test func anEmptyListGetsALineForEachEntry() throws {
        let new = try withApp("# head\n#   - x\napps: []   # none yet\nother: 1\n")
        #expect(new == "# head\n#   - x\napps:  # none yet\n  \(Self.block)    \(Self.id)other: 1\n")
    }

    @Test func anEntryGoesBehindTheLastOneWithItsComments() throws {
        let old = "apps:\n  # first\n  - { bundle_id: a }   # a\n  - bundle_id: b\n    # end of b\n\n# tail\nz: 1\n"
        #expect(
            try withApp(old)
                == "apps:\n  # first\n  - { bundle_id: a }   # a\n  - bundle_id: b\n    # end of b\n"
                + "  \(Self.block)    \(Self.id)\n# tail\nz: 1\n")
    }

    @Test func aListMayStandAsFarToTheLeftAsItsField() throws {
        #expect(
            try withApp("apps:\n- bundle_id: a\nz: 1") == "apps:\n- bundle_id: a\n\(Self.block)  \(Self.id)z: 1")
    }

    @Test func aListInBracketsGetsItInFront() throws {
        let new = "apps: [{ bundle_id: com.example.game, app_apple_id: 7 }, { bundle_id: \"a]\" }] # x\n"
        #expect(try withApp("apps: [{ bundle_id: \"a]\" }] # x\n") == new)
    }

    @Test func aFieldIsAddedToAMapping() throws {
        let keys = SettingValue.fields([("api_keys_sha256", .list([.text("ff")]))])
        let new = try edited("apps:\n  - bundle_id: a\n  - {bundle_id: b}\n") {
            try $0.add("authentication", keys, toMappingAt: [.field("apps"), .entry(1)])
            try $0.add("authentication", keys, toMappingAt: [.field("apps"), .entry(0)])
        }
        #expect(
            new == "apps:\n  - bundle_id: a\n    authentication:\n      api_keys_sha256:\n        - ff\n"
                + "  - { authentication: { api_keys_sha256: [ff] }, bundle_id: b}\n")
    }

    @Test(arguments: ["apps:\n", "apps: none\n", "base: &a [1]\napps: *a\n", "other: []\n"])
    func whatIsWrittenInAnotherWayIsLeftToAPerson(text: String) throws {
        #expect { _ = try withApp(text) } throws: { error in
            "\(error)".contains("nothing was changed: change it by hand")
        }
    }

    @Test(arguments: ["", "- a\n", "apps: [\n", "apps: []\r\n"])
    func whatIsNoMappingIsRefused(text: String) {
        #expect(throws: ToolFailure.self) { _ = try SettingsText(text, path: "apps.yaml") }
    }

    @Test(
        arguments: [
            ("com.example.game", "com.example.game"), ("2X9R4HXF34", "\"2X9R4HXF34\""), ("yes", "\"yes\""),
            ("iap.*", "\"iap.*\""),
            ("a \"b\" # c\\", "\"a \\\"b\\\" # c\\\\\""), ("a\nb", "\"a\\u000ab\""), ("", "\"\""),
        ])
    func textsAreInQuotesUnlessTheyNeedNone(text: String, scalar: String) {
        #expect(SettingValue.text(text).flow == scalar)
    }
}
