import Crypto
import Foundation

/// A player's token as the studio's log-in would issue it.
enum PlayerToken {
    static func make(of account: String, secret: String) throws -> String {
        let end = Int(Date().timeIntervalSince1970) + 600
        let signed = [#"{"alg":"HS256","typ":"JWT"}"#, #"{"sub":"\#(account)","exp":\#(end)}"#]
            .map { Data($0.utf8).base64URL }.joined(separator: ".")
        let code = HMAC<SHA256>.authenticationCode(
            for: Data(signed.utf8), using: SymmetricKey(data: Data(secret.utf8)))
        return signed + "." + Data(code).base64URL
    }
}
