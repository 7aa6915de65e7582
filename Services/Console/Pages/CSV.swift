/// A table for a spreadsheet.
///
/// Source: RFC 4180.
enum CSV {
    /// - Parameter names: the members of a row, which are the columns, too.
    static func download(_ name: String, _ names: [String], _ rows: [JSON]) -> Page {
        let lines = rows.map { row in names.map { quoted(row[$0].text ?? "") }.joined(separator: ",") }
        let text = ([names.joined(separator: ",")] + lines).joined(separator: "\r\n") + "\r\n"
        return Page(
            title: "", blocks: [], download: Download(name: name, contentType: "text/csv; charset=utf-8", text: text))
    }

    /// What a spreadsheet would take for a formula begins with an apostrophe.
    private static func quoted(_ text: String) -> String {
        let isFormula = text.first.map { "=+@\t\r".contains($0) } ?? false
        return "\"" + (isFormula ? "'" : "") + text.replacing("\"", with: "\"\"") + "\""
    }
}
