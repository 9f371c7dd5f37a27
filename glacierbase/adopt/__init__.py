"""Bring another tool's project under version control: `import`. The core does not import this room.

Reading a project, which is a stranger's: nothing of it is run, and nothing of it is changed.
- `folder`: its files, with limits.
- `foreign`: what a reader returns.
- `flyway`, `flyway_settings`: Flyway's scripts and configuration.
- `schemachange`: schemachange's scripts and configuration.
- `jinja_names`: a template with other names for its variables.
- `liquibase`, `liquibase_sql`, `liquibase_master`: Liquibase's changelogs, formatted SQL, and YAML or XML that includes it.
- `alembic`: the script that `alembic upgrade --sql` prints.
- `placeholders`: placeholders as variables of templates.

Writing migrations:
- `versions`: versions as digits in the same order.
- `mapping`: the files that scripts become.
- `importing`: write them, all or none.
- `results`: the result.

The history of the tool:
- `history_table`: read its table, and compare it with the scripts.
- `baselining`: record what it has applied.
"""
