import Foundation

/// A place in the order of events as readers hold it: nothing to read, and nothing to make by hand.
///
/// The form has a number, so that a later one can be told from this one, which stays good.
package enum EventCursor {
    /// The longest that is read: a form's number, a colon and 19 digits, in base64.
    static let bytesMaximum = 60
    private static let form = "1:"

    /// The cursor of a position; letters and digits, which go into an address as they are.
    package static func text(_ position: Int64) -> String {
        // Without padding: the length is no secret. Base64 of these characters has neither + nor /.
        Data("\(form)\(position)".utf8).base64EncodedString().replacing("=", with: "")
    }

    /// The position that a cursor means; nil when it is none of ours.
    package static func position(_ cursor: String) -> Int64? {
        guard !cursor.isEmpty, cursor.utf8.count <= bytesMaximum else { return nil }
        let padding = String(repeating: "=", count: (4 - cursor.utf8.count % 4) % 4)
        guard let data = Data(base64Encoded: cursor + padding), let plain = String(validating: data, as: UTF8.self),
            plain.hasPrefix(form), let position = Int64(plain.dropFirst(form.count)), position >= 0,
            text(position) == cursor
        else { return nil }
        return position
    }
}
