"""The folder `catalogs/` of a project: all its catalog files, each a catalog in any of its environments.

Loading checks what is the same in every environment. `CatalogFile.for_environment` resolves the references of one
environment and checks their values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path

from glacierbase.catalogs.blocks import listed_headers, style_of_versions
from glacierbase.catalogs.catalogfile import SHARED, catalog_name, load_catalog_file
from glacierbase.catalogs.environment import EnvironmentReader
from glacierbase.catalogs.references import ExternalValues, KnownValues, Placeholders, RealValues, References
from glacierbase.catalogs.yamlfile import MappingNode, ScalarNode, YamlPlace, is_null, merge, yaml_files
from glacierbase.errors import GlacierbaseError, collected, joined, raise_all
from glacierbase.model.catalog import Catalog
from glacierbase.model.command import git_command
from glacierbase.model.text import did_you_mean, first_of

DEFAULT_ENVIRONMENT = "default"

# Names to search for the nearest one, in every catalog of a project: comparing long names takes milliseconds each.
_MOST_COMPARED = 20


@dataclass(frozen=True, slots=True)
class CatalogFile:
    """One catalog file.

    Attributes:
        layers: the content of the shared file and of this file.
        headers: the further headers that its migration files may have, and whether each is required.
        versions: how new files are numbered: `sequence`, `timestamp`, or None for as the others in the folder.
    """

    path: Path
    name: str
    environments: tuple[str, ...]
    default_environment: str | None
    layers: tuple[MappingNode, ...] = field(repr=False)
    headers: Mapping[str, bool] = field(default_factory=dict, hash=False)
    versions: str | None = None

    @property
    def stem(self) -> str:
        return self.path.stem

    @property
    def required_headers(self) -> tuple[str, ...]:
        return tuple(name for name, is_required in self.headers.items() if is_required)

    def for_environment(
        self, environment: str, root: Path, *, resolve: bool = True, requires_values: bool = True
    ) -> Catalog:
        """Return the catalog in one of its environments; the references of other environments are not resolved.

        Args:
            resolve: read environment variables and files; if False, placeholders replace them, and are valid everywhere.
            requires_values: refuse a reference without a value; if False, a placeholder replaces it.

        Raises:
            ConfigurationError, SeveralErrors: `UNSET_REFERENCE`, `INVALID_VALUE` and the like, all of them.
        """
        values = RealValues(root) if requires_values else KnownValues(root)
        reader = self._reader(environment, root, values if resolve else Placeholders())
        catalog = reader.catalog(self.path, self.name, environment)
        return replace(catalog, required_headers=self.required_headers, versions=self.versions)

    def is_protected(self, environment: str, root: Path) -> bool:
        """Return whether changing the environment requires its name as confirmation; errors are left to `for_environment`."""
        return self._reader(environment, root, RealValues(root)).is_protected()

    def _reader(self, environment: str, root: Path, external: ExternalValues) -> EnvironmentReader:
        inside = (layer.get("environments", environment) for layer in self.layers)
        over = (*self.layers, *(node for node in inside if isinstance(node, MappingNode)))
        content = reduce(merge, over, MappingNode({}, over[-1].place))
        names = {"environment": environment, "catalog": self.name, "projectRoot": str(root)}
        variables = content.get("variables")
        if not isinstance(variables, MappingNode):
            variables = MappingNode({}, content.place)
        return EnvironmentReader(content, variables, References(names, variables, external))


def load_catalog_files(
    folder: Path, root: Path, unreadable: dict[str, GlacierbaseError] | None = None
) -> tuple[CatalogFile, ...]:
    """Return all catalog files of a project, sorted by the catalogs' names.

    Args:
        unreadable: gets the errors of each file that is wrong, by its stem, if no other file depends on it and another can be read.

    Raises:
        ConfigurationError, SeveralErrors: all errors in all other files.
    """
    errors: dict[str, list[GlacierbaseError]] = {}
    files = yaml_files(root)
    shared = MappingNode({}, YamlPlace(SHARED, 1))
    by_name: dict[str, CatalogFile] = {}
    for path in _paths(folder):
        location = path.relative_to(root).as_posix()
        with collected(errors.setdefault(path.stem, [])):
            _check_suffix(path, location)
            content = load_catalog_file(path, location, files)
            if path.name == SHARED:
                shared = content
            else:
                file = _catalog_file(path, location, shared, content)
                _check_unique(file, by_name, content.place)
                by_name[file.name] = file
    every = [error for of_file in errors.values() for error in of_file]
    if unreadable is None or not by_name or any(map(_is_of_all, every)):
        raise_all(every)
    else:
        unreadable.update((stem, error) for stem, of_file in errors.items() if (error := joined(of_file)))
    return tuple(by_name[name] for name in sorted(by_name))


def _is_of_all(error: GlacierbaseError) -> bool:
    """Return whether the error concerns other catalogs than that of its file: it is in the shared file, or two have one name."""
    return error.code == "DUPLICATE_CATALOG" or error.data.get("path") == f"catalogs/{SHARED}"


def file_of(folder: Path, root: Path) -> CatalogFile:
    """Return the catalog file of a migrations folder, in a project whose catalog files are valid.

    Args:
        root: the root of the project.
    """
    return next(file for file in load_catalog_files(root / "catalogs", root) if file.stem == folder.name)


def _paths(folder: Path) -> list[Path]:
    """Return the YAML files of a folder: the shared file first, then the others by name."""
    paths = (path for path in folder.iterdir() if path.suffix.lower() in (".yaml", ".yml") and path.name[0] != ".")
    return sorted(paths, key=lambda path: (path.name != SHARED, path))


def _check_suffix(path: Path, location: str) -> None:
    if path.suffix != ".yaml":
        hint = git_command("mv", location, f"{location.removesuffix(path.suffix)}.yaml")
        raise YamlPlace(location, 1).error("MISNAMED_FILE", "catalog files end in .yaml", hint)


def _check_unique(file: CatalogFile, by_name: dict[str, CatalogFile], place: YamlPlace) -> None:
    if file.name in by_name:
        what = f"its name {file.name} is also that of {by_name[file.name].path.name}"
        raise place.error("DUPLICATE_CATALOG", what, "give one of them another `name`")


def _catalog_file(path: Path, location: str, shared: MappingNode, content: MappingNode) -> CatalogFile:
    """Return the file merged over the shared one, its name and environments checked."""
    name = catalog_name(content, path.stem, location)
    names = _environments((shared, content)) or (DEFAULT_ENVIRONMENT,)
    merged = merge(shared, content)
    default = merged.get("defaultEnvironment")
    chosen = default.text if isinstance(default, ScalarNode) else None
    if default and chosen not in names:
        raise default.place.error(
            "INVALID_VALUE",
            f"defaultEnvironment: there is no environment {chosen}",
            _instead(chosen or "", names),
        )
    headers, versions = listed_headers(merged), style_of_versions(merged)
    return CatalogFile(path, name, names, chosen, (shared, content), headers, versions)


def _instead(chosen: str, names: tuple[str, ...]) -> str:
    if len(names) > _MOST_COMPARED:
        return f"there are: {first_of(names, _MOST_COMPARED)}"
    return did_you_mean(chosen, names, f"there are: {', '.join(names)}")


def _environments(layers: Iterable[MappingNode]) -> tuple[str, ...]:
    """Return the names of a catalog's environments; null removes an environment of an earlier layer, else adds an empty one."""
    names: dict[str, None] = {}
    for layer in layers:
        environments = layer.get("environments")
        for name, node in environments.values.items() if isinstance(environments, MappingNode) else ():
            if is_null(node) and name in names:
                del names[name]
            else:
                names[name] = None
    return tuple(names)
