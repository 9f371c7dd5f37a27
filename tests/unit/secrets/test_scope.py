"""Where a secret is masked: in the verbs of its project, in their threads, and in all text from outside of a verb."""

from __future__ import annotations

import copy
import json
import logging
import pickle
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context
from pathlib import Path
from typing import Any

import pytest

from glacierbase import Project
from glacierbase.cli.terminal import _Formatter
from glacierbase.errors import GlacierbaseError
from glacierbase.output.documents import json_document, text_document
from glacierbase.run.waiting import Caller, in_context, start_thread
from glacierbase.secrets import Secrets, mask, register, secrets_in_use
from tests.support.errors import text_error
from tests.support.project_folder import ProjectFolder
from tests.support.world import World

CATALOG = """\
migrationExecutor: {type: spark, conf: {sparkConf: {spark.my.token.id: SECRET}}}
store: {catalog: lake}
"""
NAMES = ("anna", "berta")
BOTH = "canary-of-anna canary-of-berta"
MASKED = {"anna": "*** canary-of-berta", "berta": "canary-of-anna ***"}


def folder(root: Path, name: str) -> ProjectFolder:
    """A project whose secret is `canary-of-NAME`, with a migration that holds the secrets of both projects."""
    made = ProjectFolder(root / name)
    made.catalog(CATALOG.replace("SECRET", f"canary-of-{name}"))
    made.file("1_a.sql", f"SELECT '{BOTH}'")
    return made


def side_by_side(call: Callable[[str], Any]) -> dict[str, Any]:
    """Results of the call for both projects, in two threads at the same time."""
    barrier = threading.Barrier(len(NAMES))

    def run(name: str) -> Any:
        barrier.wait()
        return [call(name) for _ in range(3)][-1]

    with ThreadPoolExecutor(len(NAMES)) as threads:
        return dict(zip(NAMES, threads.map(run, NAMES), strict=True))


def test_each_of_two_projects_masks_its_own_secrets_only(tmp_path: Path) -> None:
    """The projects' verbs run in two threads; the results are printed after the verbs have returned."""
    loaded = {name: Project.load(folder(tmp_path, name).root) for name in NAMES}
    results = side_by_side(lambda name: loaded[name].render())
    for name in NAMES:
        document = json.loads(json_document("render", results[name], None))
        assert MASKED[name] in document["catalogs"][0]["files"][0]["sql"]
        assert MASKED[name] in text_document(results[name])


def test_an_error_of_one_of_two_projects_masks_the_secrets_of_that_project_only(tmp_path: Path) -> None:
    """The values in its data are masked as its message is."""

    loaded = {}
    for name in NAMES:
        project = folder(tmp_path, name)
        project.file(f"{BOTH}/2_b.sql", "SELECT {{ variables.nowhere }}")
        loaded[name] = Project.load(project.root)

    def refused(name: str) -> GlacierbaseError:
        with pytest.raises(GlacierbaseError) as caught:
            loaded[name].validate()
        return caught.value

    errors = side_by_side(refused)
    for name in NAMES:
        document = json.loads(json_document("validate", (), errors[name]))["error"]
        for text in (errors[name].message, text_error(errors[name]), document["message"], document["path"]):
            assert MASKED[name] in text


def test_text_from_outside_of_a_verb_is_masked_with_the_secrets_of_every_project(tmp_path: Path) -> None:
    """The program prints a bug's traceback after the verb has ended, and a vendor's thread has no context of a project."""
    loaded = [Project.load(folder(tmp_path, name).root) for name in NAMES]
    for project in loaded:
        project.render()
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(mask(BOTH)))
    thread.start()
    thread.join()
    assert found == ["*** ***"]


