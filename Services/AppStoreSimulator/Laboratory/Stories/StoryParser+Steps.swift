extension StoryParser {
    private static let stepKeys = ["as", "note", "times", "eventually", "expect"]

    /// One step; nil when it has no action, which is reported.
    mutating func readStep(_ node: StoryNode) -> StoryStep? {
        guard let entries = node.entries else {
            reader.report(node.line, "a step must be a mapping such as {advance: P1M}")
            return nil
        }
        let actions = entries.filter { !Self.stepKeys.contains($0.key) }
        for entry in actions where StoryAction.named(entry.key) == nil {
            reader.report(
                entry.line,
                "a step has no \"\(entry.key)\"; allowed: \(Self.stepKeys.joined(separator: ", ")), and one of "
                    + StoryReader.choice(StoryAction.names))
        }
        let known = actions.compactMap { entry in StoryAction.named(entry.key).map { (entry, $0) } }
        guard let (entry, action) = known.first else {
            if actions.isEmpty {
                reader.report(node.line, "a step needs one of \(StoryReader.choice(StoryAction.names))")
            }
            return nil
        }
        if known.count > 1 {
            reader.report(known[1].0.line, "one action a step: \(action.name) or \(known[1].1.name)")
        }
        var step = StoryStep(line: node.line, action: action)
        step.fields = readFields(entry, of: action)
        for entry in entries where entry.key == "as" { readName(entry, of: &step) }
        for entry in entries where Self.stepKeys.contains(entry.key) { readAttribute(entry, of: &step) }
        return step
    }

    /// The name is known to the step's own expectations, and to all later steps.
    private mutating func readName(_ entry: StoryNode.Entry, of step: inout StoryStep) {
        let name = reader.name(reader.text(entry.node, of: "as"), line: entry.line, of: "as")
        if StoryScope.builtIns.contains(name) { reader.report(entry.line, "as: ${\(name)} is there already") }
        keptNames.insert(name)
        step.name = name
    }

    private mutating func readAttribute(_ entry: StoryNode.Entry, of step: inout StoryStep) {
        switch entry.key {
        case "as": break
        case "note": step.note = reader.text(entry.node, of: "note")
        case "times": step.times = reader.whole(entry.node, of: "times", in: 1...Story.Limit.times)
        case "eventually": step.isEventual = reader.flag(entry.node, of: "eventually")
        default:
            checkReferences(entry.node)
            step.expectations = readExpectations(entry.node)
        }
    }

    private mutating func readFields(_ entry: StoryNode.Entry, of action: StoryAction) -> [String: JSONValue] {
        checkReferences(entry.node)
        guard entry.node.entries != nil || entry.node.value == .null && action.scalarField == nil else {
            return readScalar(entry, of: action)
        }
        let allowed = action.isOpen ? nil : action.fields.map(\.name)
        var fields: [String: JSONValue] = [:]
        if entry.node.entries != nil {
            for field in reader.entries(entry.node, of: action.name, allowed: allowed) {
                fields[field.key] = field.node.value
                if let known = action.fields.first(where: { $0.name == field.key }) { check(field.node, is: known) }
            }
        }
        for field in action.fields where field.isRequired && fields[field.name] == nil {
            reader.report(entry.line, "\(action.name) needs \"\(field.name)\"")
        }
        if case .runner(let special) = action.call { check(fields, of: special, entry) }
        return fields
    }

    private mutating func readScalar(_ entry: StoryNode.Entry, of action: StoryAction) -> [String: JSONValue] {
        guard case .scalar(let value) = entry.node.content, let name = action.scalarField else {
            reader.report(
                entry.line, "\(action.name) must be a mapping with \(StoryReader.choice(action.fields.map(\.name)))")
            return [:]
        }
        if let field = action.fields.first(where: { $0.name == name }) {
            check(entry.node, is: field)
        } else if value != .text(name) {
            reader.report(entry.line, "\(action.name) must be \"\(name)\" or a mapping")
        }
        let others = action.fields.filter { $0.isRequired && $0.name != name }
        if !others.isEmpty {
            reader.report(entry.line, "\(action.name) needs \"\(others.map(\.name).joined(separator: "\", \""))\" too")
        }
        return [name: value]
    }

    private mutating func check(
        _ fields: [String: JSONValue], of special: StoryAction.Special, _ entry: StoryNode.Entry
    ) {
        switch special {
        case .api, .control, .backend:
            let methods = ["get", "post", "put", "delete"].filter { fields[$0] != nil }
            let isPurchase = fields["purchase"] != nil
            if methods.count + (isPurchase ? 1 : 0) != 1 {
                reader.report(entry.line, "\(entry.key) needs one of get, post, put or delete with a path")
            }
            // A receiver that refuses stands for the backend's endpoint while that is away.
            if special == .backend, let receiver = story.receiver, receiver.always < 300 {
                reader.report(
                    entry.line,
                    "a receiver that takes notifications keeps them from the backend; let it answer an error, or leave it out"
                )
            }
            if let token = fields["token"]?.text, AppleClient.TokenKind(rawValue: token) == nil {
                let kinds = AppleClient.TokenKind.allCases.map(\.rawValue)
                reader.report(entry.line, "token is \(StoryReader.choice(kinds))")
            }
        case .receiver:
            _ = readScript(entry.node, of: "receiver")
            if story.receiver == nil { reader.report(entry.line, "the story has no receiver: put one at its head") }
        default: break
        }
    }

    private mutating func check(_ node: StoryNode, is field: StoryAction.Field) {
        // What comes from another step is known when it runs.
        if let text = node.value.text, text.contains("${") { return }
        let isFine: Bool
        switch (field.kind, node.value) {
        case (.any, _), (.flag, .flag), (.map, .map), (.duration, .text), (.duration, .whole), (.text, .text),
            (.text, .whole), (.whole, .whole):
            isFine = true
        case (.account, .text(let name)): isFine = story.accounts.contains { $0.name == name }
        case (.device, .text(let name)): isFine = story.devices.contains { $0.name == name }
        case (.environment, .text(let name)): isFine = ["Production", "Sandbox"].contains(name)
        default: isFine = false
        }
        guard !isFine else { return }
        var known = ""
        if field.kind == .account { known = ": \(StoryReader.choice(story.accounts.map(\.name)))" }
        if field.kind == .device { known = ": \(StoryReader.choice(story.devices.map(\.name)))" }
        reader.report(node.line, "\(field.name) must be \(field.kind.rawValue)\(known)")
    }

    /// Every `${…}` must be kept by an earlier step, or be there always.
    private mutating func checkReferences(_ node: StoryNode) {
        switch node.content {
        case .map(let entries): for entry in entries { checkReferences(entry.node) }
        case .list(let list): for element in list { checkReferences(element) }
        case .scalar(let value):
            for reference in StoryScope.references(in: value.text ?? "") {
                let first = reference.prefix { $0 != "." && $0 != "[" }
                if StoryPath(reference) == nil {
                    reader.report(node.line, "${\(reference)} is no path such as ${first.transactionId}")
                } else if !StoryScope.builtIns.contains(String(first)) && !keptNames.contains(String(first)) {
                    reader.report(
                        node.line,
                        "${\(reference)}: no earlier step is kept as \"\(first)\"; always there: "
                            + StoryReader.choice(StoryScope.builtIns))
                } else {
                    checkPerson(reference, line: node.line)
                }
            }
        }
    }

    /// `${account.alice}` needs an alice.
    private mutating func checkPerson(_ reference: String, line: Int) {
        let parts = reference.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let people = ["account": story.accounts, "device": story.devices]
        if let known = people[parts[0]], !known.contains(where: { $0.name == parts.last }) {
            let names = StoryReader.choice(known.map(\.name))
            reader.report(line, "${\(reference)}: \(parts[0])s of the story: \(names)")
        } else if ["player", "uuid"].contains(parts[0]), parts.count < 2 || parts[1].isEmpty {
            reader.report(line, "${\(reference)} needs a name: ${\(parts[0]).alice}")
        }
    }
}
