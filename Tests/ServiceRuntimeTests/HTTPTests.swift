import CoreMetrics
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import LogTesting
import Logging
import NIOCore
import ServiceLifecycle
import Testing

@testable import ServiceRuntime

@Suite("HTTP", .timeLimit(.minutes(1)))
struct HTTPTests {
    @Test("the admin server tells life, readiness and numbers")
    func adminServer() async throws {
        let (health, metrics) = (HealthRegistry(), PrometheusMetrics())
        let check = health.register("database")
        metrics.makeCounter(label: "c", dimensions: []).increment(by: Int64(1))
        let ports = Occurrences<Int>()
        let server = AdminServer(
            address: ListenAddress(host: "127.0.0.1", port: 0), health: health, metrics: metrics,
            logger: CapturedLog().logger(), onListening: { ports.happen($0) })
        try await whileRunning(server) {
            let port = try await ports.next()
            #expect(try await ask(port, "/livez").status == 200)
            let starting = try await ask(port, "/readyz")
            #expect(starting.status == 503 && starting.headers["content-type"] == "application/json")
            #expect(
                starting.body == #"{"checks":[{"detail":"starting","name":"database","ready":false}],"ready":false}"#)
            check.set(ready: true)
            #expect(try await ask(port, "/readyz").status == 200)
            let page = try await ask(port, "/metrics")
            #expect(page.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
            #expect(page.body.contains("c_total 1\n"))
            let unknown = try await ask(port, "/nothing")
            #expect(unknown.status == 404 && unknown.headers["content-type"] == "application/problem+json")
        }
    }

    @Test("a port that is taken ends the server with an error")
    func portTaken() async throws {
        let ports = Occurrences<Int>()
        @Sendable func server(_ port: Int) -> AdminServer {
            AdminServer(
                address: ListenAddress(host: "127.0.0.1", port: port), health: HealthRegistry(),
                metrics: PrometheusMetrics(), logger: CapturedLog().logger(), onListening: { ports.happen($0) })
        }
        try await whileRunning(server(0)) {
            let port = try await ports.next()
            await #expect(throws: (any Error).self) { try await server(port).run() }
        }
    }

    @Test("every error is answered with a problem document of a stable type")
    func problems() async throws {
        let log = CapturedLog()
        try await withProblemServer(log) { port in
            let own = try await ask(port, "/own", headers: ["x-request-id": "abc-1"])
            #expect(own.status == 409 && own.headers["x-request-id"] == "abc-1" && own.headers["retry-after"] == "7")
            #expect(own.headers["content-type"] == "application/problem+json")
            #expect(
                own.body == #"{"account":"a/1","code":"taken","detail":"It is another's.","status":409,"#
                    + #""title":"Taken","type":"/problems/taken"}"#)

            let forbidden = try document(try await ask(port, "/forbidden"))
            #expect(forbidden.type == "/problems/forbidden" && forbidden.detail == "not you")
            let large = try await ask(port, "/upload", method: "POST", body: Data(count: 100))
            #expect(try document(large).type == "/problems/content-too-large" && large.status == 413)
            #expect(try document(try await ask(port, "/nothing")).type == "/problems/not-found")
            #expect(log.texts.isEmpty)
        }
    }

    @Test("an unexpected error tells the caller only an id, by which the log tells the rest")
    func unexpectedError() async throws {
        let log = CapturedLog()
        try await withProblemServer(log) { port in
            let answer = try await ask(port, "/broken?token=hunter2", headers: ["x-request-id": "bad id; drop"])
            let id = try #require(answer.headers["x-request-id"])
            #expect(answer.status == 500 && id.count == 16)
            let problem = try document(answer)
            #expect(problem.type == "/problems/internal-server-error")
            #expect(problem.extensions == ["request_id": id] && !answer.body.contains("the probe failed"))
            let line = try #require(log.texts(.error).first)
            #expect(line.contains("correlation=\(id)") && line.contains("error=the probe failed"))
            #expect(line.contains("path=/broken") && !line.contains("hunter2"))
        }
    }

