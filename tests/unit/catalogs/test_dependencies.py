"""The jars of a catalog file: floating versions and plain HTTP are refused, and digests are compared."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from glacierbase.catalogs.folder import load_catalog_files
from glacierbase.errors import ConfigurationError, GlacierbaseError
from glacierbase.executors.spark.jars import check_digests
from glacierbase.model.catalog import Catalog
from tests.support.catalog_files import LAKE, RUNTIME, SQLITE
from tests.support.project_folder import ProjectFolder

CONF = "migrationExecutor:\n  type: spark\n  conf:\n    sparkConf:\n      spark.sql.catalog.lake: x\n"
DIGEST = hashlib.sha256(b"the jar").hexdigest()
FLOATING = [
    "latest.release", "latest.integration", "latest.milestone", "LATEST", "RELEASE", "1.+", "+", "1.0-SNAPSHOT", "SNAPSHOT",
    "[1,)", "(,2]", "[1,2)", "]1,2[", "[1]",
]  # fmt: skip
FIXED = ["1.12.0", "3.54.1.0", "1.0-rc1", "2.0+build5", "release-7", "1.0-SNAPSHOT-2", "20240101", "env_V"]


def read(project: ProjectFolder, text: str, *, resolve: bool = True) -> Catalog:
    project.catalog(text)
    [file] = load_catalog_files(project.root / "catalogs", project.root)
    return file.for_environment("default", project.root, resolve=resolve)


def refusal(project: ProjectFolder, text: str, *, resolve: bool = True) -> GlacierbaseError:
    with pytest.raises(ConfigurationError) as caught:
        read(project, text, resolve=resolve)
    return caught.value


def with_dependency(version: str) -> str:
    return f"{CONF}    dependencies:\n      - a:b:1\n      - 'g:a:{version}'\n"


def with_packages(packages: str) -> str:
    return f"{CONF}\n\n      spark.jars.packages: 'a:b:1, {packages}'\n"


@pytest.mark.parametrize("version", FLOATING)
def test_a_version_that_another_jar_can_get_is_refused(version: str, project: ProjectFolder) -> None:
    """The error has the line, for `dependencies` and for `spark.jars.packages` in each of its spellings."""
    for text in (
        with_dependency(version),
        with_dependency(version).replace(f"'g:a:{version}'", f"{{coordinate: 'g:a:{version}', sha256: {DIGEST}}}"),
        with_packages(f"g:a:{version}"),
        with_packages(f"g/a/{version} ,c:d:1"),
    ):
        error = refusal(project, text)
        assert (error.code, error.exit_code, error.data["line"]) == ("FLOATING_DEPENDENCY", 2, 8)
        assert "allowFloating: true" in error.hint


@pytest.mark.parametrize("version", FIXED)
def test_a_single_version_passes(version: str, project: ProjectFolder) -> None:
    """A version that only resembles a floating one is accepted."""
    assert read(project, with_dependency(version)).dependencies == ("a:b:1", f"g:a:{version}")
    assert read(project, with_packages(f"g:a:{version}"))


@pytest.mark.parametrize("where", ["    allowFloating: true\n", "  allowFloating: true\n"])
def test_floating_versions_pass_where_the_file_allows_them(where: str, project: ProjectFolder) -> None:
    """`allowFloating` may be under `conf` or beside it; any value but `true` does not allow them."""
    text = with_dependency("latest.release") + where
    assert read(project, text).dependencies == ("a:b:1", "g:a:latest.release")
    assert read(project, with_packages("g:a:1.+") + where)
    assert refusal(project, text.replace("true", "false")).code == "FLOATING_DEPENDENCY"
    again = text + "environments: {default: {migrationExecutor: {allowFloating: false}}}\n"
    assert refusal(project, again).code == "FLOATING_DEPENDENCY"
    both = f"{with_dependency('+')}    allowFloating: true\n  allowFloating: true\n"
    assert refusal(project, both).code == "DUPLICATE_KEY"


@pytest.mark.parametrize("smuggled", ["a:b:1,c/d/latest.release", "a:b,c/d/+:1", "a:b/c:+", "a:b:1/+"])
def test_a_list_of_coordinates_in_one_string_is_refused(smuggled: str, project: ProjectFolder) -> None:
    """A comma or slash in a coordinate is refused, because Spark would split it there."""
    assert refusal(project, f"{CONF}    dependencies: ['{smuggled}']\n").code in (
        "INVALID_VALUE",
        "FLOATING_DEPENDENCY",
    )


@pytest.mark.parametrize(
    "package", ["org.acme", "org.acme:other", "org.acme:other:jar:1.0", "org acme:other:1.0", ":a:1"]
)
def test_a_malformed_package_is_refused_before_spark_starts(package: str, project: ProjectFolder) -> None:
    """The error has the line and the coordinate; in `dependencies` it is refused as well."""
    error = refusal(project, with_packages(package))
    assert (error.code, error.data["line"]) == ("INVALID_VALUE", 8)
    assert f"{package!r} is not a Maven coordinate: group:artifact:version" in error.message
    assert refusal(project, with_dependency("1").replace("g:a:1", package)).code == "INVALID_VALUE"


@pytest.mark.parametrize(
    "address",
    [
        "http://repository.example.com/maven",
        "HTTP://repository.example.com",
        "https://one.example.com, http://two.example.com",
        "http://localhost.example.com",
        "http://127.0.0.1.example.com",
        "http://localhost@example.com",
        "http://10.0.0.1/maven",
        "http:/maven",
        "http://[broken",
    ],
)
def test_a_repository_without_tls_is_refused(address: str, project: ProjectFolder) -> None:
    """The error has the line, but not the address, which may contain a password; `allowFloating` does not matter."""
    text = f"{CONF}      spark.jars.repositories: '{address}'\n    allowFloating: true\n"
    error = refusal(project, text)
    assert (error.code, error.exit_code, error.data["line"]) == ("INVALID_VALUE", 2, 6)
    assert "http://" in error.message
    assert address not in error.message + error.hint


@pytest.mark.parametrize(
    "address",
    [
        "https://repository.example.com/maven",
        "https://one.example.com,https://two.example.com",
        "http://localhost:8081/maven",
        "http://127.0.0.1:8081/maven",
        "http://[::1]/maven",
        "file:///srv/maven",
        "/srv/maven",
    ],
)
def test_a_repository_with_tls_or_on_this_machine_passes(address: str, project: ProjectFolder) -> None:
    """The address reaches Spark unchanged."""
    conf = read(project, f"{CONF}      spark.jars.repositories: '{address}'\n").spark_conf
    assert conf["spark.jars.repositories"] == address


def test_unread_references_in_jars_are_no_error(project: ProjectFolder) -> None:
    """Values beside a placeholder are checked nevertheless."""
    text = (
        f"{CONF}      spark.jars.repositories: 'http://${{env:HOST}}/maven'\n      spark.jars.packages: 'a:b:${{env:V}}+'\n"
        "    dependencies: ['${env:COORDINATE}', 'a:b:[${env:V},)', {coordinate: 'c:d:1', sha256: '${env:DIGEST}'}]\n"
        "    allowFloating: ${env:FLOATING}\n"
    )
    assert read(project, text, resolve=False)
    error = refusal(project, text.replace("a:b:${env:V}+", "a:b:${env:V}+,c:d:+"), resolve=False)
    assert error.code == "FLOATING_DEPENDENCY"


def test_a_dependency_may_have_a_digest(project: ProjectFolder) -> None:
    """Dependencies with and without digests may be mixed, and a digest may be in capitals."""
    text = f"{CONF}    dependencies: ['a:b:1', {{coordinate: 'g:a:2', sha256: {DIGEST.upper()}}}, {{coordinate: 'c:d:3'}}]\n"
    catalog = read(project, text)
    assert catalog.dependencies == ("a:b:1", "g:a:2", "c:d:3")
    assert catalog.digests == (("g:a:2", DIGEST),)
    beside = text.replace("    dependencies", "  dependencies")
    assert read(project, beside).digests == catalog.digests


@pytest.mark.parametrize(
    ("item", "code", "says"),
    [
        (f"{{sha256: {DIGEST}}}", "MISSING_KEY", "coordinate is missing"),
        (
            f"{{coordinate: 'a:b:1', sha265: {DIGEST}}}",
            "UNKNOWN_KEY",
            "sha265 under migrationExecutor.conf.dependencies",
        ),
        ("{coordinate: 'a:b:1', sha256: }", "INVALID_VALUE", "dependencies.sha256: '' is not a SHA-256"),
        ("{coordinate: 'a:b:1', sha256: null}", "INVALID_VALUE", "dependencies.sha256"),
        (f"{{coordinate: 'a:b:1', sha256: {DIGEST[1:]}}}", "INVALID_VALUE", "is not a SHA-256 of 64"),
        (f"{{coordinate: 'a:b:1', sha256: '{DIGEST} '}}", "INVALID_VALUE", "is not a SHA-256 of 64"),
        (f"{{coordinate: 'a:b:1', sha256: [{DIGEST}]}}", "INVALID_VALUE", "wrong kind of value"),
        (f"{{coordinate: 'a:b', sha256: {DIGEST}}}", "INVALID_VALUE", "'a:b' is not a Maven coordinate"),
        ("{coordinate: }", "INVALID_VALUE", "not a Maven coordinate"),
        ("[a:b:1]", "INVALID_VALUE", "wrong kind of value"),
    ],
)
def test_a_digest_that_could_go_unnoticed_is_refused(item: str, code: str, says: str, project: ProjectFolder) -> None:
    """A misspelt digest, or key, is an error instead of a comparison that is skipped."""
    error = refusal(project, f"{CONF}    dependencies:\n      - {item}\n")
    assert (error.code, error.data["line"]) == (code, 7)
    assert says in error.message


@pytest.mark.parametrize("name", ["g_a-2.jar", "a-2.jar"])
def test_the_jar_of_a_coordinate_must_have_its_digest(name: str, tmp_path: Path) -> None:
    """Every jar with the coordinate's file name is compared, with or without the group in that name."""
    jar, other = tmp_path / name, tmp_path / "other_a-2.jar"
    jar.write_bytes(b"the jar")
    other.write_bytes(b"another")
    check_digests([other, jar], [("g:a:2", DIGEST)])
    copy = tmp_path / "copy" / "a-2.jar"
    copy.parent.mkdir()
    for jars in ([other], [], [jar, copy]):
        copy.write_bytes(b"exchanged")
        with pytest.raises(ConfigurationError) as caught:
            check_digests(jars, [("g:a:2", DIGEST)])
        error = caught.value
        assert (error.code, error.exit_code) == ("DEPENDENCY_DIGEST", 2)
        found = hashlib.sha256(b"exchanged").hexdigest() if copy in jars else "no jar"
        assert all(part in error.message for part in ("g:a:2", DIGEST, found))
    with pytest.raises(ConfigurationError, match=f"expected SHA-256 {'0' * 64}"):
        check_digests([jar], [("g:a:2", DIGEST), ("g:a:2", "0" * 64)])


