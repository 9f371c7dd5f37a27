"""The documentation is built with what `.[docs]` installs: neither pytest nor an engine."""

from __future__ import annotations

import subprocess
import sys

from tests.support.project_folder import REPOSITORY

# Packages of the other extras are refused, whatever is installed here.
BUILD = """\
import importlib.util, re, sys
from importlib.metadata import packages_distributions, requires

def needed(name, seen):
    if name not in seen:
        seen.add(name)
        for requirement in requires(name) or ():
            if "extra ==" not in requirement and ";" not in requirement:
                needed(re.match(r"[\\w.-]+", requirement)[0].lower(), seen)
    return seen

allowed = set().union(*(needed(name, set()) for name in ("click", "jinja2", "msgspec", "pyyaml", "rich")))

class OnlyNeeded:
    def find_spec(self, name, path=None, target=None):
        owners = OWNERS.get(name) if path is None else None
        if owners and not {owner.lower() for owner in owners} & (allowed | {"setuptools"}):
            raise ModuleNotFoundError(f"no module named {name!r} in `.[docs]`", name=name)

OWNERS = packages_distributions()
OWNERS.pop("glacierbase", None)
sys.meta_path.insert(0, OnlyNeeded())
spec = importlib.util.spec_from_file_location("build", "docs/build.py")
build = importlib.util.module_from_spec(spec)
spec.loader.exec_module(build)
print(len(list(build.pages())))
"""


def test_every_generated_page_needs_the_core_alone() -> None:
    """No page imports a package of another extra."""
    done = subprocess.run([sys.executable, "-c", BUILD], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 20
