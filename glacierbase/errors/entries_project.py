"""Reference entries: the command line, the project's folders, and the choice of catalogs, environments and versions."""

from __future__ import annotations

from glacierbase.errors import ConfigurationError, MigrationFileError
from glacierbase.errors.entry import Entry

ENTRIES = (
    Entry(
        "USAGE",
        (ConfigurationError,),
        "The command line is wrong: an unknown command or option, a missing argument, or a value of the wrong kind. "
        "Nothing was read, contacted or changed. The text form prints click's message; the JSON form has the code.",
        "Usage: glacierbase migrate [OPTIONS]\n"
        "Try 'glacierbase migrate --help' for help.\n\n"
        "Error: Invalid value for '--lock-timeout': '5 minutes' is not a duration such as 30s, 5m or 1h",
        (
            "Correct the option that the message names. `glacierbase migrate --help` lists the options of a command.",
            'If the message contains "the value is empty": a script passed a variable that is not set. '
            "Set the variable, or leave the option out.",
        ),
    ),
    Entry(
        "CONFLICTING_OPTIONS",
        (ConfigurationError,),
        "`--to` and `--only` were given together, or a plan together with a selection of versions. "
        "Nothing ran and nothing was changed.",
        "error: CONFLICTING_OPTIONS: --to and --only exclude each other\nnext: use one of them\nstate: nothing ran",
        (
            "To apply everything up to a version: `glacierbase migrate --to VERSION`.",
            "To apply one file alone, as a hotfix: `glacierbase migrate --only VERSION --reason 'why this one now'`.",
            "A plan holds the versions that it was made with. To apply others, make another plan.",
        ),
    ),
    Entry(
        "REASON_MISSING",
        (ConfigurationError,),
        "A command that records a decision was given no reason. "
        "`migrate --only`, `repair --as`, `repair --environment-was` and `baseline` need one. Nothing was changed.",
        "error: REASON_MISSING: a reason is required to overrule the history\n"
        "next: add --reason 'what was seen, and by whom'\n"
        "state: nothing ran",
        (
            "Add `--reason` with the evidence and the name of the person who decided. It is recorded in the history.",
            "`glacierbase repair 0007 --as done --reason 'snapshot of 12:03 has the column, checked by Ana'`",
        ),
    ),
    Entry(
        "EMPTY_VALUE",
        (ConfigurationError,),
        "An argument of the Python API, or `GLACIERBASE_ENV` or `GLACIERBASE_PROJECT`, is empty. "
        "An empty value is not taken for the default. Nothing was contacted.",
        "error: EMPTY_VALUE: GLACIERBASE_ENV is empty\nnext: give it a value, or leave it out\nstate: nothing ran",
        (
            "Find the script or CI job that sets the variable. Its source, such as a CI variable, has no value.",
            "Give it a value, or remove it: `unset GLACIERBASE_ENV`.",
        ),
    ),
    Entry(
        "CONFIRMATION_MISSING",
        (ConfigurationError,),
        "The command needs a confirmation, and stdin is not a terminal. "
        "The environment is protected and there is something to run, or the command overrules the history. "
        "Nothing was changed.",
        "error: CONFIRMATION_MISSING: environment prod is protected, and stdin is not a terminal\nnext: add --yes\n"
        "state: nothing ran",
        (
            "In a job that is meant to change this environment, add `--yes`: `glacierbase migrate --env prod --yes`.",
            "Otherwise run the command on a terminal and confirm it there.",
            "If the job should not touch this environment, correct its `--env` or `GLACIERBASE_ENV`.",
        ),
    ),
    Entry(
        "NOT_CONFIRMED",
        (ConfigurationError,),
        "The confirmation was declined, or the name of the environment was mistyped. Nothing ran and nothing was changed.",
        "error: NOT_CONFIRMED: that is not prod; nothing ran",
        (
            "Check that the environment is the one that you mean.",
            "Run the command again, and type the full name of the environment, or `y`.",
        ),
    ),
    Entry(
        "PLAN_REQUIRED",
        (ConfigurationError,),
        "`migrate` was run without a plan file in an environment that requires one. "
        "The catalog file has `requirePlan: true` there. Nothing was contacted and nothing ran.",
        "error: PLAN_REQUIRED: catalog analytics: environment prod runs only plan files (requirePlan); nothing ran\n"
        "next: `glacierbase plan --output plan.json` writes one; `glacierbase migrate --plan plan.json` applies it",
        (
            "Write the plan: `glacierbase plan --env prod --output plan.json`.",
            "Have it reviewed, as the team does it.",
            "Apply it: `glacierbase migrate --env prod --plan plan.json`.",
        ),
    ),
    Entry(
        "PLAN_INVALID",
        (ConfigurationError,),
        "The file that `migrate --plan` names is not a plan. "
        "It is truncated, it is another document, or the plan failed when it was made. Nothing was contacted and nothing ran.",
        "error: PLAN_INVALID: plan.json is not a plan of glacierbase: catalogs[0] has no head; nothing ran\n"
        "next: `glacierbase plan --output plan.json` makes a plan",
        (
            "Check that the job that applies the plan has the file that the job before has written.",
            "If another version of glacierbase wrote it, use the same version for both.",
            "Make the plan again: `glacierbase plan --env prod --output plan.json`.",
        ),
    ),
    Entry(
        "STATE_INVALID",
        (ConfigurationError,),
        "A file that `compare` names is not a state file. "
        "It is truncated, it is another document, or a later version wrote it. Nothing was contacted or compared.",
        "error: STATE_INVALID: prod.json is not a state file of glacierbase: catalogs[0] has no versions; nothing was compared\n"
        "next: `glacierbase export-state --output prod.json` writes it, in a job that reaches the environment",
        (
            "Check that the job that compares has the file that the job of the environment has written.",
            "If another version of glacierbase wrote it, use the same version for both.",
            "Write it again where the environment can be reached: `glacierbase export-state --env prod --output prod.json`.",
        ),
    ),
    Entry(
        "HOOK_FAILED",
        (ConfigurationError,),
        "The hook `beforeMigrate` of the catalog file did not exit with 0, took too long, or could not be started. "
        "The history was read and a plan was made. No migration was begun or recorded, and the lock is free.",
        "error: HOOK_FAILED: catalog analytics: nothing ran; hook beforeMigrate exited with 1\n"
        "    | the release window opens at 18:00\n"
        "next: remove the cause that the hook reports, or correct hooks.beforeMigrate in the catalog file",
        (
            "Read the last lines of the hook's output, which the message quotes. `glacierbase migrate --verbose` logs more.",
            "If the hook refuses the run: remove the cause, and run `glacierbase migrate` again.",
            "If it took too long: raise `hooks.timeout`, or let it do less.",
            "If it could not be started: name a program on the PATH, or the path of an executable file in the project.",
            "The hook reads the plan from stdin. `glacierbase plan --format json` prints the same document.",
        ),
    ),
    Entry(
        "PROJECT_NOT_FOUND",
        (ConfigurationError,),
        "No project was found. A project is a folder that holds `catalogs/` and `migrations/`. Nothing was contacted.",
        "error: PROJECT_NOT_FOUND: /home/ana/lake is not inside a project: neither it nor a folder above holds"
        " both catalogs/ and migrations/\n"
        "next: `glacierbase init` makes one here; --project or GLACIERBASE_PROJECT names another place\n"
        "state: nothing ran",
        (
            "Change to the project's folder, or name it: `glacierbase pending --project PATH`.",
            "In a container or CI job, check that the checkout holds both folders. Git keeps no empty folder.",
            "To start a new project here: `glacierbase init`.",
        ),
    ),
    Entry(
        "NO_CATALOG",
        (ConfigurationError,),
        "The folder `catalogs/` holds no catalog file. `_shared.yaml` is not a catalog. Nothing was contacted.",
        "error: NO_CATALOG: /home/ana/lake/catalogs holds no catalog file\nnext: `glacierbase init` writes one\n"
        "state: nothing ran",
        (
            "Write `catalogs/NAME.yaml`, or let `glacierbase init NAME` write one with a first migration.",
            "If the file exists, check that its name ends in `.yaml` and does not begin with a dot.",
        ),
    ),
    Entry(
        "FOLDER_WITHOUT_CATALOG",
        (ConfigurationError,),
        "A folder below `migrations/` has no catalog file of the same name. Its files would never run. "
        "Nothing was contacted.",
        "error: FOLDER_WITHOUT_CATALOG: migrations/analytic has no catalog file catalogs/analytic.yaml\n"
        "next: write the catalog file, or rename the folder as its catalog file is named\n"
        "state: nothing ran",
        (
            "If the folder or the catalog file is misspelt or was renamed, give both the same name with `git mv`.",
            "If the catalog is new, write its catalog file: `catalogs/FOLDER.yaml`.",
            "If the catalog is retired, remove the folder too.",
        ),
    ),
    Entry(
        "MISPLACED_FILE",
        (MigrationFileError,),
        "A `.sql` file is directly in `migrations/`, or a file has the name of a catalog's folder. "
        "It belongs to no catalog and would never run. Nothing was contacted.",
        "error: MISPLACED_FILE: migrations/0007_add_device.sql belongs to no catalog\n"
        "next: move it into the folder of its catalog: migrations/CATALOG/\n"
        "state: nothing ran",
        ("Move the file into its catalog's folder: `git mv migrations/0007_add_device.sql migrations/analytics/`.",),
    ),
    Entry(
        "OUTSIDE_PROJECT",
        (ConfigurationError, MigrationFileError),
        "A symbolic link leads out of the project's folder. git's own files count as outside. "
        "What it points to was neither read nor written. Nothing was contacted. "
        "Exit code 2 for `catalogs` and for files to write, 3 for migrations.",
        "error: OUTSIDE_PROJECT: migrations/analytics/0007_add_device.sql, line 1: leads to /srv/shared/0007.sql, outside"
        " of the project /home/ana/lake\n"
        "next: copy the files into the project, or choose the folder that holds both as its root\n"
        "state: nothing ran",
        (
            "Copy the files into the project and remove the link. This keeps every change in one pull request.",
            "If several projects share files on purpose, pass the folder above them with `--project`. "
            "It must hold `catalogs/` and `migrations/`.",
        ),
    ),
    Entry(
        "UNREADABLE_FILE",
        (ConfigurationError, MigrationFileError),
        "A file or folder of the project, or a file to write, cannot be read or written. "
        "Its permissions forbid it, it is not a regular file, or it is too large. No link is replaced. "
        "Nothing ran. Exit code 2 for catalog files, plan files and new files, 3 for migrations.",
        "error: UNREADABLE_FILE: migrations/analytics/0007_add_device.sql, line 1: cannot be read: Permission denied\n"
        "next: restore the file or its permissions\n"
        "state: nothing ran",
        (
            "If permission is denied, give the user who runs glacierbase read access: `chmod u+r FILE`.",
            "If it is a folder, a FIFO or a device, remove or rename it. "
            "If a file to write is a link, name the file that it leads to.",
            "If it is too large, move the data out. Limits: 10 MiB for a migration and 256 MiB for all of them, "
            "1 MiB for a catalog file and 16 MiB for all of them. A plan file may have 512 MiB.",
        ),
    ),
    Entry(
        "UNKNOWN_CATALOG",
        (ConfigurationError,),
        "`--catalog` names a catalog that the project does not have. Nothing was contacted.",
        "error: UNKNOWN_CATALOG: there is no catalog analytic\nnext: there are: analytics, billing\nstate: nothing ran",
        (
            "Use one of the names in the message. A catalog's name is `name:` in its file, else the file's name.",
            "If the catalog is missing, check the branch that is checked out, and `--project`.",
        ),
    ),
    Entry(
        "UNKNOWN_ENVIRONMENT",
        (ConfigurationError,),
        "The chosen environment does not exist in the catalogs that the command is about. Nothing was contacted.",
        "error: UNKNOWN_ENVIRONMENT: catalog analytics has no environment production\nnext: it has: dev, prod\n"
        "state: nothing ran",
        (
            "Use one of the names in the message for `--env` or `GLACIERBASE_ENV`.",
            "If the environment is new, add it under `environments:` in the catalog file or in `catalogs/_shared.yaml`.",
        ),
    ),
    Entry(
        "UNKNOWN_VERSION",
        (ConfigurationError,),
        "An option or argument names a version that no file, or no record of the history, has. "
        "Nothing ran and nothing was changed.",
        "error: UNKNOWN_VERSION: there is no migration with version 0070\nnext: `glacierbase status` lists all versions\n"
        "state: nothing ran",
        (
            "List the versions: `glacierbase status`. A version is the digits at the start of the file's name.",
            "If the file is missing here, pull the branch that holds it.",
            "`repair --as` and `repair --environment-was` need the version or the old environment by name.",
        ),
    ),
    Entry(
        "CATALOG_NOT_CHOSEN",
        (ConfigurationError,),
        "The command changes one catalog, the project has several, and none was named. "
        "This concerns `repair --as`, `unlock`, `baseline` and `new`. Nothing was changed.",
        "error: CATALOG_NOT_CHOSEN: there are several: analytics, billing\nnext: add --catalog NAME\n"
        "state: nothing ran",
        ("Name the catalog: `glacierbase unlock --catalog analytics`.",),
    ),
    Entry(
        "ENVIRONMENT_NOT_CHOSEN",
        (ConfigurationError,),
        "No environment was chosen, or the catalogs have different default environments. Nothing was contacted.",
        "error: ENVIRONMENT_NOT_CHOSEN: catalog analytics has the environments dev, prod, and none was chosen\n"
        "next: name one with --env or GLACIERBASE_ENV, or write defaultEnvironment into the catalog file\n"
        "state: nothing ran",
        (
            "Name the environment: `glacierbase pending --env dev`, or set `GLACIERBASE_ENV`.",
            "To make it the default, write `defaultEnvironment: dev` into the catalog file or `catalogs/_shared.yaml`.",
            "If the defaults differ, name one environment, or run each catalog alone with `--catalog`.",
        ),
    ),
    Entry(
        "ALREADY_EXISTS",
        (ConfigurationError,),
        "`init`, `new` or `rebase` would overwrite a file or folder. Nothing was written or renamed.",
        "error: ALREADY_EXISTS: catalogs/analytics.yaml exists already; nothing was written\nnext: choose another NAME",
        (
            "For `init`, choose another name: `glacierbase init billing`.",
            "For `init --ci`, keep your files, or move them away, run it again, and compare.",
            "For `new` and `rebase`, move the file away that the message names.",
        ),
    ),
    Entry(
        "AUTHOR_MISSING",
        (ConfigurationError,),
        "`new` found no author: `--author` was not given, and git has no `user.name`. No file was written.",
        "error: AUTHOR_MISSING: git has no user.name here\nnext: add --author 'Data Platform Team'\nstate: nothing ran",
        (
            "Name the author: `glacierbase new 'add the device column' --author 'Data Platform Team'`.",
            "To set it once for all files: `git config user.name 'Ana Lima'`.",
        ),
    ),
    Entry(
        "BASE_NOT_FOUND",
        (ConfigurationError,),
        "`validate --base` or `rebase` cannot compare this branch with the git ref. "
        "The ref or its objects are not in this clone, or the project is not in a git work tree. "
        "Or the two have no commit in common, as in a shallow clone. "
        "The comparison did not take place, and nothing was renamed.",
        "error: BASE_NOT_FOUND: 'origin/main' cannot be read: fatal: Needed a single revision\n"
        "next: fetch it first: git fetch origin main\n"
        "state: nothing ran",
        (
            "Run the `git fetch` command of the message. CI services often clone one branch with little history: "
            "`git fetch --unshallow`, or `fetch-depth: 0` for `actions/checkout`.",
            "Check the spelling of the ref: `git branch --all` lists the branches.",
            "If the project is a copy without `.git`, validate in a clone, or leave `--base` out.",
        ),
    ),
    Entry(
        "GIT_NOT_FOUND",
        (ConfigurationError,),
        "`validate --base` and `rebase` need the program `git`, which is not on the PATH. "
        "The comparison did not take place.",
        "error: GIT_NOT_FOUND: git is not installed; --base needs it\nstate: nothing ran",
        (
            "Install git in the image or on the machine, for example `apt-get install git`.",
            "To check the files without a comparison: `glacierbase validate`.",
        ),
    ),
    Entry(
        "GIT_FAILED",
        (ConfigurationError,),
        "git did not rename, remove or commit a file for `rebase` or `squash`, or there is no repository. "
        "The message says which, and what is changed now. The content of existing files is unchanged.",
        "error: GIT_FAILED: migrations/analytics/0006_add_device.sql cannot be renamed to"
        " migrations/analytics/0008_add_device.sql: fatal: conflicted,"
        " source=migrations/analytics/0006_add_device.sql,"
        " destination=migrations/analytics/0008_add_device.sql; nothing was renamed\n"
        "next: remove the cause, and run `glacierbase rebase` again",
        (
            "Remove the cause that git names. In a merge that stopped at a conflict: `git merge --abort`.",
            "Where there is no repository: run `git init`, and commit the files.",
            "Run the command again. `glacierbase rebase` renames what is still below the base.",
            "If only the commit failed, the changes are staged: `git commit`.",
        ),
    ),
    Entry(
        "UNKNOWN_DIALECT",
        (ConfigurationError,),
        "A caller of `glacierbase.split_statements` named a SQL dialect that does not exist. "
        "No command raises this error.",
        "error: UNKNOWN_DIALECT: unknown SQL dialect postgres\nnext: allowed: spark, snowflake\nstate: nothing ran",
        ("Pass one of the names in the message.",),
    ),
)
