import AsyncHTTPClient
import NIOCore
import NIOHTTP1

/// Sends questions to responders over HTTP (RFC 6960, appendix A).
struct ResponderExchange: Sendable {
    enum Limit {
        /// Bytes of an answer; Apple's have 2 to 4 kB with the responder's certificate.
        static let answerBytes = 64 << 10
    }

    let http: HTTPClient
    let timeout: Duration

    /// Posts a request and reads the answer, both in DER; it is over by the time-out whatever the other side does.
    func answer(to request: [UInt8], at url: String) async throws(RevocationFailure) -> [UInt8] {
        let end = ContinuousClock.now + timeout
        let result = await withTaskGroup(of: Result<[UInt8], RevocationFailure>?.self) { group in
            group.addTask { await send(request, to: url, until: end) }
            group.addTask {
                try? await Task.sleep(until: end, clock: .continuous)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first
        }
        guard let result else { throw RevocationFailure("no whole answer from the responder in time") }
        return try result.get()
    }

    @inline(never)
    private func send(
        _ bytes: [UInt8], to url: String, until end: ContinuousClock.Instant
    ) async -> Result<[UInt8], RevocationFailure> {
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/ocsp-request")
        request.headers.add(name: "accept", value: "application/ocsp-response")
        request.headers.add(name: "user-agent", value: "countersign")
        request.body = .bytes(ByteBuffer(bytes: bytes))
        let time = max(.zero, end - ContinuousClock.now)
        do {
            let response = try await http.execute(request, timeout: .nanoseconds(Int64(time.seconds * 1e9)))
            guard response.status == .ok else {
                return .failure(RevocationFailure("the responder answered HTTP \(response.status.code)"))
            }
            let body = try await response.body.collect(upTo: Limit.answerBytes)
            return .success(Array(body.readableBytesView))
        } catch is NIOTooManyBytesError {
            return .failure(RevocationFailure("the answer has more than \(Limit.answerBytes) bytes"))
        } catch {
            let detail = (error as? HTTPClientError)?.shortDescription ?? "\(type(of: error))"
            return .failure(RevocationFailure("no whole answer from the responder: \(detail)"))
        }
    }
}
