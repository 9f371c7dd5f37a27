"""The files of `layout simulate --output`: pictures, and one HTML page, which contacts nothing."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape

import glacierbase
from glacierbase.capabilities.load.extra import required
from glacierbase.capabilities.load.simulation import Simulation
from glacierbase.capabilities.load.simulation_plots import Plot, drawn, plots_of
from glacierbase.errors import ConfigurationError
from glacierbase.model.printable import parts_of, text_of
from glacierbase.model.text import Line, Mark, Table
from glacierbase.run.files import check_replaceable, replace_file, writing

_FORMS = (".html", ".png", ".svg")
_COMMENTS = re.compile(r"<!--.*?(?:-->|\Z)|<(metadata|style)\b.*?(?:</\1>|\Z)", re.DOTALL)
_STYLE = re.compile(r' style="([^"]*)"')
_ID = re.compile(r'( id="|href="#|url\(#)')


def check_outputs(paths: Sequence[str]) -> None:
    """Refuse files that cannot be written, before anything is computed.

    Raises:
        ConfigurationError: `INVALID_VALUE`: the suffix is none of a format; `UNREADABLE_FILE`, `LAYOUT_EXTRA_MISSING`.
    """
    for path in paths:
        required("matplotlib")
        if Path(path).suffix.lower() not in _FORMS:
            what = f"--output {path}: the suffix is none of {', '.join(_FORMS)}"
            raise ConfigurationError("INVALID_VALUE", what, f"use --output {Path(path).with_suffix('.html')}")
        with writing(path):
            check_replaceable(Path(path))


def write_outputs(paths: Sequence[str], simulation: Simulation) -> Simulation:
    """Write a simulation in the format of each file's suffix, and return it with the paths. Existing files are replaced as a whole.

    Raises:
        ConfigurationError: `UNREADABLE_FILE`.
    """
    plots = plots_of(simulation)
    for path in paths:
        form = Path(path).suffix.lower()
        content = page(simulation, plots) if form == ".html" else drawn(list(plots.values()), form[1:])
        with writing(path):
            replace_file(Path(path), content)
    return replace(simulation, written=tuple(paths))


def page(simulation: Simulation, plots: Mapping[str, Plot]) -> str:
    """Return the page: what the terminal shows, and the plots."""
    folder = files("glacierbase.capabilities.load") / "templates"
    template, style = ((folder / name).read_text("utf-8") for name in ("simulation.html", "simulation.css"))
    digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(template).render(
        policy=f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
        style=Markup(style),
        blocks=list(_blocks(simulation.lines())),
        plots=[(title, _inline(plot, title, number)) for number, (title, plot) in enumerate(plots.items())],
        version=glacierbase.__version__,
    )


def _blocks(lines: Sequence[Line]) -> Iterator[Mapping[str, object]]:
    """Yield lines and tables for the template, masked and without control characters."""
    for line in lines:
        if isinstance(line, Table):
            rows = [[text_of(cell) for cell in row] for row in line.rows]
            yield {"table": {"header": [text_of(cell) for cell in line.header], "rows": rows}}
        elif line:
            text = " ".join(parts_of(line))
            yield {"table": None, "is_heading": isinstance(line, Mark), "text": text}


def _inline(plot: Plot, title: str, number: int) -> Markup:
    """Return a plot for a page whose policy allows no `style` attribute: in the colour of its text, on its ground.

    Args:
        number: makes the ids of the plots of a page different.
    """
    svg = drawn([plot], "svg").decode()
    svg = _COMMENTS.sub("", svg[svg.index("<svg") :])
    svg = _STYLE.sub(lambda match: _attributes(match[1]), svg)
    svg = _ID.sub(rf"\1plot{number}-", svg)
    svg = svg.replace("#000000", "currentColor").replace("#ffffff", "none")
    label = f'role="img" aria-label="{escape(title)}" fill="currentColor" stroke-linejoin="round" stroke-linecap="butt"'
    return Markup(svg.replace("<svg ", f"<svg {label} ", 1))


def _attributes(style: str) -> str:
    """Return the declarations of a `style` attribute as attributes of SVG."""
    pairs = (declaration.partition(":") for declaration in style.split(";") if declaration.strip())
    return "".join(f' {name.strip()}="{value.strip()}"' for name, _, value in pairs)
