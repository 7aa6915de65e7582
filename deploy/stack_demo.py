"""What a stack of deploy/demo has in place of chosen ports and made secrets, so that a page can name them.

Everybody knows these secrets: such a stack listens on this machine only, and is for looking at.
"""

import base64

# Those that a process has by itself, where it has one; others from below the range that chosen ports come from.
PORTS = {
    "RECEIPT_INTAKE_PORT": 8080, "CONSOLE_PORT": 8090, "WEBHOOK_RECEIVER_PORT": 8091,
    "SIMULATOR_PORT": 8099, "SIMULATOR_PRODUCTION_PORT": 8100, "SIMULATOR_SANDBOX_PORT": 8101,
    "RECEIPT_INTAKE_ADMIN_PORT": 9401, "FULFILLMENT_ADMIN_PORT": 9402, "NOTIFICATION_ADMIN_PORT": 9403,
    "CONSOLE_ADMIN_PORT": 9404,
    "VERIFICATION_WORKER_1_ADMIN_PORT": 9411, "VERIFICATION_WORKER_2_ADMIN_PORT": 9412,
    "POSTGRES_PORT": 14432, "BROKER_PORT": 14092, "ZOOKEEPER_PORT": 14181,
}
SECRETS = {
    "API_KEY": "csk_demo", "CONSOLE_KEY": "csk_demo_console",
    "JWT_SECRET": "demo-secret-of-countersign-that-everybody-knows",
    "WEBHOOK_SECRET": "whsec_" + base64.b64encode(b"demo-secret-that-everybody-knows").decode(),
}
