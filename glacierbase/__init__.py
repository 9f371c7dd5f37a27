"""Version control for table schemas in data lakes: versioned, immutable SQL migrations, run under a lock and recorded.

    from glacierbase import Project

    project = Project.load(".", environment="dev")
    for result in project.migrate():
        print(result.catalog, [file.label for file in result.applied])

The library prints nothing, installs no signal handler and never exits; progress goes to the logger `glacierbase`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "1.0.0"

if TYPE_CHECKING:
    from glacierbase.errors import GlacierbaseError as GlacierbaseError
    from glacierbase.migrations.statements import split_statements as split_statements
    from glacierbase.project.project import Project as Project

__all__ = ["GlacierbaseError", "Project", "__version__", "split_statements"]


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that `glacierbase.__version__` alone imports nothing."""
    if name == "Project":
        from glacierbase.project.project import Project

        return Project
    if name == "GlacierbaseError":
        from glacierbase.errors import GlacierbaseError

        return GlacierbaseError
    if name == "split_statements":
        from glacierbase.migrations.statements import split_statements

        return split_statements
    if name == "sql":
        import glacierbase.sql

        return glacierbase.sql
    raise AttributeError(f"module 'glacierbase' has no attribute {name!r}")
