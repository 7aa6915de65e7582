/// Why a provider's answer is of no use.
enum ProviderTrouble: Error, Equatable, CustomStringConvertible {
    /// It does not answer, answers 5xx or 429, or something that is no answer: it may work later.
    case away(String)
    /// It says no: to a code, a refresh token or an access token.
    case refused(String)
    /// What it says is not genuine, or not for us.
    case wrong(String)

    /// One sentence without a secret, for the log.
    var description: String {
        switch self {
        case .away(let what): "the provider is away: \(what)"
        case .refused(let what): "the provider refused: \(what)"
        case .wrong(let what): "the provider's word does not count: \(what)"
        }
    }
}
