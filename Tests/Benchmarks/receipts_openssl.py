"""Says how many receipts a second openssl's library verifies: d2i_CMS_bio and CMS_verify, chain and all, in one thread.

usage: receipts_openssl.py FILE      the receipt in base64

The chain is judged at the receipt's creation date, as ours is, but anew for every receipt: openssl remembers none. It
checks signatures only; no purchase is read.
"""

import base64
import ctypes
import ctypes.util
import re
import sys
import time
from datetime import datetime, timezone

ROUNDS, RECEIPTS_OF_ROUND = 5, 1000
CMS_BINARY, CMS_NO_SIGNER_CERT_VERIFY = 0x80, 0x20
PURPOSE_ANY = 7  # X509_PURPOSE_ANY: receipts' leaves are for no purpose that openssl knows.

crypto = ctypes.CDLL(ctypes.util.find_library("crypto") or "libcrypto.so.3")


def function(name, result, *arguments):
    found = getattr(crypto, name)
    found.restype, found.argtypes = result, arguments
    return found


pointer, integer, long = ctypes.c_void_p, ctypes.c_int, ctypes.c_long
new_bio = function("BIO_new_mem_buf", pointer, ctypes.c_char_p, integer)
bio_method = function("BIO_s_mem", pointer)
empty_bio = function("BIO_new", pointer, pointer)
free_bio = function("BIO_free", integer, pointer)
read_cms = function("d2i_CMS_bio", pointer, pointer, pointer)
free_cms = function("CMS_ContentInfo_free", None, pointer)
verify = function("CMS_verify", integer, pointer, pointer, pointer, pointer, pointer, ctypes.c_uint)
certificates = function("CMS_get1_certs", pointer, pointer)
count = function("OPENSSL_sk_num", integer, pointer)
member = function("OPENSSL_sk_value", pointer, pointer, integer)
new_store = function("X509_STORE_new", pointer)
add = function("X509_STORE_add_cert", integer, pointer, pointer)
parameters = function("X509_STORE_get0_param", pointer, pointer)
set_time = function("X509_VERIFY_PARAM_set_time", None, pointer, long)
set_level = function("X509_VERIFY_PARAM_set_auth_level", None, pointer, integer)
set_purpose = function("X509_VERIFY_PARAM_set_purpose", integer, pointer, integer)
issuer_hash = function("X509_issuer_name_hash", ctypes.c_ulong, pointer)
subject_hash = function("X509_subject_name_hash", ctypes.c_ulong, pointer)


def trust(der, created):
    """A store that trusts the receipt's own root; SHA-1 is allowed, as old receipts need."""
    bio = new_bio(der, len(der))
    stack = certificates(read_cms(bio, None))
    store = new_store()
    for index in range(count(stack)):
        certificate = member(stack, index)
        if issuer_hash(certificate) == subject_hash(certificate):
            add(store, certificate)
    free_bio(bio)
    set_time(parameters(store), int(created.timestamp()))
    set_level(parameters(store), 0)
    set_purpose(parameters(store), PURPOSE_ANY)
    return store


def check(der, store, flags):
    bio, out = new_bio(der, len(der)), empty_bio(bio_method())
    cms = read_cms(bio, None)
    good = verify(cms, None, store, None, out, flags)
    free_cms(cms)
    free_bio(bio)
    free_bio(out)
    return good == 1


def main():
    der = base64.b64decode(open(sys.argv[1], "rb").read())
    # Attribute 12, version 1: an IA5String of 20 letters.
    text = re.search(rb"\x02\x01\x0c\x02\x01\x01\x04\x16\x16\x14([0-9TZ:-]{20})", der).group(1).decode()
    created = datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    store = trust(der, created)
    for name, flags in [("with its chain", CMS_BINARY), ("without chain", CMS_BINARY | CMS_NO_SIGNER_CERT_VERIFY)]:
        best = 3600.0
        for _ in range(ROUNDS):
            start = time.perf_counter()
            for _ in range(RECEIPTS_OF_ROUND):
                if not check(der, store, flags):
                    sys.exit("openssl does not verify the receipt: no rate")
            best = min(best, time.perf_counter() - start)
        print(f"openssl DER {int(RECEIPTS_OF_ROUND / best)} receipts/s {name}")


main()
