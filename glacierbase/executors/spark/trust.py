"""A trust store for Java with the certificates that this machine trusts.

The Java of a wheel has its own list, which lacks the authority of a company whose proxy intercepts TLS. The system's bundle
contains that authority; the trust store holds the same certificates.
"""

from __future__ import annotations

import hashlib
import os
import re
import ssl
import struct
from pathlib import Path

# The bundles of Debian, Fedora, and of Alpine and macOS, besides the path that OpenSSL was built with.
_BUNDLES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)

# The format JKS, as java.base reads it (sun.security.provider.JavaKeyStore): magic, version, entries, digest.
_MAGIC, _VERSION, _TRUSTED = 0xFEEDFEED, 2, 2
_WHITENER = b"Mighty Aphrodite"
# Only for the digest, which Java checks where a password is given; it reads certificates without one.
_PASSWORD = "changeit"


def trust_store() -> bytes | None:
    """Return the machine's trusted certificates as a Java key store, or None if no bundle is found."""
    defaults = ssl.get_default_verify_paths()
    for bundle in filter(None, (os.environ.get("SSL_CERT_FILE"), defaults.cafile, *_BUNDLES)):
        try:
            found = _CERTIFICATE.findall(Path(bundle).read_text("ascii", errors="replace"))
        except OSError:
            continue
        if found:
            return _key_store([ssl.PEM_cert_to_DER_cert(each) for each in dict.fromkeys(found)])
    return None


def _key_store(certificates: list[bytes]) -> bytes:
    content = struct.pack(">III", _MAGIC, _VERSION, len(certificates))
    for number, certificate in enumerate(certificates):
        content += struct.pack(">I", _TRUSTED) + _text(f"ca-{number}") + struct.pack(">Q", 0)
        content += _text("X.509") + struct.pack(">I", len(certificate)) + certificate
    digest = hashlib.sha1(_PASSWORD.encode("utf-16-be") + _WHITENER + content, usedforsecurity=False)
    return content + digest.digest()


def _text(value: str) -> bytes:
    return struct.pack(">H", len(value)) + value.encode()