@pytest.mark.parametrize("values", [("canary-of", "canary-of-anna"), ("canary-of-anna", "canary-of")])
def test_of_two_projects_secrets_one_inside_the_other_the_outer_one_is_masked_as_a_whole(values: Sequence[str]) -> None:
    """The rest of it must not stay readable in text from outside of a verb, whichever project was loaded first."""
    projects = [Secrets() for _ in range(20)]
    for number, secrets in enumerate(projects):
        secrets.register(f"{number}-{values[number % 2]}")
        secrets.register(values[number % 2])
    assert Context().run(mask, "a canary-of-anna") == "a ***"


def test_the_secret_of_the_next_project_is_masked_though_another_one_ended() -> None:
    """The number of all secrets is the same before and after."""
    for value in ("first-canary", "second-canary"):
        secrets = Secrets()
        secrets.register(value)
        assert Context().run(mask, f"a {value}") == "a ***"
        del secrets


def test_a_pickled_result_holds_no_secret_and_uses_those_where_it_is_read(tmp_path: Path) -> None:
    """A scheduler pickles what a task returns into its database."""
    project = Project.load(folder(tmp_path, "anna").root)
    [result] = project.validate(resolve=True)
    assert result.secrets.mask(BOTH) == MASKED["anna"]
    content = pickle.dumps(result)
    assert b"canary" not in content
    read = pickle.loads(content)
    assert read == result
    assert read.secrets is secrets_in_use()


def test_a_copied_result_keeps_the_secrets_of_its_project(tmp_path: Path) -> None:
    """A secret that is registered after the copy is masked in it too."""
    [result] = Project.load(folder(tmp_path, "anna").root).render()
    for copied in (copy.copy(result), copy.deepcopy(result)):
        assert copied.secrets is result.secrets


def in_new_thread(call: Callable[[], str]) -> str:
    """The result of the call in a thread that `start_thread` starts."""
    found: list[str] = []
    start_thread(lambda: found.append(call()), "test").join()
    return found[0]


def in_caller(call: Callable[[], str]) -> str:
    """The result of the call in the thread of a `Caller`."""
    caller = Caller()
    try:
        return caller.submit(call).result()
    finally:
        caller.end()


def in_pool(call: Callable[[], str]) -> str:
    """The result of the call in a pool of threads."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(in_context(call)).result()


@pytest.mark.parametrize("run", [in_new_thread, in_caller, in_pool])
def test_a_thread_of_glacierbase_masks_the_secrets_of_the_verb_that_started_it(run: Callable[..., str]) -> None:
    """The thread masks messages and log records, and no secret of another project."""
    other = Secrets()
    with other.in_use():
        register("canary-of-berta")
    register("canary-of-anna")
    assert run(lambda: mask(BOTH)) == MASKED["anna"]
    record = logging.LogRecord("glacierbase", logging.INFO, __file__, 1, BOTH, (), None)
    assert run(lambda: _Formatter("auto").format(record)) == MASKED["anna"]
    assert run(lambda: GlacierbaseError("A_CODE", BOTH).message) == MASKED["anna"]


def test_the_threads_of_a_run_use_the_secrets_of_the_run(project: ProjectFolder) -> None:
    """The threads of the store's calls, of the engine's start and of the lock included."""
    world = World(project)
    world.file("1_a.sql", "SELECT 1")
    used: set[Secrets] = set()
    world.break_at("SELECT", lambda sql: used.add(secrets_in_use()))
    world.store_before = lambda verb: used.add(secrets_in_use())
    secrets = Secrets()
    with secrets.in_use():
        world.migrate()
    assert used == {secrets}


def test_a_secret_that_one_thread_registers_is_masked_in_the_next_text_of_another() -> None:
    """Registering while another thread masks neither fails nor loses a secret."""
    secrets = Secrets()
    ended = threading.Event()

    def keep_masking() -> None:
        while not ended.is_set():
            secrets.mask("canary-0")

    with ThreadPoolExecutor(2) as threads:
        masking = [threads.submit(keep_masking) for _ in range(2)]
        try:
            for number in range(50):
                secrets.register(f"canary-{number}")
                assert secrets.mask(f"a canary-{number}") == "a ***"
        finally:
            ended.set()
    assert [each.result() for each in masking] == [None, None]
