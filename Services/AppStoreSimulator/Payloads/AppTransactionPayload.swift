import Crypto
import Foundation

extension DownloadRecord {
    /// `AppTransactionDecodedPayload` (apple-facts C7): proof that an account downloaded the app.
    ///
    /// - Parameters:
    ///   - device: binds it to a device: the SHA-384 of the lower-case nonce and the device's identifier, in base64, as
    ///     Apple's AppTransaction.deviceVerification says.
    ///   - signedDate: milliseconds since 1970.
    func appTransaction(app: AppRecord, device: DeviceRecord?, signedDate: Int64) -> String {
        var json = JSONText()
        json.add("receiptType", environment.rawValue)
        // The sandbox does not tell the app's number, as in a sandbox receipt.
        if environment == .production { json.add("appAppleId", app.appAppleId) }
        json.add("bundleId", bundleId)
        json.add("applicationVersion", app.bundleVersion)
        if environment == .production {
            json.add("versionExternalIdentifier", Number.derived(from: "\(bundleId) \(app.bundleVersion)", digits: 9))
        }
        json.add("receiptCreationDate", signedDate)
        json.add("originalPurchaseDate", originalPurchaseDate)
        json.add("originalApplicationVersion", originalApplicationVersion)
        if let device {
            let nonce = UUID().uuidString.lowercased()
            let digest = SHA384.hash(data: Array((nonce + device.vendorIdentifier.lowercased()).utf8))
            json.add("deviceVerification", Data(digest).base64EncodedString())
            json.add("deviceVerificationNonce", nonce)
        }
        json.add("appTransactionId", appTransactionId)
        json.add("originalPlatform", originalPlatform)
        return json.object
    }
}

/// Numbers that come out the same for the same text.
enum Number {
    /// A number of so many digits that does not begin with zero.
    static func derived(from text: String, digits: Int) -> Int64 {
        var value: UInt64 = 0
        for byte in SHA256.hash(data: Array(text.utf8)).prefix(8) { value = value << 8 | UInt64(byte) }
        var power: UInt64 = 1
        for _ in 1..<digits { power *= 10 }
        return Int64(power + value % (9 * power))
    }
}
