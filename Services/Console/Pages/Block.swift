import Mustache

/// What a template is given: its stored members.
///
/// A member that is nil is false. For Mustache it would not be there, and the member of the same name of what is around
/// it would be shown in its place.
protocol Shown: MustacheParent, Sendable {}

extension Shown {
    func child(named name: String) -> Any? {
        guard let child = Mirror(reflecting: self).children.first(where: { $0.label == name }) else { return nil }
        let mirror = Mirror(reflecting: child.value)
        guard mirror.displayStyle == .optional else { return child.value }
        return mirror.children.first?.value ?? false
    }
}

/// A part of a page; `Files/blocks.mustache` shows each kind, the same on every page.
enum Block: Sendable {
    /// Figures that are read at a glance.
    case tiles([Tile])
    case facts(heading: String?, [Fact])
    case table(Table)
    case story(heading: String, [StoryLine])
    case chart(Chart)
    case form(Form)
    case rows(RowsForm)
    case notice(Tone, String)
    /// Links to acts or pages, one beside the other.
    case links(heading: String?, [Cell])
    case heading(String)

    /// What the template is given: one member, named for the kind.
    var view: [String: any Sendable] {
        switch self {
        case .tiles(let tiles): ["tiles": Group(nil, tiles)]
        case .facts(let heading, let facts): ["facts": Group(heading, facts)]
        case .table(let table): ["table": table]
        case .story(let heading, let lines): ["story": Group(heading, lines)]
        case .chart(let chart): ["chart": chart]
        case .form(let form): ["form": form]
        case .rows(let rows): ["rows": rows]
        case .notice(let tone, let text): ["notice": NoticeView(tone: tone.rawValue, text: text)]
        case .links(let heading, let links): ["links": Group(heading, links)]
        case .heading(let text): ["heading": text]
        }
    }

    private struct Group: Shown {
        let heading: String?
        let all: [any Shown]

        init(_ heading: String?, _ all: [any Shown]) { (self.heading, self.all) = (heading, all) }
    }

    private struct NoticeView: Shown {
        let tone: String
        let text: String
    }
}

/// How something stands; never told by colour alone, the words say it as well.
enum Tone: String, Sendable {
    case plain, good, waiting, bad
}

/// A text in a table or beside a name: plain, a link, a time, a state, an id.
struct Cell: Shown {
    let text: String
    /// A path of ours, or a page of the documents' website.
    var href: String?
    /// RFC 3339 in UTC: the browser adds the viewer's own zone.
    var time: String?
    var tone: String?
    /// Ids and codes, which are copied.
    var isCode = false
    var isNumber = false

    init(_ text: String?, href: String? = nil) {
        self.text = text ?? "–"
        self.href = text == nil ? nil : href
    }

    /// As ``Shown`` would find it: a page has a thousand cells, and each of six members was looked for among all by reflection.
    func child(named name: String) -> Any? {
        switch name {
        case "text": text
        case "href": href ?? false
        case "time": time ?? false
        case "tone": tone ?? false
        case "isCode": isCode
        case "isNumber": isNumber
        default: nil
        }
    }

    /// A moment, as intake writes it.
    static func time(_ value: JSON) -> Cell {
        guard let time = value.text else { return Cell(nil) }
        var cell = Cell(Self.inUTC(time))
        cell.time = time
        return cell
    }

    static func code(_ text: String?, href: String? = nil) -> Cell {
        var cell = Cell(text, href: href)
        cell.isCode = text != nil
        return cell
    }

    static func state(_ text: String, _ tone: Tone) -> Cell {
        var cell = Cell(text)
        cell.tone = tone.rawValue
        return cell
    }

    static func number(_ text: String?) -> Cell {
        var cell = Cell(text)
        cell.isNumber = true
        return cell
    }

    /// `2026-11-21T15:39:21.980Z` as `2026-11-21 15:39:21 UTC`.
    static func inUTC(_ time: String) -> String {
        guard time.utf8.count >= 19, time.hasSuffix("Z") else { return time }
        return time.prefix(19).replacing("T", with: " ") + " UTC"
    }
}

/// A figure with its name.
struct Tile: Shown {
    let name: String
    let value: Cell
    var note: String?
    var tone = Tone.plain.rawValue
    var href: String?
}

/// A name and what it is.
struct Fact: Shown {
    let name: String
    let values: [Cell]

    init(_ name: String, _ values: Cell...) {
        self.name = name
        self.values = values
    }

    init(_ name: String, values: [Cell]) {
        self.name = name
        self.values = values
    }
}

/// A line of a story: when, and what happened.
struct StoryLine: Shown {
    let at: Cell
    let text: String
}

/// Rows under headings; never a bare table: an empty one says what will be here.
struct Table: Shown {
    struct Row: Shown {
        let cells: [Cell]
    }

    struct Column: Shown {
        let text: String
        /// Whether its cells are numbers, which stand at the right.
        let isNumber: Bool
    }

    let heading: String
    let columns: [Column]
    let rows: [Row]
    /// What will be here.
    let empty: String
    /// Where the next page is.
    var next: String?
    var nextText = ""
    /// Filters above it: a form that is sent by GET.
    var filter: Form?

    init(_ heading: String, _ columns: [String], _ rows: [[Cell]], empty: String) {
        self.heading = heading
        self.columns = columns.enumerated().map { place, text in
            Column(text: text, isNumber: rows.first?.dropFirst(place).first?.isNumber ?? false)
        }
        self.rows = rows.map(Row.init)
        self.empty = empty
        (shownEmpty, shown) = (rows.isEmpty, !rows.isEmpty)
    }

    // The template reads stored members alone.
    let shown: Bool
    let shownEmpty: Bool
}

/// What somebody fills in and sends.
struct Form: Shown {
    struct Field: Shown {
        struct Option: Shown {
            let value: String
            let text: String
            let isChosen: Bool
        }

        let name: String
        let label: String
        var value = ""
        var help: String?
        var isRequired = false
        var isHidden = false
        var isText = true
        var options: [Option] = []
        var isChoice = false

        static func hidden(_ name: String, _ value: String) -> Field {
            var field = Field(name: name, label: "", value: value)
            (field.isHidden, field.isText) = (true, false)
            return field
        }

        static func choice(_ name: String, _ label: String, _ options: [Option]) -> Field {
            var field = Field(name: name, label: label, options: options)
            (field.isChoice, field.isText) = (true, false)
            return field
        }
    }

    var heading: String?
    let action: String
    /// `post`, or `get` for what only asks.
    var method = "post"
    var fields: [Field]
    let submit: String
    /// Why the act cannot be done now, in place of the button.
    var refusal: String?
    var isDangerous = false
    /// The token of the visit; empty for `get`.
    var csrf: String?
}
