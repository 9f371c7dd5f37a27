"""Peers from Maven Central, as jars on a class path: what their own downloads hold, less the drivers of other databases."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from shutil import copyfileobj
from urllib.request import urlopen

from glacierbase.errors import ConfigurationError
from glacierbase.executors.spark.java import find_java_home
from tests.benchmarks.peers.peer import DATABASE, NotInstalled, Peer, sql

MAVEN = "GLACIERBASE_BENCHMARK_MAVEN"
_ANSWER_SECONDS = 60
SQLITE = "org.xerial:sqlite-jdbc:3.54.1.0"


class _FromMaven(Peer):
    jars: Sequence[str]
    main: str

    def fetch(self) -> None:
        try:
            find_java_home()
            if MAVEN not in os.environ:
                raise NotInstalled(f"{MAVEN} names no Maven repository")
            for jar in self.jars:
                _fetch(jar, self.home)
        except ConfigurationError as error:
            raise NotInstalled(error.message) from error
        except OSError as error:  # As urllib's errors are.
            raise NotInstalled(f"{os.environ[MAVEN]}: {error}") from error

    @property
    def program(self) -> Sequence[str | Path]:
        return (find_java_home() / "bin" / "java", "-cp", f"{self.home}/*", self.main)


def _fetch(coordinates: str, folder: Path) -> None:
    group, artifact, version = coordinates.split(":")
    name = f"{artifact}-{version}.jar"
    address = f"{os.environ[MAVEN]}/{group.replace('.', '/')}/{artifact}/{version}/{name}"
    with urlopen(address, timeout=_ANSWER_SECONDS) as answer, (folder / name).open("wb") as file:
        copyfileobj(answer, file)


class Liquibase(_FromMaven):
    name = "liquibase"
    version = "5.0.1"
    jars = (
        f"org.liquibase:liquibase-core:{version}",
        "com.opencsv:opencsv:5.12.0",
        "commons-io:commons-io:2.20.0",
        "info.picocli:picocli:4.7.7",
        "javax.xml.bind:jaxb-api:2.3.1",
        "org.apache.commons:commons-collections4:4.5.0",
        "org.apache.commons:commons-lang3:3.19.0",
        "org.apache.commons:commons-text:1.14.0",
        "org.yaml:snakeyaml:2.5",
        SQLITE,
    )
    main = "liquibase.integration.commandline.LiquibaseCommandLine"
    where = (
        f"--url=jdbc:sqlite:{DATABASE}", "--changelog-file=changelog.xml", "--show-banner=false",
        "--analytics-enabled=false",
    )  # fmt: skip
    status = "status"
    apply = "update"

    _CHANGELOG = """\
<databaseChangeLog xmlns="http://www.liquibase.org/xml/ns/dbchangelog" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
  xsi:schemaLocation="http://www.liquibase.org/xml/ns/dbchangelog
    http://www.liquibase.org/xml/ns/dbchangelog/dbchangelog-latest.xsd">
  <includeAll path="migrations" relativeToChangelogFile="true"/>
</databaseChangeLog>
"""

    def write(self, folder: Path, files: int) -> None:
        (folder / "changelog.xml").write_text(self._CHANGELOG)
        (folder / "migrations").mkdir()
        for number in range(1, files + 1):
            text = f"--liquibase formatted sql\n--changeset bench:{number}\n{sql(number)}\n"
            (folder / "migrations" / f"{number:05d}_step.sql").write_text(text)


class Flyway(_FromMaven):
    name = "flyway"
    version = "11.8.2"
    jars = (
        f"org.flywaydb:flyway-commandline:{version}",
        f"org.flywaydb:flyway-core:{version}",
        "com.fasterxml.jackson.core:jackson-annotations:2.15.2",
        "com.fasterxml.jackson.core:jackson-core:2.15.2",
        "com.fasterxml.jackson.core:jackson-databind:2.15.2",
        "com.fasterxml.jackson.dataformat:jackson-dataformat-toml:2.15.2",
        "com.fasterxml.jackson.dataformat:jackson-dataformat-xml:2.15.2",
        "com.fasterxml.woodstox:woodstox-core:6.5.1",
        "com.google.code.gson:gson:2.12.1",
        "org.codehaus.woodstox:stax2-api:4.2.1",
        SQLITE,
    )
    main = "org.flywaydb.commandline.Main"
    # It would ask on the net whether there is a newer one, which is not what is measured.
    where = (f"-url=jdbc:sqlite:{DATABASE}", "-locations=filesystem:migrations", "-skipCheckForUpdate")
    status = "info"
    apply = "migrate"

    def write(self, folder: Path, files: int) -> None:
        (folder / "migrations").mkdir()
        for number in range(1, files + 1):
            (folder / "migrations" / f"V{number:05d}__step.sql").write_text(f"{sql(number)}\n")
