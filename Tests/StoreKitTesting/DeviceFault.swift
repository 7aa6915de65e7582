/// What a phone does although an app would not expect it; each was seen by somebody, or is documented.
package struct DeviceFaults: OptionSet, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }

    /// Buying again gives the earlier, unfinished transaction of the product as success.
    package static let givesEarlierAsSuccess = DeviceFaults(rawValue: 1 << 0)
    /// The first look at `Transaction.unfinished` after `purchase()` finds nothing.
    package static let hidesNewest = DeviceFaults(rawValue: 1 << 1)
    /// `Transaction.unfinished` goes on giving what was finished.
    package static let showsFinished = DeviceFaults(rawValue: 1 << 2)
    /// Neither `Transaction.updates` nor the observer is told at launch of what is unfinished.
    package static let isSilentAtLaunch = DeviceFaults(rawValue: 1 << 3)
    /// `applicationUsername` is nil after a restart.
    package static let forgetsUsernames = DeviceFaults(rawValue: 1 << 4)
    /// `purchase()` throws although it was paid; the payment queue fails and sells afterwards.
    package static let failsAfterPaying = DeviceFaults(rawValue: 1 << 5)
    /// Orders wait for a guardian.
    package static let asksForApproval = DeviceFaults(rawValue: 1 << 6)
    /// The person closes every sheet.
    package static let isCancelled = DeviceFaults(rawValue: 1 << 7)
    /// The sheet's end comes as an error: `StoreKitError.userCancelled`, `SKError` 15.
    package static let cancelsByError = DeviceFaults(rawValue: 1 << 8)
    /// StoreKit cannot verify what Apple signed.
    package static let cannotVerify = DeviceFaults(rawValue: 1 << 9)
    /// The person may not pay.
    package static let forbidsPayments = DeviceFaults(rawValue: 1 << 10)
    /// There is no network for StoreKit.
    package static let isOffline = DeviceFaults(rawValue: 1 << 11)
    /// The person closes the sheet that asks for the password.
    package static let refusesPassword = DeviceFaults(rawValue: 1 << 12)
    /// There is no receipt until one is asked for.
    package static let hasNoReceipt = DeviceFaults(rawValue: 1 << 13)
    /// Apple gives no new receipt.
    package static let refusesReceipt = DeviceFaults(rawValue: 1 << 15)
    /// A restore fails after it gave what there is.
    package static let breaksRestoresOff = DeviceFaults(rawValue: 1 << 16)
    /// The App Store does not take the offer's signature.
    package static let refusesOffers = DeviceFaults(rawValue: 1 << 14)
}
