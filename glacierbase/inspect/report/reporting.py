"""The command that writes a page about the whole project: `report`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from glacierbase.errors import GlacierbaseError, SeveralErrors, raise_all
from glacierbase.inspect.compare.comparing import ComparingProject
from glacierbase.model.command import with_own_scope
from glacierbase.model.result import Result, Results

# What the method uses is imported when it is called, so that `pending` does not load it.
if TYPE_CHECKING:
    from glacierbase.inspect.report.results import ReportResult

R = TypeVar("R", bound=Result)


class ReportingProject(ComparingProject):
    """A project about which a page can be written."""

    @with_own_scope
    def report(
        self, output: str | Path, environments: Sequence[str] = (), catalogs: Collection[str] = (), *, spark: Any = None
    ) -> tuple[ReportResult, ...]:
        """Write a page about tables, migrations and what is pending. It opens from disk, and contacts nothing.

        Tables are compared with their records where no engine is needed for that. Changes nothing but that file.

        Args:
            output: the HTML file; an existing one is replaced.
            environments: to compare, two or more; as for `compare`.

        Raises:
            GlacierbaseError: a catalog or an environment cannot be read, or several; `results` says where the page with the others
                is. Without any others there is none.
        """
        from glacierbase.inspect.report.data import page_of
        from glacierbase.inspect.report.page import check_output, write_page
        from glacierbase.inspect.report.results import PageResult, reported
        from glacierbase.model.arguments import check_not_empty

        check_not_empty("output", output)
        check_output(output)
        errors: list[GlacierbaseError] = []
        pages = _read(lambda: self._each(catalogs, PageResult, page_of, spark), errors)
        compared = _read(lambda: self.compare(environments, catalogs), errors) if environments else ()
        is_anything_known = any(each.error is None and each.skipped is None for each in (*pages, *compared))
        if is_anything_known or not errors:
            write_page(output, self.root.resolve().name, pages, compared)
        results = Results(reported(str(output) if is_anything_known else "", pages, compared))
        # An environment that is both shown and compared fails twice.
        raise_all(list({(each.code, each.message): each for each in errors}.values()), results)
        return results


def _read(run: Callable[[], tuple[R, ...]], errors: list[GlacierbaseError]) -> tuple[R, ...]:
    """Return the results of a command, also where it fails for some of them; the errors are appended.

    Raises:
        GlacierbaseError: it has no results.
    """
    try:
        return run()
    except GlacierbaseError as error:
        if not error.results:
            raise
        inside = error.errors if isinstance(error, SeveralErrors) else (error,)
        errors += [each.error for each in error.results if each.error] or inside
        return error.results
