import Foundation
import Testing

@testable import AppStoreSimulator

/// What a load makes of an answer: decided, to be tried again, or refused.
@Suite struct IntakeReplyTests {
    private func reply(_ status: Int, _ body: String = "{}", retryAfter: Duration? = nil) -> IntakeClient.Reply {
        IntakeClient.interpret(HTTPCaller.Answer(status: status, retryAfter: retryAfter, body: Data(body.utf8)))
    }

    @Test func acceptedAndSettledArePurchases() throws {
        guard case .purchase(let accepted) = reply(202, #"{"id":"sub_1","state":"received","finish":false}"#),
            case .purchase(let settled) = reply(
                200, #"{"id":"sub_1","state":"rejected","finish":false,"reason":"bundle_mismatch","transactions":[]}"#)
        else {
            Issue.record("not taken for purchases")
            return
        }
        #expect(accepted.id == "sub_1" && !accepted.isSettled)
        #expect(settled.isSettled && settled.reason == "bundle_mismatch")
    }

    @Test(arguments: [408, 425, 429, 500, 502, 503, 504])
    func troubleIsTriedAgain(status: Int) {
        guard case .tryAgain(status, nil, _) = reply(status) else {
            Issue.record("\(status) is given up")
            return
        }
    }

    @Test func retryAfterIsObeyedWithinReason() {
        guard case .tryAgain(_, .some(let short), _) = reply(503, retryAfter: .seconds(2)),
            case .tryAgain(_, .some(let long), _) = reply(503, retryAfter: .seconds(86_400))
        else {
            Issue.record("503 is given up")
            return
        }
        #expect(short == .seconds(2))
        #expect(long == .seconds(15))
    }

    @Test(arguments: [400, 401, 403, 404, 413, 422])
    func refusalIsNotTriedAgainAndSaysWhy(status: Int) {
        let body =
            #"{"type":"/problems/app-unknown","code":"app-unknown","title":"No","detail":"the app is not known"}"#
        guard case .refused(status, let problem, let code) = reply(status, body) else {
            Issue.record("\(status) is tried again")
            return
        }
        #expect(problem == "\(status) the app is not known")
        #expect(code == "app-unknown")
    }

    @Test func somethingElseThanAPurchaseIsNoSuccess() {
        guard case .tryAgain(200, nil, _) = reply(200, "<html>") else {
            Issue.record("a page is taken for a purchase")
            return
        }
    }
}
