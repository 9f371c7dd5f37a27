"""Import what the extra `layout` installs, when it is needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from glacierbase.errors import ConfigurationError
from glacierbase.run.installed import pip_install


def required(module: str, extra: str = "layout") -> Any:
    """Import a module of an extra, and return it.

    Raises:
        ConfigurationError: `LAYOUT_EXTRA_MISSING`: it is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ConfigurationError(
            "LAYOUT_EXTRA_MISSING", f"{package} is not installed, which this command needs", pip_install(extra)
        ) from error
