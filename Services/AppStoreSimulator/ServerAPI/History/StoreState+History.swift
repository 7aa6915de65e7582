/// One page of a customer's transactions.
struct TransactionPage: Sendable {
    let transactions: [TransactionRecord]
    /// Where the next page, or what changes later, begins.
    let revision: RevisionToken
    let hasMore: Bool
}

extension StoreState {
    /// A page of what the customer bought, in the order in which it changed last.
    func history(of customer: Customer, _ query: HistoryQuery) -> TransactionPage {
        page(of: customer, after: query.revision, isDescending: query.isDescending, where: query.matches)
    }

    /// A page of what was refunded to the customer, in the order in which that happened.
    func refunds(of customer: Customer, after revision: RevisionToken?) -> TransactionPage {
        page(of: customer, after: revision, isDescending: false) { transaction in
            transaction.revocationDate != nil && transaction.revocationType != .familyRevoke
                && transaction.revision > revision?.revision ?? 0
        }
    }

    private func page(
        of customer: Customer, after revision: RevisionToken?, isDescending: Bool,
        where matches: (TransactionRecord) -> Bool
    ) -> TransactionPage {
        var found = holdings[customer.key, default: []].compactMap { transactions[$0] }.filter(matches)
        found.sort { isDescending ? $0.revision > $1.revision : $0.revision < $1.revision }
        let page = Array(found.prefix(ServerAPI.Limit.page))
        let last = page.last.map { RevisionToken(modifiedDate: $0.modifiedDate, revision: $0.revision) }
        return TransactionPage(
            transactions: page, revision: last ?? revision ?? RevisionToken(modifiedDate: 0, revision: 0),
            hasMore: found.count > page.count)
    }
}
