/// What there is to tell when a subscription stands otherwise than before.
///
/// The end is told: of what lay between two standings only what both of them show. The orders of the periods in between
/// have events of their own.
package enum SubscriptionChange: Sendable, Hashable, CaseIterable {
    /// Known for the first time, or again after it was over.
    case started
    /// Another period is paid for.
    case renewed
    /// Paid for after a failed payment.
    case recovered
    /// What was taken back was given back, and it runs again.
    case restored
    /// Another product from now on.
    case planChanged
    /// The current period ends later than it did.
    case extended
    /// The payment failed, and access goes on.
    case graceStarted
    /// Access is over, which had gone on though the payment failed.
    case graceEnded
    /// The payment failed, and access is over.
    case renewalFailed
    /// Over.
    case expired
    /// Its current period was taken back.
    case revoked
    /// It will not renew; where it is a commitment, not after that.
    case cancelScheduled
    /// It will renew after all.
    case cancelUndone
    /// Another product from the next renewal on, or no longer so.
    case planChangeScheduled
    /// The customer was asked to agree to a higher price.
    case priceIncreasePending
    /// The customer agreed to a higher price, or needed not to.
    case priceIncreaseAccepted

    /// What there is to tell, in the order of telling.
    ///
    /// - Parameter before: nil where the subscription was not known. One that is over already when it is first seen is
    ///   history, and nothing is told of it.
    package static func all(
        from before: SubscriptionStanding?, to after: SubscriptionStanding
    ) -> [SubscriptionChange] {
        guard let before else { return first(after.state) }
        let step = Step(before: before, after: after)
        var changes = step.stateChanges
        guard after.state.hasAccess else { return changes }
        if step.isExtended { changes.insert(.extended, at: 0) }
        guard !changes.contains(.started) else { return changes }
        if before.productId != after.productId {
            changes.insert(.planChanged, at: changes.firstIndex(of: .graceStarted) ?? changes.endIndex)
        }
        return changes + step.plans
    }

    private static func first(_ state: SubscriptionState) -> [SubscriptionChange] {
        switch state {
        case .active: [.started]
        case .gracePeriod: [.started, .graceStarted]
        case .billingRetry: [.renewalFailed]
        case .revoked: [.revoked]
        case .expired: []
        }
    }
}

/// From one standing of a subscription to the next.
private struct Step {
    let before: SubscriptionStanding
    let after: SubscriptionStanding

    /// Whether the current period is another.
    var isNewPeriod: Bool { before.transactionId != after.transactionId }

    /// Whether it is another period that follows without a gap: not bought anew, although the one before was over when
    /// word of it came.
    private var followsOn: Bool {
        isNewPeriod && after.purchaseDate > before.purchaseDate && after.purchaseDate <= before.expiresDate
    }

    /// Whether another period was paid for, and not only another plan chosen for the rest of this one.
    private var isRenewal: Bool {
        isNewPeriod && after.purchaseDate > before.purchaseDate
            && (before.productId == after.productId || after.purchaseDate >= before.expiresDate)
    }

    var isExtended: Bool { !isNewPeriod && after.expiresDate > before.expiresDate && before.state != .revoked }

    /// What the two states say.
    var stateChanges: [SubscriptionChange] {
        switch after.state {
        case .active: active
        case .gracePeriod: grace
        case .billingRetry:
            switch before.state {
            case .gracePeriod where !isNewPeriod: [.graceEnded]
            case .billingRetry where !isNewPeriod: []
            default: [.renewalFailed]
            }
        case .expired:
            switch before.state {
            case .gracePeriod where !isNewPeriod: [.graceEnded, .expired]
            case .expired: []
            default: [.expired]
            }
        case .revoked: before.state == .revoked && !isNewPeriod ? [] : [.revoked]
        }
    }

    private var active: [SubscriptionChange] {
        switch before.state {
        case .active: isRenewal ? [.renewed] : []
        case .gracePeriod, .billingRetry: isNewPeriod ? [.recovered] : []
        case .expired:
            if !isNewPeriod { [] } else if followsOn { isRenewal ? [.renewed] : [] } else { [.started] }
        case .revoked: isNewPeriod ? [.started] : [.restored]
        }
    }

    private var grace: [SubscriptionChange] {
        switch before.state {
        case .gracePeriod where !isNewPeriod: []
        case .expired where isNewPeriod && !followsOn: [.started, .graceStarted]
        case .revoked: [isNewPeriod ? .started : .restored, .graceStarted]
        default: [.graceStarted]
        }
    }

    /// What is planned otherwise than before, while it runs.
    var plans: [SubscriptionChange] {
        var changes: [SubscriptionChange] = []
        if after.goesOn == false, before.goesOn != false { changes.append(.cancelScheduled) }
        if after.goesOn == true, before.goesOn == false { changes.append(.cancelUndone) }
        // A plan that has taken effect is not one that was given up.
        if before.plannedProductId != after.plannedProductId, !isNewPeriod || after.plannedProductId != nil {
            changes.append(.planChangeScheduled)
        }
        if after.priceIncreaseStatus != before.priceIncreaseStatus {
            switch after.priceIncreaseStatus {
            case 0: changes.append(.priceIncreasePending)
            case 1: changes.append(.priceIncreaseAccepted)
            default: break
            }
        }
        return changes
    }
}
