import EventProcessing
import Foundation

/// Dead letters, for programs and for people.
struct DeadLetterReport: Encodable, Sendable {
    /// One of them; never its value, which may be a proof.
    struct Line: Encodable, Sendable {
        /// What `send` takes.
        let place: String
        let time: Date?
        /// Where it came from, and stood there.
        let topic: String?
        let origin: String
        let consumer: String
        let type: String?
        let subject: String?
        let reason: String
        let valueBytes: Int
        /// Whether the message is whole, and of a topic that is read.
        let canBeSent: Bool

        init(_ letter: DeadLetter) {
            (place, time, topic, origin) = (letter.place, letter.time, letter.topic, letter.origin)
            (consumer, type, subject, reason) = (letter.consumer, letter.type, letter.subject, letter.reason)
            (valueBytes, canBeSent) = (letter.valueBytes, letter.message != nil)
        }

        /// A reason may quote what was sent, so nothing of it may steer a terminal.
        fileprivate var cells: [String] {
            let what = [type, subject].compactMap(\.self).joined(separator: " ")
            return [place, time?.formatted(.iso8601) ?? "", "\(topic ?? "?") \(origin)", consumer, what, reason].map {
                cell in
                String(
                    cell.map { $0.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control } ? $0 : " " })
            }
        }
    }

    /// How many fit, by the topic that they came from.
    let counts: [String: Int]
    let letters: [Line]

    init(_ found: FoundDeadLetters) {
        (counts, letters) = (found.counts, found.letters.map(Line.init))
    }

    /// A line for each, and how many there are.
    var text: String {
        guard !letters.isEmpty else { return "no dead letter fits" }
        let table = ToolOutput.table([["PLACE", "SINCE", "FROM", "CONSUMER", "WHAT", "WHY"]] + letters.map(\.cells))
        let all = counts.values.reduce(0, +)
        let topics = counts.sorted { $0.key < $1.key }.map { "\($0.value) of \($0.key)" }.joined(separator: ", ")
        return table + "\ndead letters: \(topics)"
            + (all > letters.count ? "; the oldest \(letters.count) are shown, by --limit" : "")
    }
}
