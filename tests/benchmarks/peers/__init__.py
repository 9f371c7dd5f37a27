"""The peers: fetched into a cache of the benchmarks' own, each with projects in which everything is applied already."""

from tests.benchmarks.peers.binary import Dbmate, GolangMigrate, Goose
from tests.benchmarks.peers.java import Flyway, Liquibase
from tests.benchmarks.peers.peer import Peer, Tool
from tests.benchmarks.peers.python import Alembic, Schemachange, Yoyo

PEERS: tuple[type[Peer], ...] = (Liquibase, Flyway, Alembic, Yoyo, Goose, GolangMigrate, Dbmate)

__all__ = ["PEERS", "Peer", "Schemachange", "Tool"]
