"""The load on a table's object keys: the number of objects, and the requests in a second at the peak."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from glacierbase.errors import ConfigurationError
from glacierbase.model.amounts import amount, bytes_amount
from glacierbase.model.arguments import option_of

# What is assumed of rows and files unless the caller states others.
ROW_SIZE = 1024
FILE_SIZE = 128 * 1024**2
MONTHS = 12
_MOST = 1e18
_MOST_GROWTH = 1000
_MOST_MONTHS = 120


@dataclass(frozen=True, slots=True)
class Load:
    """The load today and its growth. None is what is not known, or does not occur; 0 is refused.

    Attributes:
        objects: the number of objects.
        objects_per_prefix: the most that one prefix should hold; by default the provider's limit.
        put_per_second, get_per_second: requests at the peak.
        rows_per_second: in place of `put_per_second`, which is computed from it.
        row_size, file_size: in bytes.
        writers: at a commit, each closes a file in the same second.
        growth: of objects and rates, in percent a month, compound.
        months: how long they grow.
    """

    objects: float | None = None
    objects_per_prefix: float | None = None
    put_per_second: float | None = None
    get_per_second: float | None = None
    rows_per_second: float | None = None
    row_size: float | None = None
    file_size: float | None = None
    writers: float | None = None
    growth: float | None = None
    months: int | None = None

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            ConfigurationError: `INVALID_VALUE`, `CONFLICTING_OPTIONS`.
        """
        for field in fields(self):
            _check(field.name, getattr(self, field.name))
        if self.put_per_second is not None and self.rows_per_second is not None:
            raise ConfigurationError(
                "CONFLICTING_OPTIONS", "--put-per-second and --rows-per-second exclude each other", "use one of them"
            )
        for option, requires in _REQUIRES.items():
            if getattr(self, option) is not None and getattr(self, requires) is None:
                what = f"{option_of(option)} requires {option_of(requires)}"
                raise ConfigurationError("CONFLICTING_OPTIONS", what, f"add {option_of(requires)}, or leave it out")
        if all(getattr(self, name) is None for name in _LOADS):
            what = f"nothing to size: give at least one of {', '.join(map(option_of, _LOADS))}"
            raise ConfigurationError("INVALID_VALUE", what, "add --put-per-second 900")

    @property
    def factor(self) -> float:
        """What the growth multiplies objects and rates by."""
        return (1 + (self.growth or 0) / 100) ** self.months_of_growth

    @property
    def months_of_growth(self) -> int:
        """How long they grow."""
        return MONTHS if self.months is None else self.months

    @property
    def files_per_second(self) -> float | None:
        """The files that the rows fill in a second, or that all writers close in one; None without rows."""
        if self.rows_per_second is None:
            return None
        filled = self.rows_per_second * (self.row_size or ROW_SIZE) / (self.file_size or FILE_SIZE)
        return max(filled, self.writers or 0)

    @property
    def peak_put(self) -> float | None:
        """PUT requests in a second at the end of the growth; None where they are not known."""
        return _grown(self.files_per_second if self.put_per_second is None else self.put_per_second, self.factor)

    @property
    def peak_get(self) -> float | None:
        """GET requests in a second at the end of the growth; None where they are not known."""
        return _grown(self.get_per_second, self.factor)

    @property
    def grown_objects(self) -> float | None:
        """The objects at the end of the growth; None where they are not known."""
        return _grown(self.objects, self.factor)

    def assumptions(self) -> list[str]:
        """Return how the numbers of the load were computed."""
        lines = []
        if self.rows_per_second is not None:
            sizes = f"{bytes_amount(self.row_size or ROW_SIZE)} in files of {bytes_amount(self.file_size or FILE_SIZE)}"
            lines.append(f"{amount(self.rows_per_second)} rows/s of {sizes}: one PUT a file")
            if self.writers is not None:
                lines.append(f"at a commit, {amount(self.writers)} writers close a file each in the same second")
        if self.growth:
            months = f"{self.months_of_growth} months at {self.growth:g} % a month"
            lines.append(f"after {months}, objects and rates are {self.factor:.2f} times those given")
        return lines


_LOADS = ("objects", "put_per_second", "get_per_second", "rows_per_second")
_REQUIRES = {
    "objects_per_prefix": "objects",
    "row_size": "rows_per_second",
    "writers": "rows_per_second",
    "months": "growth",
}
# At least one object, and one object in a prefix.
_LEAST = {"objects": 1, "objects_per_prefix": 1}
_RANGES = {"growth": (0, _MOST_GROWTH), "months": (1, _MOST_MONTHS)}


def _check(name: str, value: float | None) -> None:
    if value is None:
        return
    least, most = _RANGES.get(name, (_LEAST.get(name, 0), _MOST))
    wrong = None
    if not math.isfinite(value):
        wrong = "is no finite number"
    elif value > most:
        wrong = f"is more than {most:g}"
    elif value < least:
        wrong = f"is less than {least}"
    elif value == 0 and name not in _RANGES:
        wrong = "is not above 0"
    if wrong:
        hint = f"correct {option_of(name)}, or leave it out where there is no such load"
        raise ConfigurationError("INVALID_VALUE", f"{option_of(name)} {value:g} {wrong}", hint)


def _grown(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
