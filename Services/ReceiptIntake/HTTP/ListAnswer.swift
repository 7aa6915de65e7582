/// A page of a list, the same for every list of the API.
///
/// While `has_more` is true, the same request with `after` as `next` says goes on.
struct ListAnswer<Item: Encodable & Sendable>: Encodable, Sendable {
    private enum CodingKeys: String, CodingKey {
        case data, next
        case hasMore = "has_more"
    }

    /// The rows, in the order that the route says.
    let data: [Item]
    /// What `after` has to be for the next page; null at the end.
    let next: String?

    func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(data, forKey: .data)
        try members.encode(next, forKey: .next)
        try members.encode(next != nil, forKey: .hasMore)
    }
}
