import EventFiles

/// What events look like, for whoever receives them: two files, compiled in, that intake serves as they are.
///
/// Tests hold every event that fulfillment writes against the schema, and the examples against what it writes today.
package enum EventSchemas {
    /// A JSON Schema (2020-12) of any event, with one of each type below `$defs`: `Schemas/events.json`.
    package static let schema = [UInt8](String(cString: event_schema_file()).utf8)

    /// An event of each type as fulfillment writes it, by type: `Schemas/examples.json`.
    ///
    /// The lines are broken for reading; a webhook's body has no line breaks.
    package static let examples = [UInt8](String(cString: event_examples_file()).utf8)
}
