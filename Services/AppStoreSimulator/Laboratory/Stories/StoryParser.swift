import Foundation

/// Reads a story's file.
struct StoryParser {
    /// The file is no story; each problem has its line.
    struct Failure: Error {
        let problems: [StoryProblem]
    }

    var reader = StoryReader()
    var story = Story()
    /// What steps kept so far.
    var keptNames: Set<String> = []

    /// Reads the text of a file.
    ///
    /// - Throws: `StoryParser.Failure`.
    static func parse(_ yaml: String) throws -> Story {
        var parser = StoryParser()
        do {
            parser.read(try StoryDocument.read(yaml))
        } catch let problem as StoryProblem {
            throw Failure(problems: [problem])
        }
        guard parser.reader.problems.isEmpty else {
            throw Failure(problems: parser.reader.problems.sorted { $0.line < $1.line })
        }
        return parser.story
    }

    /// Reads a file.
    ///
    /// - Throws: `StoryParser.Failure`, `ToolFailure`.
    static func parse(file path: String) throws -> Story {
        guard let handle = FileHandle(forReadingAtPath: path),
            let data = try? handle.read(upToCount: StoryDocument.Limit.bytes + 1)
        else { throw ToolFailure("\(path) cannot be read") }
        guard let text = String(data: data, encoding: .utf8) else {
            throw Failure(problems: [StoryProblem(line: 1, message: "the file is no UTF-8 text")])
        }
        return try parse(text)
    }

    private static let storyKeys = [
        "story", "about", "clock", "environment", "app", "accounts", "devices", "receiver", "steps",
    ]
    private static let appKeys = [
        "bundleId", "appAppleId", "bundleVersion", "isReleased", "sharedSecret", "gracePeriod", "sandboxMonth",
        "isAdvancedCommerce", "familyWebOrderLineItem", "products",
    ]
    private static let productKeys = [
        "productId", "type", "price", "currency", "storefrontPrices", "subscriptionGroupIdentifier", "level", "period",
        "isFamilyShareable", "isForSale", "offers", "signs",
    ]
    private static let accountKeys = [
        "storefront", "storefrontId", "family", "needsApproval", "canPay", "isDeleted",
    ]
    private static let deviceKeys = ["account", "vendorIdentifier"]

    private mutating func read(_ root: StoryNode) {
        let entries = reader.entries(root, of: "a story", allowed: Self.storyKeys)
        // People first, whatever their place in the file: steps refer to them.
        for entry in entries where entry.key != "steps" { readHead(entry) }
        for required in ["story", "app", "steps"] where !entries.contains(where: { $0.key == required }) {
            reader.report(root.line, "a story needs \"\(required)\"")
        }
        guard let steps = entries.first(where: { $0.key == "steps" }) else { return }
        let nodes = reader.list(steps.node, of: "steps", maximum: Story.Limit.steps)
        for node in nodes {
            if let step = readStep(node) { story.steps.append(step) }
        }
        if nodes.isEmpty { reader.report(steps.line, "a story needs at least one step") }
    }

    private mutating func readHead(_ entry: StoryNode.Entry) {
        let node = entry.node
        switch entry.key {
        case "story": story.name = reader.text(node, of: "story")
        case "about": story.about = reader.text(node, of: "about")
        case "clock":
            story.clock = node.value.text.flatMap(StoryInstant.milliseconds)
            if story.clock == nil { reader.report(node.line, "clock must be an instant: \"2026-01-31T10:00:00Z\"") }
        case "environment": story.environment = readEnvironment(node)
        case "app": readApp(node)
        case "accounts": story.accounts = readPeople(node, of: "accounts", allowed: Self.accountKeys)
        case "devices": story.devices = readPeople(node, of: "devices", allowed: Self.deviceKeys)
        default: story.receiver = readScript(node, of: "receiver")
        }
    }

    private mutating func readApp(_ node: StoryNode) {
        for entry in reader.entries(node, of: "app", allowed: Self.appKeys) {
            switch entry.key {
            case "bundleId": story.bundleId = reader.name(dotted: entry.node, of: "bundleId")
            case "products":
                for product in reader.list(entry.node, of: "products", maximum: Story.Limit.products) {
                    readProduct(product)
                }
            default: story.app[entry.key] = entry.node.value
            }
        }
        if story.bundleId.isEmpty { reader.report(node.line, "app needs \"bundleId\"") }
    }

    private mutating func readProduct(_ node: StoryNode) {
        var fields: [String: JSONValue] = [:]
        for entry in reader.entries(node, of: "a product", allowed: Self.productKeys) {
            fields[entry.key] = entry.node.value
        }
        let types = ["Consumable", "Non-Consumable", "Auto-Renewable Subscription", "Non-Renewing Subscription"]
        guard let type = fields["type"]?.text, types.contains(type) else {
            reader.report(node.line, "a product's type is \(StoryReader.choice(types))")
            return
        }
        guard let name = fields.removeValue(forKey: "productId")?.text, !name.isEmpty else {
            reader.report(node.line, "a product needs \"productId\"")
            return
        }
        story.products.append(Story.NamedFields(name: name, fields: fields))
    }

    private mutating func readPeople(_ node: StoryNode, of what: String, allowed: [String]) -> [Story.NamedFields] {
        let entries = reader.entries(node, of: what, allowed: nil)
        if entries.count > Story.Limit.people { reader.report(node.line, "\(what): at most \(Story.Limit.people)") }
        return entries.map { entry in
            var fields: [String: JSONValue] = [:]
            // `alice:` alone is an account with nothing special.
            if entry.node.value != .null {
                for field in reader.entries(entry.node, of: "\(what).\(entry.key)", allowed: allowed) {
                    fields[field.key] = field.node.value
                }
            }
            return Story.NamedFields(name: reader.name(entry.key, line: entry.line, of: what), fields: fields)
        }
    }

    mutating func readEnvironment(_ node: StoryNode) -> String {
        let text = node.value.text ?? ""
        if !["Production", "Sandbox"].contains(text) {
            reader.report(node.line, "an environment is Production or Sandbox")
        }
        return text
    }

    /// `{answers: [500, 500, 200]}`, or `{answers: 503}` for always the same.
    mutating func readScript(_ node: StoryNode, of what: String) -> ReceiverScript {
        var script = ReceiverScript()
        for entry in reader.entries(node, of: what, allowed: ["answers"]) {
            if entry.node.list == nil {
                script.always = reader.whole(entry.node, of: "answers", in: 200...599)
            } else {
                for answer in reader.list(entry.node, of: "answers", maximum: Story.Limit.answers) {
                    script.answers.append(reader.whole(answer, of: "an answer", in: 200...599))
                }
            }
        }
        return script
    }
}

extension StoryReader {
    /// A bundle id: as a name, with dots.
    mutating func name(dotted node: StoryNode, of what: String) -> String {
        let text = text(node, of: what)
        _ = name(text.replacingOccurrences(of: ".", with: "-"), line: node.line, of: what)
        return text
    }
}
