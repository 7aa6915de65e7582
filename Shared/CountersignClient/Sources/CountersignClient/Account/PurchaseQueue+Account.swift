import Dispatch

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What players have.
extension PurchaseQueue {
    /// What an account has: what is known of it at once, then what the server says, then each change, for as long as somebody reads.
    ///
    /// The server's stream of the account's events says that something has changed; where there is none, it is asked with
    /// `at_least` and answers then. Where it cannot be reached, what was known last comes once more as stale, and it is asked
    /// again with growing pauses.
    public func account(_ name: String) -> AsyncStream<PlayerAccount> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: PlayerAccount.self, bufferingPolicy: .bufferingNewest(1))
        guard !isStopped else {
            continuation.finish()
            return stream
        }
        let number = run(isBusy: false) { queue in
            await queue.follow(name) { continuation.yield($0) }
            continuation.finish()
        }
        continuation.onTermination = { [weak self] _ in
            Task { [weak self] in await self?.endFollowing(number) }
        }
        return stream
    }

    /// What is known of an account without a request: the last answer, stale; nil where there was none on this device.
    public func knownAccount(_ name: String) async -> PlayerAccount? {
        guard let answer = await accountAnswers({ $0.read()[name] }),
            var account = try? PlayerAccount(answer: answer), account.account == name
        else { return nil }
        account.isStale = true
        return account
    }

    /// Forgets what is known of an account, as after a log-out on a device of others.
    public func forgetAccount(_ name: String) async {
        _ = await accountAnswers { file -> Data? in
            file.remove(name)
            return nil
        }
    }

    private func follow(_ name: String, _ tell: @escaping @Sendable (PlayerAccount) -> Void) async {
        var following = Following(name: name, known: await knownAccount(name), tell: tell)
        if let known = following.known { tell(known) }
        while !Task.isCancelled, !isStopped {
            // The stream first, so that nothing happens unseen between the answer and the stream's first event.
            let changes = await server.changes(of: name, environment: configuration.environment)
            var isReached = await ask(&following, atLeast: nil)
            if let changes, isReached {
                await read(changes, &following)
                // A stream that ends at once is no success: the next one waits longer.
                following.failures += 1
                isReached = false
            }
            var questions = 0
            while isReached, questions < Self.questionsWithoutStream, !Task.isCancelled, !isStopped {
                questions += 1
                let version = following.known?.version ?? 0
                isReached = await ask(&following, atLeast: version + 1)
                // A server that has no room to wait answers at once.
                guard isReached, following.known?.version ?? 0 <= version else { continue }
                guard (try? await time.sleep(seconds: configuration.limits.pauseMinimum)) != nil else { return }
            }
            guard !isReached else { continue }
            let seconds = backOff.seconds(
                .backOff(max(following.failures, 1), atLeast: following.retryAfter), chance: Double.random(in: 0...1))
            guard (try? await time.sleep(seconds: seconds)) != nil else { return }
        }
    }

    /// How often is asked, each time for as long as the server waits, before a stream is tried again.
    private static let questionsWithoutStream = 60

    /// What is known of an account while somebody follows it.
    private struct Following {
        let name: String
        var known: PlayerAccount?
        let tell: @Sendable (PlayerAccount) -> Void
        /// Failures one after the other.
        var failures = 0
        /// Seconds, as the server said.
        var retryAfter = 0.0
    }

    /// Reads a stream until it ends, and asks for the account as often as it has changed.
    private func read(_ changes: AsyncThrowingStream<String, any Error>, _ following: inout Following) async {
        do {
            for try await line in changes {
                // Not the first line, which comes with every stream.
                if !line.isEmpty, !line.hasPrefix("retry:") { following.failures = 0 }
                guard let version = PurchaseServer.version(ofEvent: line), version > following.known?.version ?? 0
                else { continue }
                guard await ask(&following, atLeast: version) else { return }
            }
        } catch {
            log(.debug, "the stream of an account ended: \(String(describing: error).prefix(200))")
        }
    }

    /// Asks what the account has, and tells it.
    ///
    /// - Returns: whether there was an answer, also that nothing is new.
    private func ask(_ following: inout Following, atLeast: Int64?) async -> Bool {
        let name = following.name
        switch await server.account(name, environment: configuration.environment, atLeast: atLeast) {
        case .told(let answer, let account):
            let isNews = account != following.known
            following.known = account
            _ = await accountAnswers { file -> Data? in
                file.keep(answer, of: name)
                return nil
            }
            if isNews { following.tell(account) }
        case .unchanged: break
        case .unavailable(let retryAfter):
            following.failures += 1
            following.retryAfter = min(retryAfter ?? 0, configuration.limits.retryAfterMaximum)
            if following.known?.isStale == false {
                following.known?.isStale = true
                if let known = following.known { following.tell(known) }
            }
            return false
        }
        // A stream's beginning is judged by what comes after it.
        if atLeast != nil { following.failures = 0 }
        following.retryAfter = 0
        return true
    }

    private func endFollowing(_ number: Int) {
        tasks[number]?.cancel()
    }

    /// Reads or writes the file of the accounts, on a thread that may block.
    private func accountAnswers(_ body: @escaping @Sendable (AccountFile) -> Data?) async -> Data? {
        let file = AccountFile(folder: configuration.folder)
        return await withCheckedContinuation { continuation in
            accountFileQueue.async { continuation.resume(returning: body(file)) }
        }
    }
}

