"""Breaks of splitter, templates, secrets, files, git and lint."""

from __future__ import annotations

from tests.breaks.running import Break

BREAKS = (
    Break(
        "a block that never ends is a statement",
        "migrations/statements.py",
        "    if blocks.open:\n        word",
        "    if False:\n        word",
        "unit/migrations/test_statements.py::test_what_is_never_closed_is_refused",
    ),
    Break(
        "a semicolon inside a block ends a statement",
        "migrations/statements.py",
        'if token.word != ";" or blocks.open:',
        'if token.word != ";":',
        "unit/migrations/test_scripts.py::test_a_script_is_one_statement",
    ),
    Break(
        "Spark's comments do not nest",
        "sql/dialects.py",
        "nests=True",
        "nests=False",
        "unit/migrations/test_statements.py::test_a_comment_in_brackets_hides_everything_and_nests",
    ),
    Break(
        "a comment that Spark continues is accepted",
        "sql/tokens.py",
        'if match.lastgroup == "misread":',
        "if False:",
        "unit/migrations/test_statements.py::test_a_comment_that_takes_the_next_line_with_it_is_refused",
    ),
    Break(
        "of two secrets the inner one is masked first",
        "secrets.py",
        "sorted(patterns, key=len, reverse=True)",
        "sorted(patterns, key=len)",
        (
            "unit/secrets/test_scope.py::"
            "test_of_two_projects_secrets_one_inside_the_other_the_outer_one_is_masked_as_a_whole"
        ),
    ),
    Break(
        "the password of a URI is shown",
        "secrets.py",
        "            text = compiled.sub(MASK, text)\n        return _without_logins(text)",
        "            text = compiled.sub(MASK, text)\n        return text",
        "unit/secrets/test_secrets.py::test_the_password_of_any_uri_is_masked",
    ),
    Break(
        "a credential is no secret",
        "secrets.py",
        "token|credential|private",
        "token|private",
        "unit/secrets/test_secrets.py::test_a_value_under_such_a_key_is_a_secret",
    ),
    Break(
        "a secret in a URL's spelling is shown",
        "secrets.py",
        "        register(unquote(secret))",
        "        pass",
        "unit/secrets/test_secrets.py::test_what_a_setting_keeps_secret_inside_is_masked",
    ),
    Break(
        "git fetches from remotes",
        "run/git.py",
        '    "GIT_ALLOW_PROTOCOL": "",\n',
        "",
        "unit/run/test_git.py::test_no_command_of_git_reaches_a_remote",
    ),
    Break(
        "git runs hooks of the branch",
        "run/git.py",
        '    f"core.hooksPath={os.devnull}",\n',
        "",
        "unit/run/test_git.py::test_a_configured_hook_does_not_run_where_git_writes",
    ),
    Break(
        "git runs a file system monitor of the branch",
        "run/git.py",
        '    "core.fsmonitor=",  #',
        "    #",
        "unit/run/test_git.py::test_a_hook_or_monitor_in_the_work_tree_does_not_run",
    ),
    Break(
        "git opens the repository of a hook",
        "run/git.py",
        "if key not in _OF_ANOTHER_REPOSITORY}",
        "}",
        "unit/run/test_git.py::test_the_repository_of_a_git_hook_is_not_taken_for_the_projects",
    ),
    Break(
        "a template's process knows the environment",
        "migrations/sandbox.py",
        "env={name: os.environ[name] for name in _KEPT if name in os.environ}",
        "env=dict(os.environ)",
        "unit/migrations/test_sandbox.py::test_the_worker_has_nothing_of_its_parent",
    ),
    Break(
        "a template's process has no limit of time",
        "migrations/worker.py",
        "signal.setitimer(signal.ITIMER_PROF, seconds)",
        "pass",
        "unit/migrations/test_sandbox.py::test_a_costly_template_is_an_error_of_its_file",
    ),
    Break(
        "a template's process has no limit of memory",
        "migrations/worker.py",
        "resource.setrlimit(resource.RLIMIT_AS, (most, most))",
        "pass",
        "unit/migrations/test_sandbox.py::test_the_worker_takes_no_more_memory_than_it_may",
    ),
    Break(
        "files outside of the project are read",
        "run/files.py",
        "if real.is_relative_to(base) and",
        "if not real.is_relative_to(base) or",
        "unit/run/test_files.py::test_a_path_outside_the_project_is_refused_as_a_migration",
    ),
    Break(
        "links are followed without a look",
        "run/files.py",
        "_INSIDE = _ANYWHERE | os.O_NOFOLLOW",
        "_INSIDE = _ANYWHERE",
        "unit/run/test_files.py::test_a_path_outside_the_project_is_refused_as_a_migration",
    ),
    Break(
        "templates have random numbers",
        "migrations/template.py",
        '"pprint", "random", "safe"',
        '"pprint", "safe"',
        "unit/migrations/test_render.py::test_nothing_reaches_python_chance_or_clock",
    ),
    Break(
        "templates read attributes of Python",
        "migrations/template.py",
        ' and not str(key).startswith("_")',
        "",
        "unit/migrations/test_render.py::test_attributes_of_a_loop_that_are_not_public_are_missing",
    ),
    Break(
        "templates include files",
        "migrations/template.py",
        "if name.value in _BLOCKS_OF_FILES:",
        "if False:",
        "unit/migrations/test_render.py::test_a_migration_includes_no_other_file",
    ),
    Break(
        "a review has no time limit",
        "review/replay.py",
        "            return result(self._caller.submit(call), self._deadline - time.monotonic())",
        "            return result(self._caller.submit(call), 3600.0)",
        "unit/review/test_review.py::test_the_time_of_a_replay_passes_while_statements_run",
    ),
    Break(
        "a comment without a reason is no finding",
        "review/lint.py",
        '            elif not allow["reason"]:',
        "            elif False:",
        "unit/review/test_lint.py::test_a_comment_that_allows_nothing_says_so",
    ),
    Break(
        "an allow without a reason counts",
        "review/lint.py",
        'for allow in matching if allow["reason"]), None)',
        "for allow in matching), None)",
        "unit/review/test_lint.py::test_an_allow_without_a_reason_allows_nothing_where_it_is_no_finding",
    ),
    Break(
        "threads read documents at the same time",
        "model/codec.py",
        "        with _converting:",
        "        if True:",
        "unit/model/test_codec.py::test_threads_may_read_the_first_document_of_a_process_together",
    ),
)
