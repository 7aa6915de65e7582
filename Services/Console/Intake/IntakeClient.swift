import AsyncHTTPClient
import Foundation
import HTTPTypes
import NIOCore
import NIOHTTP1
import ServiceRuntime

/// Calls receipt-intake's API with the console's server key, in a person's name.
struct IntakeClient: Sendable {
    enum Limit {
        /// Seconds that a request to intake may take; acts wait for fulfillment.
        static let seconds: Int64 = 15
        /// The largest answer; a page of 100 orders has some 200 kB.
        static let answerBytes = 8 << 20
    }

    /// What intake answered, whatever its status.
    struct Answer: Sendable {
        let status: Int
        let body: JSON

        var isSuccess: Bool { (200..<300).contains(status) }
        /// The sentence of a problem.
        var detail: String? { body["detail"].text ?? body["title"].text }

        /// A problem in the person's language, with intake's own sentence of what exactly it is.
        func problem(_ texts: Texts) -> [String] {
            let code = body["code"].text ?? ""
            let words = texts.word("problem", code)
            return [words == code ? nil : words + texts("problem.end"), detail ?? String(status)].compactMap(\.self)
        }
    }

    let http: HTTPClient
    /// Such as `http://127.0.0.1:8080`, without a slash at the end.
    let address: String
    let key: Redacted<String>

    /// Reads something.
    ///
    /// - Parameters:
    ///   - query: parameters; those without a value are left out.
    ///   - person: in whose name; intake writes down who looked at personal data.
    ///   - page: the same for all that one page asks, by which its lines of that are told together.
    /// - Throws: `ConsoleTrouble`.
    func get(
        _ path: String, _ query: [String: String?] = [:], for person: Person, page: String
    ) async throws -> JSON {
        let answer = try await send(
            .GET, path + Self.text(of: query), body: nil, headers: ["x-request-id": page], person)
        guard answer.isSuccess else {
            throw ConsoleTrouble(
                answer.status == 404 ? .notFound : .intakeRefused, answer.detail, problem: answer.body["code"].text)
        }
        return answer.body
    }

    /// Does something; a refusal by intake is an answer.
    ///
    /// - Parameter idempotencyKey: the same for the same act, however often the form is sent.
    /// - Throws: `ConsoleTrouble` where intake is away.
    func send(
        _ method: HTTPMethod, _ path: String, body: JSON, idempotencyKey: String?, for person: Person
    ) async throws -> Answer {
        var headers: HTTPHeaders = ["content-type": "application/json"]
        if let idempotencyKey { headers.add(name: "idempotency-key", value: idempotencyKey) }
        return try await send(method, path, body: try Self.bytes(of: body), headers: headers, person)
    }

    /// The same bytes for the same body: intake takes other bytes under the same key for another request.
    static func bytes(of body: JSON) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return try encoder.encode(body)
    }

    private func send(
        _ method: HTTPMethod, _ path: String, body: Data?, headers: HTTPHeaders, _ person: Person
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: address + path)
        request.method = method
        request.headers = headers
        request.headers.add(name: "authorization", value: "Bearer \(key.value)")
        request.headers.add(name: "countersign-actor", value: Self.header(person.name))
        if let body { request.body = .bytes(body) }
        do {
            let response = try await http.execute(request, timeout: .seconds(Limit.seconds))
            let bytes = Data(try await response.body.collect(upTo: Limit.answerBytes).readableBytesView)
            let json = (try? JSONDecoder().decode(JSON.self, from: bytes)) ?? .null
            return Answer(status: Int(response.status.code), body: json)
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            throw ConsoleTrouble(.intakeAway)
        }
    }

    /// One part of a path, such as an account's name, in percent-encoding.
    static func part(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
    }

    private static func text(of query: [String: String?]) -> String {
        let parts = query.sorted { $0.key < $1.key }.compactMap { name, value in
            value.map { "\(name)=\(part($0))" }
        }
        return parts.isEmpty ? "" : "?" + parts.joined(separator: "&")
    }

    /// RFC 3986, section 2.3.
    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

    /// A name as a header can carry it, in UTF-8.
    private static func header(_ name: String) -> String {
        String(
            String.UnicodeScalarView(name.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7f }.prefix(200)))
    }
}