extension PurchaseServer {
    /// What came of asking about an account.
    enum AccountResult: Sendable {
        case told(Data, PlayerAccount)
        /// Nothing new within the time that the server waits.
        case unchanged
        case unavailable(retryAfter: Double?)
    }

    /// Asks what an account has.
    ///
    /// - Parameter atLeast: waits for this version; nil for what there is now.
    func account(_ name: String, environment: StoreEnvironment, atLeast: Int64?) async -> AccountResult {
        var query = [
            URLQueryItem(name: "app", value: app), URLQueryItem(name: "environment", value: environment.rawValue),
        ]
        if let atLeast { query.append(URLQueryItem(name: "at_least", value: "\(atLeast)")) }
        let result = await send(
            "GET", "v1/accounts/\(Self.encoded(name))", query: query, body: String?.none, account: name,
            wait: atLeast == nil ? 0 : limits.serverWait)
        switch result {
        case .success(let answer):
            guard let account = try? PlayerAccount(answer: answer.body), account.account == name else {
                return .unavailable(retryAfter: nil)
            }
            return .told(answer.body, account)
        case .failure(.unavailable("409 version-not-reached", _)): return .unchanged
        case .failure(.unavailable(_, let retryAfter)), .failure(.limited(let retryAfter)):
            return .unavailable(retryAfter: retryAfter)
        case .failure: return .unavailable(retryAfter: nil)
        }
    }

    /// The lines of the stream of an account's events from now on; nil where there is none now.
    func changes(
        of name: String, environment: StoreEnvironment
    ) async -> AsyncThrowingStream<String, any Error>? {
        let query = [
            URLQueryItem(name: "app", value: app), URLQueryItem(name: "environment", value: environment.rawValue),
        ]
        for isRefreshing in [false, true] {
            guard let token = try? await credentials.token(of: name, isRefreshing: isRefreshing) else { return nil }
            var wanted = request(
                "GET", url("v1/accounts/\(Self.encoded(name))/events", query, wait: 0), nil, token: token, wait: 0)
            wanted.headers["accept"] = "text/event-stream"
            wanted.timeout = QueueLimits.streamSilence
            do {
                return try await transport.lines(wanted)
            } catch ServerAnswerError.refused(status: 401) {
                continue
            } catch {
                return nil
            }
        }
        return nil
    }

    /// The number of the event in a line of a stream; nil for every other line.
    static func version(ofEvent line: String) -> Int64? {
        guard line.hasPrefix("data:") else { return nil }
        return (try? JSONDecoder().decode(EventBody.self, from: Data(line.dropFirst(5).utf8)))?.customer?.sequence
    }

    /// An account's id within an address.
    private static func encoded(_ name: String) -> String {
        let digits = Array("0123456789ABCDEF")
        return name.utf8.reduce(into: "") { text, byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E:
                text.append(Character(Unicode.Scalar(byte)))
            default:
                text.append("%")
                text.append(digits[Int(byte >> 4)])
                text.append(digits[Int(byte & 15)])
            }
        }
    }
}

/// An event, as far as the queue reads it.
private struct EventBody: Decodable {
    let customer: Customer?

    struct Customer: Decodable {
        let sequence: Int64
    }
}
