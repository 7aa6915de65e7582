import AppStoreServerAPI
import Foundation
import Pacing
import Persistence
import PurchaseModel
import ServiceRuntime

/// Makes one queued call, at the pace that Apple allows, and says what becomes of it.
struct AppleCaller: Sendable {
    let apps: ServedApps
    let pace: AppStorePace
    let attention: AttentionLog
    /// How long a call may wait for room.
    let patience: Duration
    /// From -1 to 1.
    var chance: @Sendable () -> Double = { .random(in: -1...1) }

    /// What Apple answered.
    private enum Answer: Sendable {
        /// It is done; and when a subscription renews then.
        case done(renewsAt: Date? = nil)
        /// Nothing that could be understood, to a call that is not made again.
        case unknown
    }

    /// What was said to Apple.
    private struct Said: Sendable {
        var body: String?
        var apiVersion: Int?
    }

    /// Makes the call.
    func outcome(of call: AppleCallStore.Due) async -> AppleCallStore.Outcome {
        guard let client = apps.client(of: call.app) else {
            return retry(call, asked: RetryTime.notConfigured, reason: "not_configured")
        }
        switch call.kind {
        case .consumption: return await consumption(call, client)
        case .finish:
            return await ask(call, Said()) {
                try await client.finishTransaction(call.transactionId, in: $0)
                return .done()
            }
        case .accountToken:
            guard let token = call.token else { return refused(call, "token_missing") }
            return await ask(call, Said(), callClass: .tokens) {
                try await client.setAppAccountToken(token, of: call.transactionId, in: $0)
                return .done()
            }
        case .extension: return await extend(call, client)
        }
    }

    private func extend(_ call: AppleCallStore.Due, _ client: AppStoreServerClient) async -> AppleCallStore.Outcome {
        guard let asked = call.extending else { return refused(call, "answer_missing") }
        // Who had the call before has written nothing down, and may have made it.
        guard !call.wasLeft else { return unknown(call) }
        let request = ExtendRenewalDateRequest(asked)
        return await ask(call, Said(), callClass: .tokens) { environment in
            do {
                let answer = try await client.extendRenewalDate(of: call.transactionId, request, in: environment)
                guard answer.success else { throw AppStoreServerError.notExtended }
                return .done(renewsAt: answer.effectiveDate)
            } catch let error as AppStoreServerError where error.hostHealth == .isInTrouble {
                return .unknown
            }
        }
    }

    /// Apple may extend a subscription again for the same request: where it is not known whether it did, a person looks.
    private func unknown(_ call: AppleCallStore.Due) -> AppleCallStore.Outcome {
        var outcome = AppleCallStore.Outcome(id: call.id, .lapsed)
        outcome.reason = "outcome_unknown"
        return outcome
    }

    // Version 2 takes every product; version 1 is the one for Advanced Commerce. Apple names the error of version 2 for that,
    // and not its number, and version 2 has refused good values (4000036 for DELIVERED, 0 %, GRANT_FULL): so version 1 is
    // tried after every refusal that says nothing else (apple-facts C2, C4, C11, C19).
    private func consumption(_ call: AppleCallStore.Due, _ client: AppStoreServerClient) async -> AppleCallStore.Outcome
    {
        guard let answer = call.answer else { return refused(call, "answer_missing") }
        let (second, first) = (ConsumptionRequest(answer), ConsumptionRequestV1(answer))
        let said = Said(body: try? second.bodyText(), apiVersion: 2)
        let outcome = await ask(call, said) {
            try await client.sendConsumption(second, of: call.transactionId, in: $0)
            return .done()
        }
        guard outcome.result == .refused, Self.mayTakeVersion1(outcome) else { return outcome }
        let saidFirst = Said(body: try? first.bodyText(), apiVersion: 1)
        let again = await ask(call, saidFirst) {
            try await client.sendConsumptionV1(first, of: call.transactionId, in: $0)
            return .done()
        }
        // What version 2 says is told, where version 1 refuses it, too.
        return again.result == .refused ? outcome : again
    }

    /// Codes of 400 that say what is wrong, and that version 1 would say, too.
    private static let definite: Set<AppStoreServerError.Code> = [
        .invalidAppIdentifier, .invalidTransactionId, .invalidCustomerConsented, .familyTransactionNotSupported,
    ]

    private static func mayTakeVersion1(_ outcome: AppleCallStore.Outcome) -> Bool {
        guard outcome.status == 400 else { return false }
        return outcome.code.map { !definite.contains(AppStoreServerError.Code(rawValue: $0)) } ?? true
    }

    private func ask(
        _ call: AppleCallStore.Due, _ said: Said, callClass: CallClass = .usual,
        _ body: @escaping @Sendable (AppStoreEnvironment) async throws -> Answer
    ) async -> AppleCallStore.Outcome {
        let environment: AppStoreEnvironment = call.environment == .production ? .production : .sandbox
        let outcome = await pace.call(
            AppStoreHost(kind: .serverAPI, environment: environment), app: call.app, callClass: callClass,
            use: .background, priority: call.secondsLeft == nil ? .sweep : .deadline, asker: call.kind.rawValue,
            patience: patience
        ) { try await body(environment) }
        switch outcome {
        case .answer(.unknown): return unknown(call)
        case .answer(.done(let renewsAt)):
            var done = AppleCallStore.Outcome(id: call.id, .done)
            done.renewsAt = renewsAt
            (done.status, done.body, done.apiVersion) = (
                call.kind == .consumption ? 202 : 200, said.body, said.apiVersion
            )
            return done
        case .later(.rateLimited, let seconds):
            return retry(call, after: CallSchedule.turn(asked: seconds, chance: chance()), reason: "rate_limited")
        case .later(_, let seconds): return retry(call, asked: seconds, reason: "unavailable")
        case .refused(let error): return judged(error, call, said)
        }
    }

    private func judged(
        _ error: AppStoreServerError, _ call: AppleCallStore.Due, _ said: Said
    ) -> AppleCallStore.Outcome {
        if error.category == .unauthorized {
            attention.raise(
                .appStoreUnauthorized, app: call.app, "the App Store does not accept the app's key for a queued call")
        }
        var outcome =
            CallSchedule.mayComeRight(error, call)
            ? retry(call, asked: error.category == .unauthorized ? CallSchedule.unauthorizedDelay.inSeconds : 0)
            : AppleCallStore.Outcome(id: call.id, .refused)
        (outcome.status, outcome.code, outcome.reason) = (error.status, error.code?.rawValue, error.category.rawValue)
        if outcome.result == .refused { (outcome.body, outcome.apiVersion) = (said.body, said.apiVersion) }
        return outcome
    }

    private func retry(
        _ call: AppleCallStore.Due, asked: Double, reason: String? = nil
    ) -> AppleCallStore.Outcome {
        retry(call, after: CallSchedule.delay(call, asked: asked, chance: chance()), reason: reason)
    }

    private func retry(
        _ call: AppleCallStore.Due, after delay: Duration, reason: String?
    ) -> AppleCallStore.Outcome {
        let isOver = CallSchedule.isOver(call, after: delay)
        var outcome = AppleCallStore.Outcome(id: call.id, isOver ? .lapsed : .retry(after: delay))
        outcome.reason = reason
        return outcome
    }

    private func refused(_ call: AppleCallStore.Due, _ reason: String) -> AppleCallStore.Outcome {
        var outcome = AppleCallStore.Outcome(id: call.id, .refused)
        outcome.reason = reason
        return outcome
    }
}
