import Testing

@testable import Kafka

/// Errors that do not pass by themselves, decided without a clock.
@Suite("Errors that last")
struct LastingErrorsTests {
    private let start = ContinuousClock.now

    private func errors(_ code: KafkaError.Code, name: String? = nil) -> LastingErrors {
        var errors = LastingErrors()
        errors.note(KafkaError(code, nativeName: name, "it"), at: start)
        return errors
    }

    private func current(
        _ errors: LastingErrors, after seconds: Int, mayExpire: Bool = false
    ) -> KafkaTrouble? {
        var errors = errors
        return errors.current(at: start + .seconds(seconds), mayExpire: mayExpire)
    }

    @Test(
        "are told at once, or after the time in which such a one may pass",
        arguments: [
            (KafkaError.Code.authorization, 0), (.fatal, 0), (.authentication, 5), (.unknownTopic, 15),
        ])
    func patience(code: KafkaError.Code, seconds: Int) {
        let errors = errors(code)
        if seconds > 0 { #expect(current(errors, after: seconds - 1) == nil) }
        let trouble = current(errors, after: seconds)
        #expect(trouble?.error.code == code && trouble?.stopsWork == true)
    }

    @Test("are none that pass by themselves", arguments: [KafkaError.Code.timedOut, .transport, .queueFull, .rejected])
    func passing(code: KafkaError.Code) {
        #expect(current(errors(code), after: 1_000) == nil)
    }

    @Test("are over when something works a little later, or when a client that can work is quiet")
    func over() {
        var errors = errors(.authorization)
        errors.works(at: start + .seconds(1))
        #expect(current(errors, after: 1) != nil)
        errors.works(at: start + .seconds(2))
        #expect(current(errors, after: 2) == nil)
        let quiet = self.errors(.authorization)
        #expect(current(quiet, after: 44, mayExpire: true) != nil)
        #expect(current(quiet, after: 45, mayExpire: true) == nil)
        // A member without partitions is told once, and then nothing ever.
        #expect(current(quiet, after: 10_000) != nil)
    }

    @Test("stop the work for a message that is too large only when nothing else gets through")
    func tooLarge() {
        var errors = errors(.messageTooLarge)
        #expect(current(errors, after: 30)?.stopsWork == false)
        errors.note(KafkaError(.messageTooLarge, "it"), at: start + .seconds(15))
        #expect(current(errors, after: 15)?.stopsWork == true)
        errors.works(at: start + .seconds(17))
        #expect(current(errors, after: 17) == nil)
    }

    @Test("say what to do")
    func remedies() {
        let cluster = current(errors(.authorization, name: "CLUSTER_AUTHORIZATION_FAILED"), after: 0)
        #expect(cluster?.description.contains("IdempotentWrite") == true)
        var errors = errors(.authorization)
        errors.note(KafkaError(.authentication, "a wrong password", remedy: "set it"), at: start)
        // The one that the other follows from.
        #expect(current(errors, after: 5)?.description == "a wrong password; set it")
    }
}
