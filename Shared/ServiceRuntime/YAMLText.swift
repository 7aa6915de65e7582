import Foundation
import Yams

/// A document that is written in YAML for people, and served in JSON for programs.
package enum YAMLText {
    /// The same document in JSON, its keys sorted.
    ///
    /// - Throws: `YamlError` when the text is not YAML; `NotJSON` when it holds what JSON cannot.
    package static func json(_ text: String) throws -> [UInt8] {
        guard let value = try Yams.load(yaml: text), JSONSerialization.isValidJSONObject(value) else {
            throw NotJSON()
        }
        let options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes]
        return [UInt8](try JSONSerialization.data(withJSONObject: value, options: options))
    }

    /// The document is no object or list, or holds a date, a number that is none, or a key that is no text.
    package struct NotJSON: Error, CustomStringConvertible {
        /// What is wrong.
        package var description: String { "the YAML document holds what JSON cannot" }
    }
}