@pytest.mark.spark
def test_a_jar_is_compared_before_a_session_has_it(project: ProjectFolder, tmp_path: Path) -> None:
    """With a wrong digest, neither the first start nor a later one creates a session, a table or a database."""
    environ = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    text = LAKE.replace("WAREHOUSE", str(project.root / "warehouse"))
    pinned = f'"{RUNTIME}", {{coordinate: "{SQLITE}", sha256: DIGEST}}'
    text = text.replace(f'"{RUNTIME}", "{SQLITE}"', pinned)
    assert pinned in text
    project.catalog(text.replace("DIGEST", "0" * 64))
    project.file("1_a.sql", "CREATE NAMESPACE lake.a")
    for _ in range(2):  # Once resolved by Spark, once found in the cache.
        told = project.ask("migrate", environ=environ)
        error = told.document["error"]
        assert (told.code, error["code"], error["coordinate"]) == (2, "DEPENDENCY_DIGEST", SQLITE)
        assert not (project.root / "warehouse").exists()
    found = error["found"]
    [record] = (tmp_path / "cache/glacierbase/jars").iterdir()
    [jar] = [Path(each) for each in json.loads(record.read_text()) if "sqlite" in each]
    assert hashlib.sha256(jar.read_bytes()).hexdigest() == found
    record.unlink()
    project.catalog(text.replace("DIGEST", found))
    for command in ("migrate", "warm"):
        told = project.run(command, environ=environ)
        assert told.code == 0, told.stderr
    assert project.ask("status", environ=environ).entry()["migrations"][0]["state"] == "applied"
