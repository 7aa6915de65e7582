import Foundation
import Testing

@testable import Console

@Suite("Sessions")
struct SessionsTests {
    private let clock = TestClock()
    private let kim = Identity(subject: "kim")

    private func sessions() -> Sessions {
        Sessions(idle: .seconds(1_800), absolute: .seconds(43_200), now: { [clock] in clock.now })
    }

    @Test("one ends without use, and pages that refresh themselves are no use")
    func idle() {
        let sessions = sessions()
        let cookie = sessions.begin(kim)
        clock.advance(by: 1_799)
        #expect(sessions.session(cookie, isUse: true) != nil)
        clock.advance(by: 1_799)
        #expect(sessions.session(cookie, isUse: false) != nil)
        clock.advance(by: 1)
        #expect(sessions.session(cookie, isUse: true) == nil)
        #expect(sessions.all.isEmpty)
    }

    @Test("one ends after its time, whatever is done")
    func absolute() {
        let sessions = sessions()
        let cookie = sessions.begin(kim)
        for _ in 0..<43 {
            clock.advance(by: 1_000)
            #expect(sessions.session(cookie, isUse: true) != nil)
        }
        clock.advance(by: 200)
        #expect(sessions.session(cookie, isUse: true) == nil)
    }

    @Test("cookies are 256 random bits, and each opens its own session")
    func secrets() {
        let sessions = sessions()
        let cookies = (0..<5).map { _ in sessions.begin(kim) }
        #expect(Set(cookies).count == 5)
        #expect(cookies.allSatisfy { $0.utf8.count == 64 })
        #expect(Set(cookies.compactMap { sessions.session($0, isUse: true)?.csrfToken }).count == 5)
        sessions.end(cookie: cookies[0])
        #expect(sessions.session(cookies[0], isUse: true) == nil)
        #expect(sessions.session(cookies[1], isUse: true) != nil)
        #expect(sessions.session("", isUse: true) == nil)
    }

    @Test("of one person there are so many, of all so many: the one that was not used for the longest ends")
    func limits() {
        let sessions = sessions()
        let first = sessions.begin(kim)
        let second = sessions.begin(kim)
        clock.advance(by: 1)
        _ = sessions.session(first, isUse: true)
        for _ in 2...Sessions.Limit.ofOnePerson { _ = sessions.begin(kim) }
        #expect(sessions.all.count == Sessions.Limit.ofOnePerson)
        #expect(sessions.session(first, isUse: true) != nil)
        #expect(sessions.session(second, isUse: true) == nil)
        for number in 0...Sessions.Limit.count { _ = sessions.begin(Identity(subject: "\(number)")) }
        #expect(sessions.all.count == Sessions.Limit.count)
    }
}
