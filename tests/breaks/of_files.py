"""Breaks of the access to the files of tables."""

from __future__ import annotations

from tests.breaks.running import Break

_FILE = "executors/pyiceberg/file_access.py"
_REST = "executors/pyiceberg/rest.py"
_ONCE = (
    "unit/executors/test_catalog_requests.py::test_a_command_logs_in_once_and_reads_no_metadata_that_the_server_sent"
)
_TESTS = "unit/executors/test_file_access.py::"

BREAKS = (
    Break(
        "a file that may change is kept",
        _FILE,
        "if UUID.search(self.location):",
        "if True:",
        f"{_TESTS}test_a_file_that_may_change_is_read_each_time",
    ),
    Break(
        "a UUID in a folder's name makes a file immutable",
        _FILE,
        "(?=[^/]*\\Z)",
        "",
        f"{_TESTS}test_a_file_that_may_change_is_read_each_time",
    ),
    Break(
        "a file is overwritten that must not exist",
        _FILE,
        'mode="overwrite" if overwrite else "create"',
        'mode="overwrite"',
        f"{_TESTS}test_no_file_is_overwritten_unless_asked",
    ),
    Break(
        "the second request for a new file is a conflict",
        _FILE,
        "if stream.read() != content:",
        "if True:",
        f"{_TESTS}test_a_lost_answer_to_a_new_file_is_no_conflict",
    ),
    Break(
        "a block that fails writes a part of a file",
        _FILE,
        "        if kind is not None:\n            super().close()",
        "        pass",
        f"{_TESTS}test_no_file_is_overwritten_unless_asked",
    ),
    Break(
        "files outside the table are deleted that a commit named",
        _FILE,
        "if not location.startswith(f\"{folder.rstrip('/')}/\") or",
        "if",
        f"{_TESTS}test_only_files_of_the_table_are_deleted",
    ),
    Break(
        "a name that leads out of the table is deleted",
        _FILE,
        ' or ".." in location.split("/")',
        "",
        f"{_TESTS}test_only_files_of_the_table_are_deleted",
    ),
    Break(
        "threads that keep the same file count it twice",
        _FILE,
        "        with self._lock:\n            self._drop(key)\n            self._values[key] = value",
        "        self.drop(key)\n        with self._lock:\n            self._values[key] = value",
        f"{_TESTS}test_threads_that_keep_the_same_file_count_it_once",
    ),
    Break(
        "kept files have no bound",
        _FILE,
        "while self._size > self._most:",
        "while False:",
        f"{_TESTS}test_kept_files_have_a_bound",
    ),
    Break(
        "requests are repeated without a limit of time",
        "executors/pyiceberg/object_stores.py",
        '{"retry_timeout": timedelta(seconds=wait_seconds)}',
        "{}",
        f"{_TESTS}test_a_store_that_stays_busy_is_an_error_within_the_time_limit",
    ),
    Break(
        "a login that a server sent for one table is used for others",
        "executors/pyiceberg/guard.py",
        'owner = (location or "").rpartition("/")[0] if any',
        'owner = "" if any',
        "unit/executors/test_server_properties.py::test_a_login_that_the_server_sends_with_a_table_is_used_for_it_alone",
    ),
    Break(
        "a panic of obstore ends the program without a message",
        _FILE,
        "if not is_panic and not isinstance",
        "if not isinstance",
        f"{_TESTS}test_a_login_or_an_address_that_no_request_can_have_is_an_error",
    ),
    Break(
        "an error has the words of obstore instead of those of the store",
        _FILE,
        "            raise PermissionError(what) from None",
        "            raise PermissionError(what) from error",
        f"{_TESTS}test_refused_requests_have_the_errors_of_python",
    ),
    Break(
        "a login without an end is used for an hour after the server sent another",
        "executors/pyiceberg/object_stores.py",
        "return expires or datetime.now(timezone.utc)",
        "return expires or datetime.now(timezone.utc) + timedelta(hours=1)",
        f"{_TESTS}test_the_newest_login_of_a_table_is_used_on_the_same_connections",
    ),
    Break(
        "the first login of a table is used until the command ends",
        _FILE,
        "access.sent[self.key] = properties",
        "access.sent.setdefault(self.key, properties)",
        f"{_TESTS}test_the_newest_login_of_a_table_is_used_on_the_same_connections",
    ),
    Break(
        "each connection to a REST catalog logs in",
        "executors/pyiceberg/opened.py",
        "is not None and not first.is_closed",
        "is not None and first.is_closed",
        _ONCE,
    ),
    Break(
        "history and lock are loaded again after they were read",
        "stores/iceberg/store.py",
        "table = read.table if read else self._of_table",
        "table = self._of_table",
        _ONCE,
    ),
    Break("the configuration has a token of its own", _REST, "if self._login != login:", "if True:", _ONCE),
    Break(
        "the metadata that a server sent is read from the store",
        _REST,
        'hasattr(table, "answer")',
        "False",
        _ONCE,
    ),
    Break(
        "PyIceberg imports what few commands use",
        "executors/pyiceberg/opened.py",
        "if name not in sys.modules and (spec := find_spec(name)):",
        "if spec := None:",
        "test_architecture.py::test_a_read_imports_no_parser_that_few_commands_use",
    ),
    Break(
        "a signed request goes to the store unsigned",
        "executors/pyiceberg/object_stores.py",
        '"s3.signer": "the catalog\'s server signs the requests",',
        "",
        f"{_TESTS}test_pyiceberg_reads_what_obstore_cannot",
    ),
)
