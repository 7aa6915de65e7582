/// Which sends wait for what is on its way, to follow it together.
///
/// librdkafka sends no more of a partition while five messages of it are unacknowledged (its limit of five requests counts
/// messages), and until then its thread asks again and again, without a pause. So nothing is handed to it meanwhile.
struct GatheredSends {
    /// Messages that were sent together.
    struct Send {
        let messages: [KafkaMessage]
        /// The token of the first; the others' follow by one.
        let firstToken: UInt
    }

    /// The most messages that wait; a send that has no place goes at once.
    static let messagesMaximum = 10_000

    private var held: [Send] = []
    private var heldMessages = 0
    private var isUnderWay = false

    /// Whether a send is to be handed over now; else it waits for ``next()``.
    mutating func begins(_ send: Send) -> Bool {
        guard isUnderWay, heldMessages + send.messages.count <= Self.messagesMaximum else {
            isUnderWay = true
            return true
        }
        held.append(send)
        heldMessages += send.messages.count
        return false
    }

    /// What was on its way is acknowledged, or has had its time: what follows it, in the order it came; nothing is on its way
    /// when that is nothing.
    mutating func next() -> [Send] {
        let sends = takeHeld()
        isUnderWay = !sends.isEmpty
        return sends
    }

    /// Takes what waits, for good.
    mutating func takeHeld() -> [Send] {
        defer { (held, heldMessages) = ([], 0) }
        return held
    }
}
