"""PyIceberg's properties of files as stores of obstore, or why PyIceberg's file IO reads and writes the files.

Sources: https://py.iceberg.apache.org/configuration/#fileio, https://developmentseed.org/obstore/latest/api/store/. A property that
obstore cannot take is never left out: it decides who may read the files, or where they are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

from glacierbase.run.installed import pip_install

# A login as obstore takes it, and what returns the current one.
Login: TypeAlias = Mapping[str, Any]
_Provider: TypeAlias = Callable[[], Login]
_SAS = "adls.sas-token"
# Properties with the login to a store, which a catalog's server may send anew with each table; times in milliseconds since 1970.
# The key of a token for one account of Azure ends with the account.
LOGIN = (
    *("s3.access-key-id", "s3.secret-access-key", "s3.session-token", "s3.session-token-expires-at-ms"),
    *("gcs.oauth2.token", "gcs.oauth2.token-expires-at"),
    _SAS,
)
_CONNECT_SECONDS, _ANSWER_SECONDS = "10", "30"
# What only PyIceberg's file IO supports, by the property that requests it.
_ONLY_PYICEBERG = {
    "py-io-impl": "py-io-impl names it",
    "s3.signer": "the catalog's server signs the requests",
    **{
        key: f"obstore has no {key}"
        for key in (
            "s3.retry-strategy-impl",
            *("adls.connection-string", "adls.credential", "adls.token", "adls.anon"),
            *(f"adls.{kind}-storage-{part}" for kind in ("blob", "dfs") for part in ("authority", "scheme")),
        )
    },
}
# Variables by which obstore logs in without a key: https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html
_AWS_MACHINE = {
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
}
_AWS_FILES = (("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials"), ("AWS_CONFIG_FILE", "~/.aws/config"))
_AWS_REGION = {"AWS_REGION", "AWS_DEFAULT_REGION"}


class StoreNotMapped(Exception):
    """Why obstore does not reach a store, as a clause."""


def open_store(
    scheme: str, authority: str, properties: Mapping[str, Any], wait_seconds: float, login: _Provider | None
) -> Any:
    """Open the store of a bucket or container. Contacts nothing but AWS, for the region of a bucket that has none configured.

    Args:
        authority: the part of a location between `//` and the next slash.
        wait_seconds: after this time, a request is not repeated.
        login: returns the current login of the catalog's properties; None where they have none.

    Raises:
        StoreNotMapped: obstore cannot take a property, or is not installed.
    """
    if scheme not in _STORES:
        raise StoreNotMapped(f"obstore has no {scheme}")
    if why := next((why for key, why in _ONLY_PYICEBERG.items() if properties.get(key)), None):
        raise StoreNotMapped(why)
    if find_spec("obstore") is None:
        raise StoreNotMapped("obstore, which needs Python 3.11, is not installed")
    times = {
        "connect_timeout": properties.get("s3.connect-timeout", _CONNECT_SECONDS),
        "timeout": properties.get("s3.request-timeout", _ANSWER_SECONDS),
    }
    client: dict[str, Any] = {key: timedelta(seconds=float(seconds)) for key, seconds in times.items()}
    if bundle := os.environ.get("AWS_CA_BUNDLE"):
        client["root_certificate"] = Path(bundle).read_bytes()
    retries = {"retry_timeout": timedelta(seconds=wait_seconds)}
    return _STORES[scheme](
        authority, properties, {"client_options": client, "retry_config": retries, "credential_provider": login}
    )


def login_of(scheme: str, authority: str, properties: Mapping[str, Any]) -> Login | None:
    """Return the login that the properties hold, with the time of its end; None if they hold none."""
    if scheme in _S3:
        key, secret = (_of_aws(properties, name) for name in ("access-key-id", "secret-access-key"))
        if not key or not secret or _of_aws(properties, "role-arn"):
            return None
        expires = properties.get("s3.session-token-expires-at-ms")
        return _s3_login(key, secret, _of_aws(properties, "session-token"), _instant(expires))
    if scheme in _GCS:
        token, expires = properties.get("gcs.oauth2.token"), properties.get("gcs.oauth2.token-expires-at")
        return {"token": token, "expires_at": _end(_instant(expires))} if token else None
    token = _sas_token(authority, properties)
    return {"sas_token": token, "expires_at": _end(None)} if token else None


def _s3(bucket: str, properties: Mapping[str, Any], options: dict[str, Any]) -> Any:
    from obstore.store import S3Store

    endpoint = str(properties.get("s3.endpoint") or "")
    # As in PyArrow. A bucket with a dot is not covered by the certificate of AWS.
    is_host = _is_true(properties, "s3.force-virtual-addressing", default=not endpoint and "." not in bucket)
    config: Any = {
        "virtual_hosted_style_request": is_host,
        "disable_bulk_delete": True,
        "skip_signature": _is_true(properties, "s3.anonymous"),
    }
    if endpoint:
        scheme, _, host = (endpoint if "://" in endpoint else f"https://{endpoint}").partition("://")  # As in PyArrow.
        config["endpoint"] = f"{scheme}://{bucket}.{host}" if is_host else f"{scheme}://{host}"
        options["client_options"]["allow_http"] = scheme == "http"
    if proxy := properties.get("s3.proxy-uri"):
        options["client_options"]["proxy_url"] = proxy
    if region := _region(bucket, properties, is_aws=not endpoint):
        config["region"] = region
    if not options["credential_provider"] and not config["skip_signature"]:
        options["credential_provider"] = _aws_login(properties)
    return S3Store(bucket, config=config, **options)


def in_bulk(store: Any) -> Any:
    """Return a store of S3 that deletes several files by one request, which not every server has."""
    return type(store)(
        config={**store.config, "disable_bulk_delete": False},
        client_options=store.client_options, retry_config=store.retry_config, credential_provider=store.credential_provider,
    )  # fmt: skip


def _region(bucket: str, properties: Mapping[str, Any], *, is_aws: bool) -> str | None:
    """Return the region of a bucket; None where the environment names it, which obstore reads, and for other servers than AWS."""
    region = _of_aws(properties, "region")
    is_known = region or not is_aws or not _AWS_REGION.isdisjoint(os.environ)
    if is_known and not _is_true(properties, "s3.resolve-region"):
        return region
    from pyarrow.fs import resolve_s3_region

    return str(resolve_s3_region(bucket))


def _aws_login(properties: Mapping[str, Any]) -> _Provider | None:
    """Return the login to S3 of a role, a profile or a file of this machine; None for those that obstore finds itself."""
    role, profile = _of_aws(properties, "role-arn"), _of_aws(properties, "profile-name")
    needs = next(
        (what for what, value in (("role", role), ("profile", profile or os.environ.get("AWS_PROFILE"))) if value), None
    )
    if needs is None:
        if "AWS_ACCESS_KEY_ID" in os.environ or not _AWS_MACHINE.isdisjoint(os.environ):
            return None
        files = (Path(os.environ.get(variable, default)).expanduser() for variable, default in _AWS_FILES)
        if not any(file.is_file() for file in files):
            if os.environ.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true":
                raise StoreNotMapped("there is no login to S3")
            return None
        needs = "configuration"
    if find_spec("botocore") is None:
        raise StoreNotMapped(f"the {needs} of AWS needs botocore: {pip_install('s3')}")
    from botocore.session import Session

    session = Session(profile=profile)
    if (keys := login_of("s3", "", {**properties, "s3.role-arn": None, "client.role-arn": None})) is not None:
        session.set_credentials(keys["access_key_id"], keys["secret_access_key"], keys["token"])
    if role:
        return partial(_assumed, session, role, properties)
    if (credentials := session.get_credentials()) is None:
        raise StoreNotMapped("there is no login to S3")

    def login() -> Login:
        current = credentials.get_frozen_credentials()
        return _s3_login(current.access_key, current.secret_key, current.token)

    return login


def _assumed(session: Any, role: str, properties: Mapping[str, Any]) -> Login:
    name = _of_aws(properties, "role-session-name") or "glacierbase"
    client = session.create_client("sts", region_name=_of_aws(properties, "region"))
    login = client.assume_role(RoleArn=role, RoleSessionName=name)["Credentials"]
    return _s3_login(login["AccessKeyId"], login["SecretAccessKey"], login["SessionToken"], login["Expiration"])


def _s3_login(key: str, secret: str, token: str | None, expires: datetime | None = None) -> Login:
    return {"access_key_id": key, "secret_access_key": secret, "token": token or None, "expires_at": _end(expires)}


def _gcs(bucket: str, properties: Mapping[str, Any], options: dict[str, Any]) -> Any:
    from obstore.store import GCSStore

    config: Any = {"skip_signature": False}
    if host := properties.get("gcs.service.host"):
        config["base_url"] = host
        options["client_options"]["allow_http"] = str(host).startswith("http://")
    return GCSStore(bucket, config=config, **options)


def _adls(authority: str, properties: Mapping[str, Any], options: dict[str, Any]) -> Any:
    from obstore.store import AzureStore

    container, _, host = authority.partition("@")
    config: Any = {"account_name": _account(authority, properties), "skip_signature": False}
    if host := properties.get("adls.account-host") or host.replace(".dfs.", ".blob."):
        config["endpoint"] = host if "://" in host else f"https://{host}"
        options["client_options"]["allow_http"] = host.startswith("http://")
    login = {name: properties.get(f"adls.{name.replace('_', '-')}") for name in _ADLS_LOGIN}
    if not options["credential_provider"] and not any(login.values()):
        raise StoreNotMapped("the login is that of this machine")
    config.update((name, value) for name, value in login.items() if value)
    return AzureStore(container, config=config, **options)


_ADLS_LOGIN = ("account_key", "tenant_id", "client_id", "client_secret")


def _account(authority: str, properties: Mapping[str, Any]) -> str:
    named = next((key for key in properties if key.startswith(f"{_SAS}.")), "").removeprefix(f"{_SAS}.")
    host = authority.partition("@")[2]
    return str(properties.get("adls.account-name") or (host or named).partition(".")[0])


def _sas_token(authority: str, properties: Mapping[str, Any]) -> str | None:
    account = _account(authority, properties)
    own = (key for key in properties if key.partition(f"{_SAS}.")[2].partition(".")[0] == account)
    return properties.get(_SAS) or properties.get(next(own, ""))


def _of_aws(properties: Mapping[str, Any], name: str) -> str | None:
    """Return a property of S3, else the one of all services of AWS; None if neither is set."""
    return properties.get(f"s3.{name}") or properties.get(f"client.{name}") or None


def _is_true(properties: Mapping[str, Any], key: str, *, default: bool = False) -> bool:
    value = properties.get(key)
    return default if value is None else str(value).lower() == "true"


def _instant(milliseconds: Any) -> datetime | None:
    return datetime.fromtimestamp(int(milliseconds) / 1000, timezone.utc) if milliseconds else None


def _end(expires: datetime | None) -> datetime:
    """Return when a login ends. One without an end is over at once: obstore asks for it again before each request."""
    return expires or datetime.now(timezone.utc)


_S3, _GCS, _ADLS = ("s3", "s3a", "s3n"), ("gs", "gcs"), ("abfs", "abfss", "wasb", "wasbs")
_STORES: Mapping[str, Callable[[str, Mapping[str, Any], dict[str, Any]], Any]] = {
    **dict.fromkeys(_S3, _s3),
    **dict.fromkeys(_GCS, _gcs),
    **dict.fromkeys(_ADLS, _adls),
}
