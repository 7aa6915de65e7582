/// A story: an app, people, and what happens to them, step by step, with what must come of it.
///
/// Tests/Stories/README.md describes the file format.
struct Story: Sendable {
    enum Limit {
        /// Steps of one story: a person can still read them.
        static let steps = 500
        /// How often one step is repeated.
        static let times = 5_000
        /// Accounts, and as many devices.
        static let people = 100
        /// Products of the app.
        static let products = 100
        /// Answers that a receiver is told one by one.
        static let answers = 1_000
        /// Characters of a name within a story.
        static let name = 64
    }

    var name = ""
    var about = ""
    /// What the store's clock shows at the start, milliseconds since 1970; nil leaves the clock alone.
    ///
    /// A clock that was set stands still but for `advance`.
    var clock: Int64?
    /// Where steps happen that do not say it.
    var environment = "Production"
    /// The bundle id as written; a run adds its suffix.
    var bundleId = ""
    /// The app's other settings, as the control API takes them.
    var app: [String: JSONValue] = [:]
    var products: [NamedFields] = []
    var accounts: [NamedFields] = []
    var devices: [NamedFields] = []
    /// The answers of the story's own receiver of server notifications; nil for no receiver.
    var receiver: ReceiverScript?
    var steps: [StoryStep] = []

    /// Whether a step talks to a backend.
    var usesBackend: Bool { steps.contains { $0.action.isDone(by: .backend) } }

    /// Whether a step asks Apple's hosts, which takes a key.
    var usesAPI: Bool { steps.contains { $0.action.isDone(by: .api) } }

    /// A product, an account or a device: its name and what is set.
    struct NamedFields: Sendable {
        let name: String
        let fields: [String: JSONValue]
    }
}

/// What a story's receiver answers: one status after the other, then always the last word.
struct ReceiverScript: Sendable, Equatable {
    var answers: [Int] = []
    var always = 200
}

/// One step: an action, and what must come of it.
struct StoryStep: Sendable {
    let line: Int
    let action: StoryAction
    /// What the action is told; texts may hold `${…}`.
    var fields: [String: JSONValue] = [:]
    /// The name under which its answer is kept.
    var name: String?
    var note: String?
    var times = 1
    /// Asks again for a while until the expectations hold.
    var isEventual = false
    var expectations: [StoryExpectation] = []

    /// What a report calls it.
    var title: String {
        if let note { return note }
        let said = action.fields.compactMap { field in fields[field.name].flatMap { phrase(field, $0) } }
        let title = ([action.name] + said).joined(separator: " ")
        return title.count <= 100 ? title : title.prefix(100) + "…"
    }

    /// What the title says of a field; nil for one that is too much.
    private func phrase(_ field: StoryAction.Field, _ value: JSONValue) -> String? {
        switch (field.kind, field.name) {
        case (_, "get"), (_, "post"), (_, "put"), (_, "delete"): "\(field.name.uppercased()) \(value.plain)"
        case (.account, _), (_, action.scalarField), (_, "product"), (_, "subscription"): value.plain
        case (.flag, _), (.whole, _): "\(field.name): \(value.plain)"
        case (.environment, _): "in \(value.plain)"
        default: nil
        }
    }

    func expects(_ isThat: (StoryExpectation.Subject) -> Bool) -> Bool {
        expectations.contains { isThat($0.subject) }
    }
}

/// One thing that must be so after a step.
struct StoryExpectation: Sendable {
    enum Subject: Sendable {
        /// The answer's `outcome`, of purchases.
        case outcome(StoryMatcher)
        /// The HTTP status.
        case status(StoryMatcher)
        /// Apple's `errorCode`.
        case errorCode(StoryMatcher)
        /// The `detail` of a problem document contains this.
        case problem(String)
        case json(StoryPath, StoryMatcher)
        case header(String, StoryMatcher)
        /// The body as text.
        case body(StoryMatcher)
        /// Nobody answered, or not to the end.
        case unreachable
        /// The ids within a receipt, in any order.
        case transactions([JSONValue])
        /// Server notifications that came about during the step.
        case notifications(NotificationList)
        /// Server notifications that reached the story's receiver during the step.
        case received(NotificationList)
    }

    let line: Int
    let subject: Subject
}

/// Which notifications are expected.
struct NotificationList: Sendable {
    enum Order: Sendable {
        /// Exactly these in this order.
        case exact
        /// Exactly these in any order.
        case unordered
        /// These among others, in any order.
        case contains
        /// These must not be among them.
        case without
    }

    var order: Order
    var expected: [Expected]

    struct Expected: Sendable {
        /// `SUBSCRIBED/INITIAL_BUY`, or `REFUND` without a subtype.
        let type: String
        var fields: [(path: StoryPath, matcher: StoryMatcher)] = []
    }
}
