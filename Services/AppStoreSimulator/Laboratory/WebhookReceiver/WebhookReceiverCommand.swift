import ArgumentParser
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOHTTP1
import WebhookSigning

/// `app-store-simulator webhook-receiver`: stands in for a studio's backend in demonstrations and tests.
struct WebhookReceiverCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhook-receiver",
        abstract: "Receives webhooks at /hooks, checks their signatures, and appends each to a file.")

    @Option(help: "The port to listen on.") var port: Int
    @Option(help: "The address to listen on.") var host = "127.0.0.1"
    @Option(help: "A file with the endpoint's secrets, whsec_…, one a line.") var secretFile: String
    @Option(help: "Accepted webhooks are appended here, one JSON object a line.") var output: String
    @Option(help: "Passes each accepted webhook on to this URL, as it came, and answers what that answers.")
    var forwardTo: String?
    @Option(help: "The share of good webhooks that is answered with 500.") var failShare = 0.0

    /// How long the other may take: less than Countersign waits.
    private static let forwardTimeout = Duration.seconds(10)

    func validate() throws {
        guard (0...65_535).contains(port) else { throw ValidationError("--port is from 0 to 65535") }
        if let forwardTo, URL(string: forwardTo)?.host == nil {
            throw ValidationError("--forward-to must be a URL such as http://localhost:3000/hooks")
        }
        guard (0...1).contains(failShare) else { throw ValidationError("--fail-share is from 0 to 1") }
    }

    func run() async throws {
        try await failingPlainly {
            try await HTTPCaller.with(connections: 8, retriesConnecting: false) { http in try await serve(http) }
        }
    }

    /// - Throws: `ToolFailure`.
    private func serve(_ http: HTTPCaller) async throws {
        var receiver = WebhookReceiver(
            verifier: WebhookVerifier(secrets: try secrets()), log: try WebhookLog(path: output), failShare: failShare)
        if let forwardTo {
            receiver.forward = { headers, body in
                let answer = try? await http.call(
                    .POST, forwardTo, json: Data(body), headers: headers, timeout: Self.forwardTimeout)
                return answer.map { HTTPResponse.Status(code: $0.status) } ?? .badGateway
            }
        }
        var logger = Logger(label: "webhook-receiver")
        logger.logLevel = .notice
        let application = Application(
            router: receiver.makeRouter(),
            configuration: ApplicationConfiguration(address: .hostname(host, port: port)), logger: logger)
        do {
            try await application.runService()
        } catch {
            throw ToolFailure("cannot listen on \(host):\(port): \(error)")
        }
    }

    private func secrets() throws -> [WebhookSecret] {
        guard let data = FileManager.default.contents(atPath: secretFile) else {
            throw ToolFailure("\(secretFile) cannot be read")
        }
        let lines = String(decoding: data, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        guard !lines.isEmpty else { throw ToolFailure("\(secretFile) holds no secret") }
        do {
            return try lines.map { try WebhookSecret(String($0)) }
        } catch {
            throw ToolFailure("\(secretFile): \(error)")
        }
    }
}
