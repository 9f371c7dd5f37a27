"""A `drift adopt` that ends at a moment: `python -m tests.crash.adopting PROJECT MOMENT HOW`.

`MOMENT` is one of `MOMENTS`. `HOW` is `SIGKILL`; or `refused`, where the store refuses every append from then on.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from glacierbase import cli
from glacierbase.capabilities.tables import drift_files
from glacierbase.errors import StatementRefused
from glacierbase.stores.iceberg import IcebergStore

# The call that the moment is before or after.
MOMENTS: dict[str, tuple[Any, str]] = {
    "before the file": (drift_files, "write_migration"),
    "after the file": (drift_files, "write_migration"),
    "before the record": (IcebergStore, "append"),
    "after the record": (IcebergStore, "append"),
    "before the name": (drift_files, "publish"),
    "after the name": (drift_files, "publish"),
}


def main(project: str, moment: str, how: str) -> None:
    owner, name = MOMENTS[moment]
    call = getattr(owner, name)

    def end() -> None:
        if how == "refused":
            raise StatementRefused("Forbidden", "appends are refused")
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, name, _ending(call, moment.startswith("before"), end))
    cli.main(["drift", "adopt", "--reason", "why", "--author", "Ann", "--yes", "--project", project])


def _ending(call: Callable[..., Any], is_before: bool, end: Callable[[], None]) -> Callable[..., Any]:
    def ended(*arguments: Any, **options: Any) -> Any:
        if is_before:
            end()
        answer = call(*arguments, **options)
        end()
        return answer

    return ended


if __name__ == "__main__":
    main(*sys.argv[1:])
