import Foundation
import NIOHTTP1

/// The backend under test: Countersign's intake, or something that answers as it does.
struct StoryBackend: Sendable {
    private enum Limit {
        /// Seconds that a post waits for its outcome, the most that intake allows.
        static let wait = 25
        static let answer = Duration.seconds(60)
    }

    let http: HTTPCaller
    /// Without a slash at its end.
    let base: String
    /// Where the backend takes server notifications.
    var notificationURL: String?
    /// How the app proves who is playing.
    let credentials: CredentialSource

    /// A call of its API: a path as it stands, or a purchase that is posted for an account.
    ///
    /// - Throws: `ToolFailure`.
    func call(_ fields: [String: JSONValue], bundleId: String, account: String?) async throws -> StoryAnswer {
        var (method, path, body) = (HTTPMethod.GET, "", fields["body"])
        let credentials = try await credentials.credentials(of: [account].compactMap(\.self))
        if let proof = fields["purchase"] {
            (method, path) = (.POST, "/v1/purchases?wait=\(Limit.wait)")
            var purchase: [String: JSONValue] = ["app": .text(bundleId), "signed_transaction": proof]
            if credentials.isServerKey { purchase["account"] = account.map(JSONValue.text) }
            body = .map(purchase.merging(body?.map ?? [:]) { _, own in own })
        } else {
            for (name, kind) in [("get", HTTPMethod.GET), ("post", .POST), ("put", .PUT)] {
                if let value = fields[name] { (method, path) = (kind, value.plain) }
            }
        }
        let headers =
            credentials.headers(account: account ?? "") + (fields["headers"]?.map ?? [:]).map { ($0, $1.plain) }
        do {
            return StoryAnswer(
                ControlClient.Answer(
                    try await http.call(
                        method, base + path, json: body.map { Data($0.json.utf8) }, headers: headers,
                        timeout: Limit.answer)))
        } catch {
            throw ToolFailure("the backend at \(base) cannot be reached: \(error)")
        }
    }
}
