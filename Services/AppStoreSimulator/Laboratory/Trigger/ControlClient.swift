import AsyncHTTPClient
import Foundation
import NIOHTTP1

/// Calls the simulator's control API.
struct ControlClient: Sendable {
    enum Limit {
        /// How long a call may take: an advance by years delivers every notification on the way.
        static let answer = Duration.seconds(300)
    }

    /// Where the simulator is when nobody says it.
    static let defaultBase = "http://127.0.0.1:8099"

    let http: HTTPCaller
    /// Without a slash at its end.
    let base: String

    /// What came back: the status, and the body where it is JSON.
    struct Answer: Sendable {
        let status: Int
        var headers = HTTPHeaders()
        let body: JSONValue
        /// The body as it came.
        let text: String

        init(_ answer: HTTPCaller.Answer) {
            status = answer.status
            headers = answer.headers
            body = JSONValue(json: answer.body) ?? .null
            text = String(decoding: answer.body, as: UTF8.self)
        }

        /// What a problem document or Apple's error says; else the body's beginning.
        var complaint: String {
            let detail = body["detail"]?.text ?? body["errorMessage"]?.text ?? body["title"]?.text
            return "\(status) \(detail ?? String(text.prefix(200)))"
        }
    }

    /// The simulator that an option or `COUNTERSIGN_SIMULATOR_URL` names.
    ///
    /// - Throws: `ToolFailure` when the text is no address.
    static func base(_ option: String?) throws -> String {
        let text = option ?? LaboratorySettings().simulatorURL ?? defaultBase
        return try LaboratorySettings.address(text, of: "--simulator", example: defaultBase)
    }

    /// Any answer, good or bad.
    ///
    /// - Parameter path: after `/simulator/v1/`, ready for a URL.
    /// - Throws: `ToolFailure` when there is none.
    func call(
        _ method: HTTPMethod, _ path: String, body: JSONValue? = nil, timeout: Duration = Limit.answer
    ) async throws -> Answer {
        do {
            return Answer(
                try await http.call(
                    method, "\(base)/simulator/v1/\(path)", json: body.map { Data($0.json.utf8) }, timeout: timeout))
        } catch {
            throw ToolFailure("the simulator at \(base) cannot be reached: \(Self.plain(error))")
        }
    }

    /// The body of a good answer.
    ///
    /// - Throws: `ToolFailure` when there is none.
    func value(
        _ method: HTTPMethod, _ path: String, body: JSONValue? = nil, timeout: Duration = Limit.answer
    ) async throws -> JSONValue {
        let answer = try await call(method, path, body: body, timeout: timeout)
        guard (200..<300).contains(answer.status) else {
            throw ToolFailure("the simulator at \(base) answers \(method) \(path): \(answer.complaint)")
        }
        return answer.body
    }

    /// Text for a URL's query or path.
    static func escaped(_ text: String) -> String {
        var allowed = CharacterSet.alphanumerics
        allowed.insert(charactersIn: "-._~")
        return text.addingPercentEncoding(withAllowedCharacters: allowed) ?? ""
    }

    /// What keeps an answer from coming, in a few words.
    static func plain(_ error: any Error) -> String {
        let text = "\(error)"
        if text.contains("refused") { return "connection refused" }
        return text.count <= 200 ? text : text.prefix(200) + "…"
    }
}
