import Foundation
import Persistence
import PurchaseModel
import ServiceRuntime

/// What the studio's backend sends to have webhooks sent again: `WebhookResend` in the OpenAPI document.
struct ResendRequest: Decodable, Sendable {
    /// What a request may hold, and what it may cost.
    enum Limit {
        /// Deliveries that one request asks for at most.
        static let deliveries = 1_000
        /// Looks at `WebhookResendStore.Limit.rowsPerLook` deliveries each that one request makes at most.
        static let looks = 20
        /// Unicode scalars of a text.
        static let text = 255
    }

    let app: String
    let event: String?
    let endpoint: String?
    let type: String?
    let environment: String?
    let account: String?
    let state: String?
    let since: String?
    let until: String?
    let after: String?
    let limit: Int?
    let dryRun: Bool?
    let reason: String?

    enum CodingKeys: String, CodingKey {
        case app, event, endpoint, type, environment, account, state, since, until, after, limit, reason
        case dryRun = "dry_run"
    }

    /// - Throws: `DecodingError`; `ProblemDetails` for members that are no texts.
    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        func text(_ key: CodingKeys) throws -> String? {
            guard let text = try members.decodeIfPresent(String.self, forKey: key) else { return nil }
            guard PrintableText.isOne(text, lengthMaximum: key == .after ? ListCursor.bytesMaximum : Limit.text) else {
                throw ProblemDetails.fieldInvalid(
                    key.rawValue, "1 to \(Limit.text) characters without control characters")
            }
            return text
        }
        app = try members.decode(String.self, forKey: .app)
        (event, endpoint, type) = (try text(.event), try text(.endpoint), try text(.type))
        (environment, account, state) = (try text(.environment), try text(.account), try text(.state))
        (since, until, after) = (try text(.since), try text(.until), try text(.after))
        reason = try members.decodeIfPresent(String.self, forKey: .reason)
        do { limit = try members.decodeIfPresent(Int.self, forKey: .limit) } catch { throw Self.limitInvalid }
        dryRun = try members.decodeIfPresent(Bool.self, forKey: .dryRun)
    }

    /// What is meant, of this app.
    ///
    /// - Throws: `ProblemDetails` for what means nothing.
    func selection(app: String) throws -> WebhookSelection {
        var selection = WebhookSelection()
        (selection.app, selection.event, selection.endpoint) = (app, event, endpoint)
        selection.environment = try StoreEnvironment.meant(by: environment)
        if let type {
            guard WebhookSelection.isPattern(type) else {
                throw ProblemDetails.fieldInvalid("type", "a type of events, or the beginning of some and a `*`")
            }
            selection.type = type
        }
        if let account {
            guard let account = Account(account) else {
                throw ProblemDetails.fieldInvalid("account", "1 to 255 printable characters")
            }
            selection.account = account
        }
        if let state {
            guard let state = WebhookSelection.State(rawValue: state) else {
                let names = WebhookSelection.State.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
                throw ProblemDetails.fieldInvalid("state", "one of \(names)")
            }
            selection.state = state
        }
        selection.since = try Self.time(since, .since)
        selection.until = try Self.time(until, .until)
        return selection
    }

    /// How far the request goes.
    ///
    /// - Throws: `ProblemDetails` for another limit, and for what is none of our cursors.
    func walk() throws -> WebhookResendStore.Walk {
        let limit = limit ?? Limit.deliveries
        guard (1...Limit.deliveries).contains(limit) else { throw Self.limitInvalid }
        return WebhookResendStore.Walk(
            after: try after.map(Self.position), limit: limit, looksMaximum: Limit.looks)
    }

    private static func position(_ cursor: String) throws -> WebhookResendStore.Position {
        guard let parts = ListCursor.parts(cursor) else { throw ListCursor.invalid }
        return WebhookResendStore.Position(event: parts.first, endpoint: parts.second)
    }

    /// Why, for the audit log.
    ///
    /// - Throws: `ProblemDetails` when it is missing.
    func asker(_ actor: String) throws -> WebhookResendStore.Asker {
        WebhookResendStore.Asker(actor: actor, reason: try ActReason.required(reason))
    }

    private static func time(_ text: String?, _ key: CodingKeys) throws -> Date? {
        guard let text else { return nil }
        guard let date = WebhookSelection.time(text) else {
            throw ProblemDetails.fieldInvalid(key.rawValue, "a time by RFC 3339, or a day")
        }
        return date
    }

    private static let limitInvalid = ProblemDetails.fieldInvalid(
        "limit", "a whole number from 1 to \(Limit.deliveries)")
}
