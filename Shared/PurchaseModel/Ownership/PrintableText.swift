/// The rule for names that come from outside and go into rows and logs.
package enum PrintableText {
    /// Whether a text has 1 to `lengthMaximum` Unicode scalars, and neither control characters nor line separators.
    package static func isOne(_ text: String, lengthMaximum: Int) -> Bool {
        let scalars = text.unicodeScalars
        guard !scalars.isEmpty, scalars.prefix(lengthMaximum + 1).count <= lengthMaximum else { return false }
        return scalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned: false
            default: true
            }
        }
    }
}
