extension StoryParser {
    private static let expectationKeys = [
        "outcome", "status", "errorCode", "problem", "json", "headers", "body", "unreachable", "transactions",
        "notifications", "received",
    ]
    private static let listKeys = ["exactly", "unordered", "contains", "without"]

    mutating func readExpectations(_ node: StoryNode) -> [StoryExpectation] {
        reader.entries(node, of: "expect", allowed: Self.expectationKeys).flatMap { entry in
            readExpectation(entry).map { StoryExpectation(line: entry.line, subject: $0) }
        }
    }

    private mutating func readExpectation(_ entry: StoryNode.Entry) -> [StoryExpectation.Subject] {
        let node = entry.node
        switch entry.key {
        case "outcome": return [.outcome(readMatcher(node))]
        case "status": return [.status(readMatcher(node))]
        case "errorCode": return [.errorCode(readMatcher(node))]
        case "problem": return [.problem(reader.text(node, of: "problem"))]
        case "body": return [.body(readMatcher(node))]
        case "json":
            return readPaths(node, of: "json").map { .json($0.path, $0.matcher) }
        case "headers":
            return reader.entries(node, of: "headers", allowed: nil).map { .header($0.key, readMatcher($0.node)) }
        case "unreachable":
            if !reader.flag(node, of: "unreachable") { reader.report(node.line, "unreachable: true, or leave it out") }
            return [.unreachable]
        case "transactions":
            return [.transactions(reader.list(node, of: "transactions", maximum: 10_000).map(\.value))]
        case "notifications": return [.notifications(readNotifications(node))]
        default:
            if story.receiver == nil { reader.report(entry.line, "the story has no receiver: put one at its head") }
            return [.received(readNotifications(node))]
        }
    }

    private mutating func readPaths(
        _ node: StoryNode, of what: String
    ) -> [(path: StoryPath, matcher: StoryMatcher)] {
        var paths: [(path: StoryPath, matcher: StoryMatcher)] = []
        for entry in reader.entries(node, of: what, allowed: nil) {
            if let path = StoryPath(entry.key) {
                paths.append((path, readMatcher(entry.node)))
            } else {
                reader.report(entry.line, "\"\(entry.key)\" is no path such as data[0].status")
            }
        }
        return paths
    }

    /// A value, or a mapping of tests: `{above: 3}`.
    private mutating func readMatcher(_ node: StoryNode) -> StoryMatcher {
        guard let entries = node.entries else { return StoryMatcher(tests: [(.equals, node.value)]) }
        let names = StoryMatcher.Test.allCases.map(\.rawValue)
        var tests: [(test: StoryMatcher.Test, operand: JSONValue)] = []
        for entry in entries {
            if let test = StoryMatcher.Test(rawValue: entry.key) {
                tests.append((test, entry.node.value))
            } else {
                reader.report(entry.line, "no test is \"\(entry.key)\"; allowed: \(StoryReader.choice(names))")
            }
        }
        return StoryMatcher(tests: tests)
    }

    /// A list in order, or `{contains: […]}`, `{unordered: […]}`, `{without: […]}`.
    private mutating func readNotifications(_ node: StoryNode) -> NotificationList {
        guard node.entries != nil else { return readNotifications(node, .exact) }
        let entries = reader.entries(node, of: "notifications", allowed: Self.listKeys)
        guard let entry = entries.first, entries.count == 1 else {
            reader.report(node.line, "notifications: a list, or one of \(StoryReader.choice(Self.listKeys))")
            return NotificationList(order: .exact, expected: [])
        }
        switch entry.key {
        case "unordered": return readNotifications(entry.node, .unordered)
        case "contains": return readNotifications(entry.node, .contains)
        case "without": return readNotifications(entry.node, .without)
        default: return readNotifications(entry.node, .exact)
        }
    }

    private mutating func readNotifications(_ node: StoryNode, _ order: NotificationList.Order) -> NotificationList {
        var expected: [NotificationList.Expected] = []
        for element in reader.list(node, of: "notifications", maximum: Story.Limit.times) {
            expected += readNotification(element)
        }
        return NotificationList(order: order, expected: expected)
    }

    /// `DID_RENEW`, `SUBSCRIBED/INITIAL_BUY`, `DID_RENEW ×6`, or `{REFUND: {payload.data.status: 1}}`.
    private mutating func readNotification(_ node: StoryNode) -> [NotificationList.Expected] {
        if let entries = node.entries {
            guard let entry = entries.first, entries.count == 1 else {
                reader.report(node.line, "a notification is REFUND, DID_RENEW ×6, or {REFUND: {path: value}}")
                return []
            }
            let (type, count) = readType(entry.key, line: entry.line)
            let fields = readPaths(entry.node, of: entry.key)
            return Array(repeating: NotificationList.Expected(type: type, fields: fields), count: count)
        }
        let (type, count) = readType(reader.text(node, of: "a notification"), line: node.line)
        return Array(repeating: NotificationList.Expected(type: type), count: count)
    }

    private mutating func readType(_ text: String, line: Int) -> (type: String, count: Int) {
        let words = text.split(separator: " ").map(String.init)
        var count = 1
        if words.count == 2, let factor = words.last, let first = factor.first, "×x".contains(first) {
            count = Int(factor.dropFirst()) ?? 0
        }
        let parts = (words.first ?? "").split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard words.count <= 2, (1...Story.Limit.times).contains(count), let type = parts.first else {
            reader.report(line, "\"\(text)\" is no notification such as DID_RENEW ×6")
            return (text, 1)
        }
        guard let subtypes = TriggerKind.subtypes(of: type) else {
            let types = NotificationType.allCases.map(\.rawValue)
            reader.report(line, "no notification type is \"\(type)\"; allowed: \(StoryReader.choice(types))")
            return (text, 1)
        }
        if parts.count > 2 || parts.count == 2 && !subtypes.contains(parts[1]) {
            reader.report(line, "\(type) has \(subtypes.isEmpty ? "no subtype" : StoryReader.choice(subtypes))")
        }
        return (words[0], count)
    }
}
