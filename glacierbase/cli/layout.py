"""The commands `layout explain`, `advise`, `profile`, `simulate` and `ls`."""

from __future__ import annotations

import click

from glacierbase.cli.group import ListedCommand, cli


class _Action(ListedCommand):
    """An action of `layout`."""

    def document_of(self, name: str) -> str:
        return f"layout-{name}"


class _Layout(click.Group):
    command_class = _Action


@cli.group(cls=_Layout)
def layout() -> None:
    """Explain, size, test and list the object keys of tables.

    The first characters of a key decide which partition of the object store a request reaches. Each command says what is documented
    of the store, what is modelled, and what is unknown.
    """
