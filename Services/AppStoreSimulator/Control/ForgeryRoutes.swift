import HTTPTypes
import Hummingbird

/// The hostile menu: `forgeries`, each refused by one check of a signed transaction, and `attacks`, which need more than
/// that.
struct ForgeryRoutes: Sendable {
    let store: Store
    let signer: PayloadSigner
    let workshop: ForgeryWorkshop
    let receipts: ReceiptAuthority

    func addRoutes(to group: RouterGroup<BasicRequestContext>) {
        group.get("forgeries") { _, _ in ControlAnswer.json(Self.menu) }
        group.post("forgeries") { request, _ in try await forge(try await Self.read(request)) }
        group.post("attacks") { request, _ in try await attack(try await Self.read(request)) }
    }

    @inline(never)
    private static func read(_ request: Request) async throws -> ForgeryRequest {
        try await ControlBody.decode(ForgeryRequest.self, from: request)
    }

    @inline(never)
    private func forge(_ request: ForgeryRequest) async throws -> Response {
        guard let forgery = Forgery.named(request.kind) else {
            throw Problem(.badRequest, "kind: one of \(Forgery.all.map(\.kind).joined(separator: ", "))")
        }
        let purchase = try request.purchase()
        let (transaction, now) = try await store.change { state, now in
            (request.transaction(of: purchase, in: &state, now: now), now)
        }
        let forged = try workshop.forge(forgery, transaction, signedDate: now)
        var json = JSONText()
        json.add("kind", forgery.kind)
        json.add("expectedRejection", forgery.expectedRejection)
        json.add("transactionId", transaction.transactionId)
        json.add("signedTransaction", forged)
        return ControlAnswer.json(json.object)
    }

    @inline(never)
    private func attack(_ request: ForgeryRequest) async throws -> Response {
        guard let attack = Attack.named(request.kind) else {
            throw Problem(.badRequest, "kind: one of \(Attack.all.map(\.kind).joined(separator: ", "))")
        }
        let artefacts = try await attack.make(
            AttackMaterial(
                store: store, signer: signer, request: request, purchase: try request.purchase(), workshop: workshop,
                receipts: receipts))
        var json = JSONText()
        json.add("kind", attack.kind)
        json.add("artefacts", json: "[\(artefacts.map { Self.describe($0) }.joined(separator: ","))]")
        json.add("goodBackend", attack.goodBackend)
        return ControlAnswer.json(json.object)
    }

    /// What `GET forgeries` answers.
    private static var menu: String {
        var json = JSONText()
        json.add("kinds", json: "[\(Forgery.all.map { describe($0) }.joined(separator: ","))]")
        json.add("attacks", json: "[\(Attack.all.map { describe($0) }.joined(separator: ","))]")
        return json.object
    }

    private static func describe(_ forgery: Forgery) -> String {
        var json = JSONText()
        json.add("kind", forgery.kind)
        json.add("expectedRejection", forgery.expectedRejection)
        json.add("what", forgery.what)
        return json.object
    }

    private static func describe(_ attack: Attack) -> String {
        var json = JSONText()
        json.add("kind", attack.kind)
        json.add("what", attack.what)
        json.add("goodBackend", attack.goodBackend)
        return json.object
    }

    private static func describe(_ artefact: Attack.Artefact) -> String {
        var json = JSONText()
        json.add("type", artefact.kind.rawValue)
        json.add("value", artefact.value)
        if artefact.times > 1 { json.add("times", Int64(artefact.times)) }
        return json.object
    }
}
