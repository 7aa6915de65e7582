"""Who is who in a private cluster: its certificate authority, the brokers' certificates, users and passwords."""

import base64
import hashlib
import hmac
import os
import pathlib
import secrets
import subprocess

from private_files import write_private

# The cluster's own user, its administrator, one for each service, two for the operator's tool, and one without rights.
USERS = ["broker", "admin", "receipt-intake", "verification-worker", "fulfillment", "notification",
         "countersign-tool", "countersign-operator", "stranger"]
SUPER_USERS = ["broker", "admin"]
MECHANISM = "SCRAM-SHA-512"
SCRAM_ITERATIONS = 4096  # The fewest that Kafka takes.
CERTIFICATE_DAYS = 30  # No cluster of this kind lives that long.
EXPIRED_FROM, EXPIRED_TO = "20200101000000Z", "20200201000000Z"
NAMES = "subjectAltName=IP:127.0.0.1,DNS:localhost\n"  # What clients compare with the address they asked for.


class IdentityError(Exception):
    """A certificate or a store cannot be made; the text says why."""


def make_passwords():
    """A password for each user, and one for the brokers' stores."""
    return {name: secrets.token_urlsafe(24) for name in [*USERS, "stores"]}


def scram_credential(password):
    """What a server keeps of a password (RFC 5802), as Kafka writes it: nobody can log in with it."""
    salt = secrets.token_bytes(24)
    salted = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, SCRAM_ITERATIONS)
    stored_key = hashlib.sha512(hmac.digest(salted, b"Client Key", "sha512")).digest()
    server_key = hmac.digest(salted, b"Server Key", "sha512")
    salt, stored_key, server_key = (base64.b64encode(value).decode() for value in (salt, stored_key, server_key))
    return f"salt={salt},stored_key={stored_key},server_key={server_key},iterations={SCRAM_ITERATIONS}"


class Authority:
    """A cluster's certificates, in a folder: the authority's, the brokers' stores, and those that must not work."""

    def __init__(self, folder, store_password, keytool):
        self.folder = pathlib.Path(folder)
        self.store_password = store_password
        self.keytool = keytool

    @property
    def certificate(self):
        return self.folder / "ca.pem"

    @property
    def foreign_certificate(self):
        """Of an authority that signed nothing here."""
        return self.folder / "foreign-ca.pem"

    @property
    def trust_store(self):
        return self.folder / "trust.p12"

    def store(self, name):
        return self.folder / f"{name}.p12"

    def make(self, brokers):
        """Everything, `expired.p12` too; whatever is there is made anew."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self._make_authority("ca", "Countersign test cluster")
        self._make_authority("foreign-ca", "Somebody else")
        write_private(self.folder / "names", NAMES)
        for name in brokers:
            self._issue(name)
            self._bundle(name)
        self._issue_expired("expired")
        self._bundle("expired")
        self.trust_store.unlink(missing_ok=True)
        self._run([self.keytool, "-importcert", "-noprompt", "-alias", "ca", "-file", self.certificate,
                   "-keystore", self.trust_store, "-storetype", "PKCS12", "-storepass:env", "STORE_PASSWORD"])

    def _make_authority(self, name, subject):
        self._openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                      "-keyout", self.folder / f"{name}.key", "-out", self.folder / f"{name}.pem",
                      "-subj", f"/CN={subject}", "-days", str(CERTIFICATE_DAYS))

    def _request(self, name):
        self._openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                      "-keyout", self.folder / f"{name}.key", "-out", self.folder / f"{name}.csr",
                      "-subj", f"/CN={name}")

    def _issue(self, name):
        self._request(name)
        self._openssl("x509", "-req", "-in", self.folder / f"{name}.csr", "-CA", self.certificate,
                      "-CAkey", self.folder / "ca.key", "-set_serial", str(secrets.randbits(63)),
                      "-days", str(CERTIFICATE_DAYS), "-extfile", self.folder / "names",
                      "-out", self.folder / f"{name}.pem")

    def _issue_expired(self, name):
        """By `openssl ca`: the others' options for days in the past depend on the version."""
        self._request(name)
        (self.folder / "index").write_text("")
        (self.folder / "serial").write_text(f"{secrets.randbits(63):016x}\n")
        write_private(self.folder / "ca.cnf", "\n".join([
            "[ca]", "default_ca=cluster", "[cluster]", f"database={self.folder}/index", f"serial={self.folder}/serial",
            f"new_certs_dir={self.folder}", "default_md=sha256", "policy=any", "[any]", "commonName=supplied", ""]))
        self._openssl("ca", "-batch", "-notext", "-config", self.folder / "ca.cnf", "-cert", self.certificate,
                      "-keyfile", self.folder / "ca.key", "-in", self.folder / f"{name}.csr",
                      "-extfile", self.folder / "names", "-startdate", EXPIRED_FROM, "-enddate", EXPIRED_TO,
                      "-out", self.folder / f"{name}.pem")

    def _bundle(self, name):
        """Key, certificate and authority as PKCS12: Kafka reads PEM only since 2.7."""
        self._openssl("pkcs12", "-export", "-name", name, "-inkey", self.folder / f"{name}.key",
                      "-in", self.folder / f"{name}.pem", "-certfile", self.certificate,
                      "-passout", "env:STORE_PASSWORD", "-out", self.store(name))

    def _openssl(self, *arguments):
        self._run(["openssl", *arguments])

    def _run(self, command):
        # The password goes through the environment: arguments can be seen by everybody on the machine.
        result = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, check=False, umask=0o077,
                                env={**os.environ, "STORE_PASSWORD": self.store_password})
        if result.returncode != 0:
            raise IdentityError(f"{pathlib.Path(command[0]).name} {command[1]} failed:\n{result.stdout.strip()}")
