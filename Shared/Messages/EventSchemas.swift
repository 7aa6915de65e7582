/// What events look like, for whoever receives them: two files, compiled in, that intake serves as they are.
///
/// Tests hold every event that fulfillment writes against the schema, and the examples against what it writes today.
package enum EventSchemas {
    /// A JSON Schema (2020-12) of any event, with one of each type below `$defs`: `Schemas/events.json`.
    package static var schema: [UInt8] { PackageResources.events_json }

    /// An event of each type as fulfillment writes it, by type: `Schemas/examples.json`.
    ///
    /// The lines are broken for reading; a webhook's body has no line breaks.
    package static var examples: [UInt8] { PackageResources.examples_json }
}
