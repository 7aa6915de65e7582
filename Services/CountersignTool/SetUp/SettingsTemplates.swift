/// What `init` begins with; the package has the same files, in deploy/systemd/etc.
enum SettingsTemplates {
    static let apps = """
        # The apps that are served. Shared/ServiceRuntime/AppsFile.swift describes every field; `countersign app add` and
        # `countersign key create` add to this file.
        apps: []

        """

    static let catalogue = """
        # What the apps sell. Shared/ServiceRuntime/Catalogue/CatalogueFile.swift describes every field.
        #
        # apps:
        #   com.example.game:
        #     - { id: gems.100, type: consumable, grants: { gem: 100 } }
        #     - { id: pro, type: non_consumable, entitlements: [pro] }
        #     - { id: monthly, type: auto_renewable, entitlements: [vip] }
        apps: {}

        """

    static let webhooks = """
        # Where webhooks go. Shared/ServiceRuntime/WebhooksFile.swift describes every field; `countersign webhooks add` adds
        # to this file.
        endpoints: []

        """

    static let variables = """
        # Settings of all services, a variable a line; the tables stand in README.md and Configuration.swift of each service.

        """
}
