extension OpenAPIPaths {
    /// More of the document's first part, in YAML: subscription offers.
    static let offers = #"""
          /v1/offer-signatures:
            post:
              operationId: postOfferSignature
              tags: [purchases]
              summary: Signs a subscription offer for one purchase, with the app's key.
              description: |
                With `offer_id` a promotional offer, in both of Apple's forms: `jws` for StoreKit 2, `signature` with
                `key_id`, `nonce` and `timestamp` for SKPaymentDiscount. With `allow_introductory_offer` whether the customer
                may have the introductory offer. Every request is another signature; nothing is written down. A player may
                have the offers signed that the app's `player_offers` lists; a key with the scope `sign`, all of them. Whether
                the App Store knows product and offer is not looked at.
              security:
                - player: []
                - server: [sign]
              requestBody:
                required: true
                content:
                  application/json:
                    schema: { $ref: '#/components/schemas/OfferSignatureRequest' }
              responses:
                '200':
                  description: The offer, signed.
                  content:
                    application/json:
                      schema: { $ref: '#/components/schemas/OfferSignature' }
                \#(problems(400, 401, 403, 413, 415, 422, 429, 503))

        """#
}
