// An app imports this module and has both: the queue, and the store that it buys from.
@_exported public import CountersignClient
