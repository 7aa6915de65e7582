import Foundation
import HTTPTypes
import Hummingbird

/// A route of the console, with what somebody must be allowed to do to call it.
struct ConsoleRoute: Sendable {
    typealias Handler = @Sendable (Request, ConsoleContext) async throws -> Response

    let method: HTTPRequest.Method
    /// With names of parameters in braces.
    let path: String
    /// Nil for what anybody gets: logging in, style sheets.
    let permission: Permission?
    let handler: Handler

    init(_ method: HTTPRequest.Method, _ path: String, _ permission: Permission?, _ handler: @escaping Handler) {
        self.method = method
        self.path = path
        self.permission = permission
        self.handler = handler
    }
}

/// How people log in.
protocol LogIn: Sendable {
    /// The routes by which they do.
    var routes: [ConsoleRoute] { get }
    /// Who sends a request; nil where nobody is logged in.
    ///
    /// - Throws: `ConsoleTrouble` where the provider has to be asked and cannot be.
    func visit(of request: Request, _ context: ConsoleContext) async throws -> Visit?
}

/// Why a page cannot be shown; the person is told so in words of the texts.
struct ConsoleTrouble: Error, Equatable {
    enum Kind: String, Sendable {
        case notFound, forbidden, formExpired, intakeAway, intakeRefused, providerAway, badRequest
    }

    let kind: Kind
    /// What intake or the provider said; shown as it is.
    var detail: String?
    /// The code of intake's problem.
    var problem: String?

    init(_ kind: Kind, _ detail: String? = nil, problem: String? = nil) {
        (self.kind, self.detail, self.problem) = (kind, detail, problem)
    }

    var status: HTTPResponse.Status {
        switch kind {
        case .notFound: .notFound
        case .forbidden, .formExpired: .forbidden
        case .badRequest: .badRequest
        case .intakeAway, .providerAway: .serviceUnavailable
        case .intakeRefused: .badGateway
        }
    }
}
