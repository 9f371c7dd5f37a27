"""Lines of server access logs, as S3 documents them."""

from __future__ import annotations

from datetime import datetime, timezone
from urllib.parse import quote

OWNER = "79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be"
# From turn-around time to the fields that later versions of the format added.
REST = '113 - 7 - "-" "agent" - s9lzHYrF= SigV4 ECDHE-RSA-AES128-GCM-SHA256 AuthHeader lake.s3.amazonaws.com TLSV1.2 - - us-east-1'


def record(
    key: str = "-",
    second: float = 1_549_411_238,
    *,
    status: int = 200,
    error: str = "-",
    operation: str = "REST.PUT.OBJECT",
    bucket: str = "lake",
    encodings: int = 2,
    rest: str = REST,
) -> str:
    """Return the line of a request.

    Args:
        encodings: how often the key is URL-encoded.
        rest: the fields after the error code.
    """
    time = datetime.fromtimestamp(second, timezone.utc).strftime("%d/%b/%Y:%H:%M:%S %z")
    once = quote(key)
    logged = quote(once) if encodings == 2 else once
    uri = f'"{operation.split(".")[1]} /{bucket}/{once} HTTP/1.1"'
    return f"{OWNER} {bucket} [{time}] 192.0.2.3 {OWNER} 3E57427F3EXAMPLE {operation} {logged} {uri} {status} {error} {rest}\n"
