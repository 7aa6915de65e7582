import Foundation

/// The beginning of an endpoint's answer, as text that a table, a log and a terminal can show.
enum AnswerText {
    /// The most bytes that are kept with an attempt.
    static let bytesMaximum = 2_048
    /// The most characters that the error of a delivery has of it.
    static let errorCharactersMaximum = 256

    /// The beginning of an answer, at most ``bytesMaximum`` bytes of UTF-8, in which a space stands for what is not shown.
    ///
    /// Not shown are control characters, which a log stumbles over and PostgreSQL refuses, and what turns the direction of
    /// writing, which makes a terminal show something else than is there.
    static func excerpt(_ bytes: some Collection<UInt8>) -> String {
        excerpt(String(decoding: bytes.prefix(bytesMaximum), as: UTF8.self))
    }

    /// The same of a text.
    static func excerpt(_ text: String) -> String {
        var shown = String.UnicodeScalarView()
        var length = 0
        for scalar in text.unicodeScalars {
            let kept = isShown(scalar) ? scalar : " "
            length += UTF8.width(kept)
            // What a cut has left of a character takes more room than it had.
            guard length <= bytesMaximum else { break }
            shown.append(kept)
        }
        return String(shown).trimmingCharacters(in: .whitespaces)
    }

    private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
        // Most answers are nothing else, and need no look at a table.
        if scalar.isASCII { return (0x20..<0x7F).contains(scalar.value) }
        return scalar.properties.generalCategory != .control && !scalar.properties.isBidiControl
    }
}
