"""The steps of a CI job, run by bash as the runner of a CI service runs them. Steps that use an action are left out."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.support.project_folder import REPOSITORY

# https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax#jobsjob_idstepsshell
_SHELLS = {
    "": ["bash", "-e"],
    "bash": ["bash", "--noprofile", "--norc", "-eo", "pipefail"],
    "python3 -I {0}": [sys.executable, "-I"],
}
_ACTION = re.compile(r"[\w/-]+/glacierbase@[0-9a-f]{40}")
# What the tests of `init --ci` pass to --from.
COMMIT = "git+https://git.test/data/glacierbase@" + "0123456789" * 4
_EXPRESSION = re.compile(r"\$\{\{ *(.*?) *\}\}")
_RUNS_AFTER_FAILURE = "!cancelled() && steps.install.outcome == 'success'"
_CONTAINS = re.compile(r"contains\(inputs\.([\w-]+), '(\w+)'\)")
_COMPARISON = re.compile(r"inputs\.([\w-]+) (==|!=) '(\w*)'")


@dataclass
class Done:
    """What a job did.

    Attributes:
        code: of the first step that failed, else 0.
        ran: the names of the steps that ran, each with its exit code.
        log: what the steps printed.
    """

    code: int = 0
    ran: dict[str, int] = field(default_factory=dict)
    log: str = ""


class Machine:
    """A machine of a CI service, with the program `glacierbase` of this checkout, and a `pip` that installs nothing.

    Attributes:
        work: the checkout that jobs run in.
        temp: the folder of the runner, outside of the checkout.
    """

    def __init__(self, work: Path, folder: Path) -> None:
        self.work = work
        self.temp = folder / "temp"
        self.temp.mkdir(parents=True)
        self._programs = folder / "bin"
        self._programs.mkdir()
        self._program("glacierbase", f'exec "{sys.executable}" -m glacierbase "$@"')
        self._program("pip", f'echo "$@" >> "{self.temp}/installed"')
        # A virtual environment gets the same programs.
        venv = f'if [ "$1 $2 $3" = "-I -m venv" ]; then mkdir -p "$4" && cp -R "{self._programs}" "$4/bin" && exit; fi'
        self._program("python3", f'{venv}\nexec "{sys.executable}" "$@"')

    def _program(self, name: str, line: str) -> None:
        path = self._programs / name
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)

    @property
    def installed(self) -> list[str]:
        """The arguments of each `pip`."""
        return (self.temp / "installed").read_text().splitlines()

    def output(self, name: str) -> str:
        """Return what steps wrote to the file that a variable such as `GITHUB_OUTPUT` names."""
        return (self.temp / name).read_text()

    def on_github(
        self, steps: Sequence[Mapping[str, Any]], values: Mapping[str, str], env: Mapping[str, Any] | None = None
    ) -> Done:
        """Run the steps of a job of GitHub Actions, and those of the action that they use.

        Args:
            values: of the expressions in `env` and `with` of the job and its steps. One that is missing is an error.
            env: of the workflow and the job.
        """
        done = Done()
        for step, of_step in self._expanded(steps, dict(values)):
            condition = str(step.get("if", ""))
            if "run" not in step or (done.code and _RUNS_AFTER_FAILURE not in condition):
                continue
            assert "${{" not in step["run"], step["run"]
            given = _evaluated({**(env or {}), **step.get("env", {})}, of_step)
            command = _SHELLS[step.get("shell", "")]
            code = self._run(done, command, step["run"], {**self._files_of_github(), **self._exported(), **given})
            done.ran[step["name"]] = code
            done.code = done.code or code
        return done

    def _expanded(
        self, steps: Sequence[Mapping[str, Any]], values: dict[str, str]
    ) -> Iterator[tuple[Mapping[str, Any], Mapping[str, str]]]:
        """Yield the steps that run, with the values of their expressions; in place of the action its steps."""
        for step in steps:
            if not _ACTION.fullmatch(step.get("uses", "")):
                yield step, values
                continue
            action = workflow(REPOSITORY / "action.yml")
            given = _evaluated(step.get("with", {}), {"vars.AWS_ROLE": "", "vars.AWS_REGION": "", **values})
            inputs = {name: given.get(name, default["default"]) for name, default in action["inputs"].items()}
            assert given.keys() <= inputs.keys()
            inner = {**values, **{f"inputs.{name}": value for name, value in inputs.items()}}
            for part in action["runs"]["steps"]:
                if _holds(str(part.get("if", "")), inputs):
                    yield {**part, "env": {**step.get("env", {}), **part.get("env", {})}}, inner

    def _exported(self) -> dict[str, str]:
        """Return the variables that earlier steps wrote to `GITHUB_ENV`."""
        path = self.temp / "GITHUB_ENV"
        return dict(line.split("=", 1) for line in path.read_text().splitlines()) if path.exists() else {}

    def _files_of_github(self) -> dict[str, str]:
        names = ("GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STEP_SUMMARY")
        return {
            **{name: str(self.temp / name) for name in names},
            "RUNNER_TEMP": str(self.temp),
            "GITHUB_ACTIONS": "true",
            "GITHUB_ACTION_PATH": "/action",
        }

    def on_gitlab(self, job: Mapping[str, Any], env: Mapping[str, str]) -> Done:
        """Run a job of GitLab: `before_script` and `script` in one shell.

        Args:
            job: with what it extends.
        """
        script = "\n".join([*job.get("before_script", []), *job["script"]])
        done = Done()
        # A variable of the job may name one of GitLab's, which are set first.
        variables = {
            name: str(value).replace("$CI_PROJECT_DIR", str(self.work)) for name, value in job["variables"].items()
        }
        done.code = self._run(done, ["bash", "-eo", "pipefail"], script, {**variables, **env, "GITLAB_CI": "true"})
        return done

    def _run(self, done: Done, shell: Sequence[str], script: str, env: Mapping[str, str]) -> int:
        path = self.temp / "script"
        path.write_text(script)
        environment = {
            "PATH": f"{self._programs}:{os.environ['PATH']}", "HOME": os.environ["HOME"],
            "PYTHONPATH": str(REPOSITORY), "CI": "true",
        }  # fmt: skip
        ran = subprocess.run(
            [*shell, str(path)], cwd=self.work, env={**environment, **env},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=600,
        )  # fmt: skip
        done.log += ran.stdout
        return ran.returncode


def _evaluated(texts: Mapping[str, Any], values: Mapping[str, str]) -> dict[str, str]:
    """Return texts with the values of their expressions; of alternatives, the first that is not empty."""

    def value(found: re.Match[str]) -> str:
        if found[1] in values or " || " not in found[1]:
            return values[found[1]]
        known = [values[part] for part in found[1].split(" || ") if part in values]
        return next(filter(None, known))

    return {name: _EXPRESSION.sub(value, str(text)) for name, text in texts.items()}


def _holds(condition: str, inputs: Mapping[str, str]) -> bool:
    """Return whether what a condition says about the inputs holds; the rest of it counts as true."""
    compared = _COMPARISON.sub(lambda found: str((inputs[found[1]] == found[3]) == (found[2] == "==")), condition)
    compared = _CONTAINS.sub(lambda found: str(found[2] in inputs[found[1]]), compared)
    words = re.sub(r"[\w.]+ == '\w+'|!cancelled\(\)", "True", compared.replace("${{", "").replace("}}", ""))
    assert re.fullmatch(r"(True|False|[&|() ])*", words), condition
    return not words or bool(eval(words.replace("&&", "and").replace("||", "or")))


def gitlab_jobs(path: Path) -> dict[str, dict[str, Any]]:
    """Return the jobs of a file, each with what it extends in this file or one that it includes."""
    content = yaml.safe_load(path.read_text("utf-8"))
    for included in content.pop("include", ()):
        name = included.get("file") or "/".join(included["remote"].rsplit("/", 2)[1:])
        content |= included_jobs(REPOSITORY / name.lstrip("/"), included["inputs"])
    return {name: _extended(job, content) for name, job in content.items() if not name.startswith(".")}


def included_jobs(path: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a template with its inputs, as GitLab's `include` does; an unknown or missing input is an error."""
    header, body = path.read_text("utf-8").split("\n---\n")
    inputs = yaml.safe_load(header)["spec"]["inputs"]
    assert given.keys() <= inputs.keys()
    values = {name: given[name] if name in given else (spec or {})["default"] for name, spec in inputs.items()}
    text = re.sub(r"\$\[\[ inputs\.(\w+) \]\]", lambda found: _written(values[found[1]]), body)
    content: dict[str, Any] = yaml.safe_load(text)
    return content


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _extended(job: Mapping[str, Any], content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a job merged over the one that it extends: mappings by key, lists replace."""
    base = _extended(content[job["extends"]], content) if "extends" in job else {}
    merged = {**base, **job}
    return {**merged, "variables": {**base.get("variables", {}), **job.get("variables", {})}}


def workflow(path: Path) -> dict[Any, Any]:
    """Return the content of a workflow. Its key `on` is the YAML value true."""
    content: dict[Any, Any] = yaml.safe_load(path.read_text("utf-8"))
    return content


def steps_of(content: Any) -> Iterator[dict[str, Any]]:
    """Yield all steps of a workflow or an action."""
    for job in content.get("jobs", {"": content.get("runs")}).values():
        yield from job.get("steps", [])
