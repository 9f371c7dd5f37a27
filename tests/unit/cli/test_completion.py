"""What a shell completes, asked by click's protocol."""

from __future__ import annotations

import pytest

from glacierbase.cli.group import cli
from tests.support.project_folder import ProjectFolder

TWO = "migrationExecutor: {type: spark}\nstore: {catalog: lake}\nenvironments: {dev: {}, prod: {protected: true}}\n"


@pytest.fixture
def shop(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> ProjectFolder:
    """Two catalogs with environments and files."""
    project.catalog(TWO)
    project.catalog("migrationExecutor: {type: spark}\nstore: {catalog: lake}\nenvironments: {test: {}}\n", "web")
    for name in ("0001_create_orders.sql", "0002_add_device.sql", "later/0010_drop_flag.sql"):
        project.file(name, "SELECT 1")
    project.file("0003_pages.sql", "SELECT 1", "web")
    project.file("repeatable/daily_orders.sql", "SELECT 1")
    monkeypatch.chdir(project.root)
    return project


def completed(
    line: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, shell: str = "bash"
) -> str:
    """Return what the program answers to a shell about the last word of a line."""
    words = line.split(" ")
    monkeypatch.setenv("_GLACIERBASE_COMPLETE", f"{shell}_complete")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    with pytest.raises(SystemExit) as caught:
        cli.main([], prog_name="glacierbase")
    output = capsys.readouterr()
    assert (caught.value.code, output.err) == (0, "")
    return output.out


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("glacierbase migrate --catalog ", ["shop", "web"]),
        ("glacierbase new --catalog w", ["web"]),
        ("glacierbase status --env ", ["dev", "prod", "test"]),
        ("glacierbase status --env p", ["prod"]),
        ("glacierbase status --catalog web --environment ", ["test"]),
        ("glacierbase show ", ["0001", "0002", "0003", "0010", "daily_orders"]),
        ("glacierbase repair --catalog shop d", ["daily_orders"]),
        ("glacierbase migrate --to d", []),
        ("glacierbase show 001", ["0010"]),
        ("glacierbase render --catalog shop 0001 ", ["0001", "0002", "0010", "daily_orders"]),
        ("glacierbase repair --catalog web ", ["0003"]),
        ("glacierbase migrate --to 000", ["0001", "0002", "0003"]),
        ("glacierbase plan --only 0010", ["0010"]),
        ("glacierbase migrate --allow-out-of-order 0002", ["0002"]),
        ("glacierbase baseline --to 0003", ["0003"]),
        ("glacierbase explain lock_h", ["LOCK_HELD"]),
        ("glacierbase rules ds10", [f"DS10{number}" for number in range(1, 10)]),
        ("glacierbase status --color a", ["auto", "always"]),
        ("glacierbase lint --format s", ["sarif"]),
        ("glacierbase review --output json=a --output g", ["github=", "gitlab="]),
        ("glacierbase status --catalog nothing --env ", []),
    ],
)
def test_names_of_the_project_are_completed(
    line: str,
    expected: list[str],
    shop: ProjectFolder,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Environments and versions are those of the catalogs that the line names, or of all."""
    assert completed(line, capsys, monkeypatch).split() == [f"plain,{each}" for each in expected]


def test_a_project_named_on_the_line_is_read(
    shop: ProjectFolder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The working directory does not matter then."""
    monkeypatch.chdir("/")
    assert completed("glacierbase show ", capsys, monkeypatch) == "\n"
    line = f"glacierbase show --project {shop.root} 0010"
    assert completed(line, capsys, monkeypatch) == "plain,0010\n"


def test_zsh_and_fish_show_the_words_of_the_file_beside_its_version(
    shop: ProjectFolder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A version alone says little."""
    assert "0002\nadd device" in completed("glacierbase show 0002", capsys, monkeypatch, "zsh")


@pytest.mark.parametrize("wrong", ["catalogs/shop.yaml", "catalogs/other.yaml"])
def test_a_wrong_project_completes_nothing_and_prints_no_error(
    wrong: str, shop: ProjectFolder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error would be written into the line that is being edited."""
    (shop.root / wrong).write_text("a: [\x1b[2J\n")
    for line in ("glacierbase show ", "glacierbase status --env ", "glacierbase status --catalog "):
        assert completed(line, capsys, monkeypatch) == "\n"


def test_an_empty_value_before_the_word_does_no_harm(
    shop: ProjectFolder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line that is still being typed need not be valid."""
    assert completed("glacierbase migrate --reason '' --env t", capsys, monkeypatch) == "plain,test\n"


def test_a_file_with_another_name_is_not_completed(
    shop: ProjectFolder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names that are no migration could hold characters that a shell or terminal obeys."""
    (shop.root / "migrations/shop/0004_$(touch x)\x1b[2J\n.sql").touch()
    (shop.root / "migrations/shop/0005_Upper.sql").touch()
    assert completed("glacierbase show 000", capsys, monkeypatch).split() == ["plain,0001", "plain,0002", "plain,0003"]
