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
    /// The server is asked with `at_least` and answers when something has changed. Where it cannot be reached, what was known last
    /// comes once more as stale, and it is asked again with growing pauses.
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

    private func follow(_ name: String, _ tell: @Sendable (PlayerAccount) -> Void) async {
        var known = await knownAccount(name)
        if let known { tell(known) }
        var failures = 0
        while !Task.isCancelled, !isStopped {
            let isFirst = known?.isStale ?? true
            switch await server.account(
                name, environment: configuration.environment, atLeast: isFirst ? nil : (known?.version ?? 0) + 1)
            {
            case .told(let answer, let account):
                failures = 0
                known = account
                _ = await accountAnswers { file -> Data? in
                    file.keep(answer, of: name)
                    return nil
                }
                tell(account)
            case .unchanged: failures = 0
            case .unavailable(let retryAfter):
                failures += 1
                if known?.isStale == false {
                    known?.isStale = true
                    if let known { tell(known) }
                }
                let least = min(retryAfter ?? 0, configuration.limits.retryAfterMaximum)
                let seconds = backOff.seconds(.backOff(failures, atLeast: least), chance: Double.random(in: 0...1))
                guard (try? await time.sleep(seconds: seconds)) != nil else { return }
            }
        }
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
