"""Reference entries: the catalog files."""

from __future__ import annotations

from glacierbase.errors import ConfigurationError
from glacierbase.errors.entry import Entry

ENTRIES = (
    Entry(
        "INVALID_YAML",
        (ConfigurationError,),
        "A catalog file is not valid YAML, or uses YAML that is not supported here. "
        "Not supported are merge keys (`<<`), tags, and nesting or aliases beyond a limit. Nothing was contacted.",
        "error: INVALID_YAML: catalogs/analytics.yaml, line 11: found character '\\t' that cannot start any token\n"
        "next: correct the YAML; an editor with a YAML mode marks the error\n"
        "state: nothing ran",
        (
            "Open the file at the line of the message. The cause may be the line before it.",
            "Typical causes: a tab for indentation, a missing space after a colon, or an unquoted `{`, `[`, `@` or `%`.",
            "Replace a merge key by `catalogs/_shared.yaml`, which all catalogs merge over.",
            "Check the result: `glacierbase validate`.",
        ),
    ),
    Entry(
        "DUPLICATE_KEY",
        (ConfigurationError,),
        "A key is in the same mapping twice, or both beside `conf` and in it. "
        "YAML readers differ in which one they take, so neither is used. Nothing was contacted.",
        "error: DUPLICATE_KEY: catalogs/analytics.yaml, line 10: duplicate key variables; first defined on line 6\n"
        "next: keep one of them\n"
        "state: nothing ran",
        ("Move what both hold under one of the two keys, and delete the other.",),
    ),
    Entry(
        "UNKNOWN_KEY",
        (ConfigurationError,),
        "A catalog file has a key that does not exist at this place, or belongs to the other engine. "
        "Nothing was contacted.",
        "error: UNKNOWN_KEY: catalogs/analytics.yaml, line 10: unknown key variabels\nnext: did you mean variables?\n"
        "state: nothing ran",
        (
            "Correct the spelling, or remove the key. The message has the nearest key or the list of keys.",
            "Check the indentation: a correct key at the wrong depth is also unknown.",
            "`sparkConf` and `dependencies` are keys of type spark, `connection` is one of type snowflake.",
        ),
    ),
    Entry(
        "MISSING_KEY",
        (ConfigurationError,),
        "A required key is not in the catalog file, nor in its environment or `catalogs/_shared.yaml`. "
        "Nothing was contacted.",
        "error: MISSING_KEY: catalogs/analytics.yaml, line 1: migrationExecutor.type is missing\n"
        "next: name the engine that runs the migrations: spark or snowflake\n"
        "state: nothing ran",
        (
            "For `migrationExecutor.type`, write `migrationExecutor: {type: spark}` or `{type: snowflake}`.",
            "For an item of `dependencies` that is a mapping, add `coordinate: group:artifact:version`.",
            "If the key is in `_shared.yaml`, check that the catalog file does not set it to null.",
        ),
    ),
    Entry(
        "INVALID_VALUE",
        (ConfigurationError,),
        "A value is of the wrong kind or not among the allowed ones. "
        "The place is a catalog file, an argument of the Python API, or the description for `new`. "
        "Nothing was contacted.",
        "error: INVALID_VALUE: catalogs/analytics.yaml, line 10: store.lockLease: 'soon' is not a duration from"
        " 1s to 24h\n"
        "next: correct the value\n"
        "state: nothing ran",
        (
            "Correct the value at the file and line of the message.",
            "If the message names a command line: every user of the machine can read it. For Java's options, put the secret "
            "into another property of `sparkConf`. A hook reads it from its environment.",
            "If the message names a type or a class of a catalog in `sparkConf`: take the spelling of the hint. "
            "The types are those of Iceberg; `catalog-impl` names any other implementation by its class.",
            "If secrets are too many or too long: give the engine the path of a file that it reads itself.",
            "If a repository is read over `http://`: use `https://`. Only this machine may be read over `http://`.",
            "For `new`, use a description with at least one letter or digit, and an author.",
        ),
    ),
    Entry(
        "INVALID_NAME",
        (ConfigurationError,),
        "The name of a catalog or environment has characters that are not allowed. "
        "So has, for `init --ci`, the name of the project's folder in its repository. "
        "A catalog's name becomes part of the names of its history and lock tables. Nothing was contacted.",
        "error: INVALID_NAME: catalogs/Sales-EU.yaml, line 1: 'Sales-EU' cannot be a catalog's name, which"
        " becomes part of a table's\n"
        "next: use lower-case letters, digits and _; the key `name` names a catalog whose file has another name\n"
        "state: nothing ran",
        (
            "Catalog: use lower-case letters, digits and `_`, with a letter first. "
            "Rename the file, or write `name: sales_eu` into it.",
            "Environment: use letters, digits, `.`, `_` and `-`, with a letter or digit first.",
            "Folder: rename it. A CI file cannot carry line breaks, `$`, `#`, `@`, `*` and other characters that are syntax there.",
            "Do not rename a catalog that has a history: the name is its identity there (see `CATALOG_RENAMED`).",
        ),
    ),
    Entry(
        "DUPLICATE_CATALOG",
        (ConfigurationError,),
        "Two catalog files have the same name, so they would share one history and one lock. Nothing was contacted.",
        "error: DUPLICATE_CATALOG: catalogs/analytics_eu.yaml, line 1: its name analytics is also that of analytics.yaml\n"
        "next: give one of them another `name`\n"
        "state: nothing ran",
        (
            "Give the newer file another `name:`. The one with a history must keep its name.",
            "If one file is a copy, delete it, and put the differences under `environments:` of the other.",
        ),
    ),
    Entry(
        "STORE_CATALOG_UNCLEAR",
        (ConfigurationError,),
        "The catalog file does not determine where the history and lock tables are. "
        "It declares several Spark catalogs or none, or the Snowflake connection names no database. "
        "Nothing was contacted.",
        "error: STORE_CATALOG_UNCLEAR: catalogs/analytics.yaml, line 1: the catalog of the history and lock"
        " tables is not defined: sparkConf declares lake, archive\n"
        "next: write `store: {catalog: NAME}`, or set sparkConf.spark.sql.defaultCatalog\n"
        "state: nothing ran",
        (
            "Write `store: {catalog: lake}` into the catalog file, with an Iceberg catalog that commits atomically.",
            "For Snowflake, write `database:` under `connection`, or `store: {catalog: DATABASE}`.",
            "If the project has a history already, name the catalog that holds it. In another one, a new history begins.",
        ),
    ),
    Entry(
        "FLOATING_DEPENDENCY",
        (ConfigurationError,),
        "A dependency names a range, a snapshot or the latest release, so the jar may change between two runs. "
        "Nothing was contacted and no jar was fetched.",
        "error: FLOATING_DEPENDENCY: catalogs/analytics.yaml, line 7: dependencies:"
        " 'org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:latest.release' names a version that can resolve to"
        " another jar later\n"
        "next: name one version, or write allowFloating: true beside dependencies\n"
        "state: nothing ran",
        (
            "Name one version, such as `org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0`.",
            "To pin the content as well, write the item as `coordinate:` and `sha256:`.",
            "Write `allowFloating: true` only where any newer jar may run with your credentials.",
        ),
    ),
    Entry(
        "UNSET_REFERENCE",
        (ConfigurationError,),
        "A reference in a catalog file has no value. "
        "The environment variable is not set, the file cannot be read, or the variable is not defined. "
        "Nothing was contacted.",
        "error: UNSET_REFERENCE: catalogs/analytics.yaml, line 6: ${secret:CATALOG_CREDENTIAL} is not set\n"
        "next: set the environment variable CATALOG_CREDENTIAL\n"
        "state: nothing ran",
        (
            "`${env:NAME}`, `${secret:NAME}`: set the environment variable. "
            "Many CI services pass a missing secret as an empty value, which counts as not set.",
            "`${file:PATH}`: check the path, which is relative to the project, and the permissions. "
            "The file must be a regular UTF-8 file of at most 1 MiB.",
            "`${variables.NAME}`: define it under `variables`. It must be a single value.",
            "To check files without any secret: `glacierbase validate`. It uses placeholders.",
        ),
    ),
    Entry(
        "UNKNOWN_REFERENCE",
        (ConfigurationError,),
        "A `${…}` in a catalog file is not one of the kinds of reference. Nothing was contacted.",
        "error: UNKNOWN_REFERENCE: catalogs/analytics.yaml, line 10: unknown reference ${enviroment}\n"
        "next: did you mean ${environment}?\n"
        "state: nothing ran",
        (
            "Correct the spelling. Allowed: `${env:NAME}`, `${secret:NAME}`, `${file:PATH}`, `${variables.NAME}`, "
            "`${projectRoot}`, `${environment}`, `${catalog}`.",
            "For a literal `${` in the value, write `$${`.",
        ),
    ),
    Entry(
        "CYCLIC_REFERENCE",
        (ConfigurationError,),
        "Variables refer to each other in a circle, or through more than 50 others. Nothing was contacted.",
        "error: CYCLIC_REFERENCE: catalogs/analytics.yaml, line 6: variables.root → variables.root is a cycle\n"
        "next: give one of them a value\n"
        "state: nothing ran",
        ("Give one of the variables of the message a value without a reference.",),
    ),
    Entry(
        "SECRET_IN_VARIABLES",
        (ConfigurationError,),
        "`${secret:…}` or `${file:…}` is used under `variables`. "
        "Variables reach SQL, checksums and the engine's query log, where a secret would be readable. "
        "Nothing was contacted.",
        "error: SECRET_IN_VARIABLES: catalogs/analytics.yaml, line 6: ${secret:BUCKET_KEY} is a secret: in a"
        " variable it would reach SQL, checksums and query logs\n"
        "next: use it under migrationExecutor.conf, or ${env:NAME} for a value that is not secret\n"
        "state: nothing ran",
        (
            "If the value is a secret, use it under `migrationExecutor.conf`, where the engine reads it.",
            "If the value is not secret, use `${env:NAME}` instead.",
            "If a statement needs credentials, let the engine hold them: an instance role, or a Snowflake integration.",
        ),
    ),
)