    @Test("a good answer has its request id too, and long ones are not taken over")
    func requestIds() async throws {
        try await withProblemServer(CapturedLog()) { port in
            let answer = try await ask(port, "/good", headers: ["x-request-id": String(repeating: "a", count: 65)])
            #expect(answer.status == 200 && answer.headers["x-request-id"]?.count == 16)
        }
    }

    @Test("an answer to HEAD is the head of any other, and nothing more")
    func head() async throws {
        struct LoggerSource: RequestContextSource { let logger: Logger }
        struct Context: RequestContext {
            typealias Source = LoggerSource
            var coreContext: CoreRequestContextStorage
            init(source: LoggerSource) { coreContext = CoreRequestContextStorage(source: source) }
        }
        for method in [HTTPRequest.Method.head, .get] {
            let request = Request(
                head: HTTPRequest(method: method, scheme: "http", authority: "localhost", path: "/"),
                body: RequestBody(buffer: ByteBuffer()))
            let context = Context(source: LoggerSource(logger: CapturedLog().logger()))
            let answer = try await HeadMiddleware<Context>().handle(request, context: context) { _, _ in
                Response(status: .notFound, body: ResponseBody(byteBuffer: ByteBuffer(string: "twelve bytes")))
            }
            #expect(answer.status == .notFound && answer.headers[.contentLength] == "12")
            #expect(answer.body.contentLength == (method == .head ? 0 : 12))
        }
    }

    @Test("a problem document survives coding, and extensions cannot hide its members")
    func coding() throws {
        let problem = ProblemDetails(
            "taken", title: "Taken", status: .conflict, instance: "/x", extensions: ["account": "a", "status": "200"])
        let data = try JSONEncoder().encode(problem)
        var expected = problem
        expected.extensions["status"] = nil
        #expect(try JSONDecoder().decode(ProblemDetails.self, from: data) == expected)
        let foreign = #"{"status": 99999, "more": {"a": 1}}"#
        #expect(try JSONDecoder().decode(ProblemDetails.self, from: Data(foreign.utf8)).status == .internalServerError)
    }

    private func document(_ answer: Answer) throws -> ProblemDetails {
        #expect(answer.headers["content-type"] == "application/problem+json")
        return try JSONDecoder().decode(ProblemDetails.self, from: Data(answer.body.utf8))
    }

    private func withProblemServer(_ log: CapturedLog, _ body: @Sendable (Int) async throws -> Void) async throws {
        let router = Router()
        router.add(middleware: ProblemMiddleware())
        router.get("good") { _, _ in "good" }
        router.get("own") { _, _ -> String in
            throw ProblemDetails(
                "taken", title: "Taken", status: .conflict, detail: "It is another's.", extensions: ["account": "a/1"]
            )
            .with(header: .retryAfter, "7")
        }
        router.get("forbidden") { _, _ -> String in throw HTTPError(.forbidden, message: "not you") }
        router.get("broken") { _, _ -> String in throw ProbeFailure() }
        router.post("upload") { request, _ -> String in
            String(buffer: try await request.body.collect(upTo: 10))
        }
        let ports = Occurrences<Int>()
        let server = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { ports.happen($0.localAddress?.port ?? 0) }, logger: log.logger().quieter())
        try await whileRunning(server) { try await body(try await ports.next()) }
    }
}

/// Runs a service, stops it gracefully after `body`, and waits for its end.
private func whileRunning(_ service: any Service, _ body: @Sendable () async throws -> Void) async throws {
    let group = ServiceGroup(
        configuration: ServiceGroupConfiguration(services: [service], logger: CapturedLog().logger()))
    try await withThrowingTaskGroup(of: Void.self) { tasks in
        tasks.addTask { try await group.run() }
        do {
            try await body()
        } catch {
            await group.triggerGracefulShutdown()
            throw error
        }
        await group.triggerGracefulShutdown()
        try await tasks.waitForAll()
    }
}
