"""Reference entries: the lock, a stopped run, and the store that holds history and lock."""

from __future__ import annotations

from glacierbase.errors import ConfigurationError, EngineUnavailable, Interrupted, LockHeld, LockLost, NeedsRepair
from glacierbase.errors.entry import Entry

ENTRIES = (
    Entry(
        "LOCK_HELD",
        (LockHeld,),
        "Another run holds the catalog's lock, or held it and has not released it. "
        "This command ran nothing and changed nothing. The message has the run, its host, process and lease.",
        "error: LOCK_HELD: the lock of analytics is held by run 5d0c2f1e of deploy on ci-7 (pid 4711), since"
        " 2026-11-20 12:03:11 UTC (2 min ago), lease until 2026-11-20 12:05:40 UTC; nothing ran\n"
        "next: wait for it with --lock-timeout 5m; the lock of a dead run can be taken over after its lease, or"
        " by `glacierbase unlock`",
        (
            "If the other run is at work, wait for it: `glacierbase migrate --lock-timeout 5m`.",
            "If it died, run the same command. The lock is taken over once its lease has ended and is not renewed.",
            "To see the holder and whether its process lives, or to free the lock of a dead run now: "
            "`glacierbase unlock --catalog analytics`.",
            "Only if the holder hangs and you have stopped its process and its engine: "
            "`glacierbase unlock --catalog analytics --force --reason 'job 4711 hung, killed by Ana'`.",
        ),
    ),
    Entry(
        "LOCK_LOST",
        (LockLost,),
        "This run could not prove that it still holds the lock, and stopped before its next statement. "
        "It was silent for longer than its lease, another run took over, or the lock table could not be read or was damaged. "
        "A statement that failed meanwhile may have failed because of the other run, which goes on with the file. "
        "Statements before it took effect and are recorded where possible.",
        "error: LOCK_LOST: this run lost the lock of analytics: the lease ran out; it runs nothing more\n"
        "next: `glacierbase status` shows what was applied; run `glacierbase migrate` again",
        (
            "`glacierbase status` shows what is recorded, and who holds the lock now.",
            "If a version is unknown: `glacierbase repair VERSION` (see `OUTCOME_UNKNOWN`).",
            "Otherwise `glacierbase migrate`. It continues where this run stopped.",
            "If it happens again, find what paused the process: a suspended machine, a full CPU, a slow catalog. "
            "A longer `store.lockLease` tolerates longer pauses.",
        ),
    ),
    Entry(
        "LOCK_DAMAGED",
        (NeedsRepair,),
        "The lock table holds several rows, or a row that lacks a value, or it lacks a column. "
        "Somebody changed it by hand, or restored it in part. No run can acquire the lock; a run that held it runs nothing more.",
        "error: LOCK_DAMAGED: the lock table lake.glacierbase.lock_analytics holds 2 rows instead of one; no run can acquire"
        " the lock\n"
        "next: `glacierbase unlock --rebuild --reason '…'` replaces what it holds by one row, with a fence above all of them",
        (
            "Find out who wrote to the table `lock_NAME`, and stop jobs that would do it again.",
            "`glacierbase unlock --rebuild --reason 'rows copied by a restore job'`. A run that still executes a statement "
            "can start no further one; its statement is unknown until it is settled (see `OUTCOME_UNKNOWN`).",
            "If a column is missing, make sure that no run is at work, and drop the table `lock_NAME` "
            "with the statement of the message. The next run creates it.",
        ),
    ),
    Entry(
        "LOCK_NOT_EXCLUSIVE",
        (EngineUnavailable,),
        "`doctor` saw more than one session, or none, acquire the same lock. "
        "On this catalog two runs could change a table at once. The scratch tables were dropped.",
        "error: LOCK_NOT_EXCLUSIVE: 4 sessions raced for the lock: 2 × 1 winners, 1 × 2 winners; two runs could hold it at"
        " once\n"
        "next: do not migrate here: point `store:` at a catalog with atomic commits",
        (
            "Do not run `migrate` with this store.",
            "Declare an Iceberg catalog with atomic commits (REST, Glue, Hive or JDBC), and name it in `store: {catalog: …}`. "
            "Hadoop catalogs, Hudi and Delta on a plain path are not safe for the lock.",
            "Test it: `glacierbase doctor --catalog analytics`.",
        ),
    ),
    Entry(
        "INTERRUPTED",
        (Interrupted,),
        "A signal or the caller stopped the command. No statement was in flight. "
        "What ran before is recorded, and the lock is released. "
        "The message of `repair`, `baseline` and `unlock` states whether their change was recorded. "
        "Exit code 130 is SIGINT (Ctrl-C), 143 is SIGTERM, 129 is SIGHUP (the terminal was closed).",
        "error: INTERRUPTED: stopped before statement 2 of migrations/analytics/0007_add_device.sql; what ran before is"
        " recorded\n"
        "next: run `glacierbase migrate` again: it continues where this run stopped",
        (
            "`glacierbase migrate` continues at the statement of the message.",
            "If a CI service or orchestrator sent the signal, look for its time limit or a cancelled job.",
            "If a lock is left behind, because a second signal ended the process at once: "
            "the next run takes it over after its lease, or `glacierbase unlock` frees it.",
        ),
    ),
    Entry(
        "STORE_UNAVAILABLE",
        (EngineUnavailable,),
        "The tables of history and lock cannot be read or written. "
        "Their catalog does not answer, or rejects the login or a right. No migration statement ran.",
        "error: STORE_UNAVAILABLE: catalog analytics: history and lock in lake.glacierbase cannot be used:"
        " https://catalog.example.com/v1/config: Connection refused\n"
        "next: check the catalog file, its server and the rights on that namespace; `glacierbase doctor` checks"
        " each",
        (
            "`glacierbase doctor --catalog analytics` tries connection, rights and lock, one line each.",
            "If the connection fails, check address, network, proxy and certificate from this machine.",
            "If the login fails, check the credential of the environment: it may have expired.",
            "If a right is missing, grant it on the namespace `glacierbase`, or let somebody with the rights run what "
            "`glacierbase doctor --catalog analytics --print-ddl` prints.",
            "If the database is locked, end the process that holds the SQLite file, or wait for it.",
            "Then run the command again.",
        ),
    ),
    Entry(
        "STORE_PROPERTIES",
        (ConfigurationError,),
        "The history or lock table lacks a property that makes its commits exclusive. "
        "A default of the catalog or an `ALTER TABLE` changed it. Nothing ran.",
        "error: STORE_PROPERTIES: lake.glacierbase.lock_analytics lacks properties that history and lock require:"
        " commit.retry.num-retries\n"
        "next: ALTER TABLE `lake`.`glacierbase`.`lock_analytics` SET TBLPROPERTIES ('commit.retry.num-retries'='0')\n"
        "state: nothing ran",
        (
            "Run the `ALTER TABLE` statement of the message in the engine.",
            "If a job or a policy sets table properties in this namespace, exclude the namespace `glacierbase` from it.",
        ),
    ),
    Entry(
        "STORE_NOT_ICEBERG",
        (ConfigurationError,),
        "`store.type` is `iceberg`, and PyIceberg cannot open the catalog in the same way as Spark does. "
        "The message names the property. Nothing was contacted.",
        "error: STORE_NOT_ICEBERG: PyIceberg cannot open the catalog lake: its jdbc.schema-version is not V1\n"
        "next: set `store: {type: sql}` to read and write history and lock through the catalog's engine\n"
        "state: nothing ran",
        (
            "If the property can be set or removed in `sparkConf`, do so. Read-only commands then need no Spark.",
            "Otherwise write `store: {type: sql}`, or remove `type`: history and lock then go through the engine. "
            "Both ways use the same two tables, so it can be changed at any time.",
        ),
    ),
    Entry(
        "PYICEBERG_NOT_INSTALLED",
        (ConfigurationError,),
        "PyIceberg, or a package that it needs for this kind of catalog, is not installed in this Python. "
        "Nothing was contacted.",
        "error: PYICEBERG_NOT_INSTALLED: pyiceberg is not installed in this Python\n"
        "next: pip install 'glacierbase[iceberg]'\n"
        "state: nothing ran",
        (
            "Run the `pip install` command of the message, in the environment that runs glacierbase.",
            "If the package must not be installed, write `store: {type: sql}`: history and lock then go through the engine.",
        ),
    ),
)
