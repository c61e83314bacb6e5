"""The command line of every algorithm: ``python -m algorithms.NAME.train [--config FILE] [key=value ...]``.

``algorithms/NAME/train.py`` is one call, and so is a method of one's own::

    if __name__ == "__main__":
        sys.exit(main(MyAlgorithm))

Values are read in this order, later ones win: the defaults of :mod:`algorithms.core.config`, the built-in task's, the
method's ``defaults`` and ``loss_defaults``, ``--config``, the overrides.
"""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import importlib
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import yaml
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from algorithms.core import config as defaults
from algorithms.core.trajectory import Algorithm
from sandbox.base import SandboxUnavailable

#: The built-in task: files of four short functions with three bugs, two turns, the second with the visible tests'
#: results. The shipped model needs no instructions. Another ``env.id`` or ``env.kwargs.level`` puts all of it aside.
BUILT_IN: dict[str, Any] = {
    "env": {
        "kwargs": {
            "level": "tiny",
            "functions": 4,
            "n_bugs": 3,
            "max_turns": 2,
            "feedback": "tests",
            "step_reward": 0.15,  # the published value
            "instructions": False,
        }
    },
    # The longest right reply has about 110 tokens, a prompt of the second turn about 350.
    "rollout": {"max_response_tokens": 128, "max_prompt_tokens": 1024},
}


class ConfigError(ValueError):
    """A setting that cannot be used; one line that names it and the remedy."""


def load_algorithm(name: str) -> type[Algorithm]:
    """The class that ``algorithms.NAME`` exports as ``ALGORITHM``. Raises ConfigError for an unknown name."""
    try:
        return importlib.import_module(f"algorithms.{name}").ALGORITHM
    except (ModuleNotFoundError, AttributeError):
        raise ConfigError(f"there is no algorithm {name!r} in algorithms/") from None


def resolve(algorithm: type[Algorithm], overrides: Sequence[str] = (), file: str | None = None) -> defaults.Config:
    """Read the configuration of a run. Raises ConfigError for an unknown key or a value of the wrong type."""
    tree: DictConfig = OmegaConf.structured(defaults.Config(algorithm=algorithm.Config()))
    try:
        given = [] if file is None else [(_read(file), file)]
        for override in overrides:
            if "=" not in override:
                raise ConfigError(f"{override!r} is no setting; write key=value, e.g. trainer.steps=80")
            given.append((OmegaConf.from_dotlist([override]), "the command line"))
        built_in = {} if any(_names_a_task(tree) for tree, _ in given) else BUILT_IN
        for prescribed in (built_in, getattr(algorithm, "defaults", {}), {"loss": algorithm.loss_defaults}):
            tree = _merge(tree, OmegaConf.create(prescribed), source="the defaults")
        prescribed = OmegaConf.to_object(tree)
        for new, source in given:
            tree = _merge(tree, new, source)
        config = OmegaConf.to_object(tree)
    except OmegaConfBaseException as error:
        raise ConfigError(f"{error.full_key}: {str(error).splitlines()[0]}") from None
    assert isinstance(config, defaults.Config)
    assert isinstance(prescribed, defaults.Config)
    _refuse_idle(config, prescribed)
    if not config.trainer.run_dir:
        config.trainer.run_dir = f"runs/{algorithm.name}-seed{config.trainer.seed}"
    return config


def _refuse_idle(config: defaults.Config, prescribed: defaults.Config) -> None:
    """Raise ConfigError for a value that differs from the method's own and that nothing would read."""
    no_kl, no_refill = config.loss.kl_coef == 0, not config.rollout.dynamic_sampling
    for section, key, idle, why in (
        ("loss", "kl_type", no_kl, "loss.kl_coef=0"),
        ("loss", "kl_in", no_kl, "loss.kl_coef=0"),
        ("loss", "clip_ratio_c", config.loss.surrogate == "cispo", "loss.surrogate=cispo"),
        ("rollout", "max_refills", no_refill and config.rollout.max_refills > 0, "rollout.dynamic_sampling=false"),
    ):
        value = getattr(getattr(config, section), key)
        if idle and value != getattr(getattr(prescribed, section), key):
            raise ConfigError(f"{section}.{key}={value} does nothing with {why}; leave it out, or change that")


def _names_a_task(given: DictConfig) -> bool:
    """Whether it asks for another task than the built-in one."""
    name = OmegaConf.select(given, "env.id") or defaults.EnvConfig().id
    level = OmegaConf.select(given, "env.kwargs.level") or "tiny"
    return name != defaults.EnvConfig().id or level != "tiny"


def _read(file: str) -> DictConfig:
    try:
        loaded = OmegaConf.load(file)
    except FileNotFoundError:
        raise ConfigError(f"--config {file}: no such file; --dry-run prints one to start from") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f", line {mark.line + 1}"
        raise ConfigError(f"--config {file}{where}: no YAML; --dry-run prints a file to start from") from None
    if not isinstance(loaded, DictConfig):
        raise ConfigError(f"--config {file}: holds no settings; --dry-run prints a file to start from")
    return loaded


def _merge(tree: DictConfig, new: DictConfig, source: str) -> DictConfig:
    """Merge after checking that every key of ``new`` exists, so that a misspelt one can name its neighbour."""
    known = {key for key, _ in _leaves(tree)}
    for key, value in _leaves(new):
        if key in _groups(known) and not isinstance(value, DictConfig):
            raise ConfigError(f"{key} (from {source}) is a group of settings; write {key}.NAME=value")
        if key in known or key in _groups(known) or key.startswith("env.kwargs."):
            continue
        near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
        near = near or difflib.get_close_matches(key.split(".")[-1], [k.split(".")[-1] for k in known], n=1)
        full = [k for k in sorted(known) if near and (k == near[0] or k.endswith("." + near[0]))]
        hint = f"; did you mean {full[0]}?" if full else "; --help lists every key"
        raise ConfigError(f"{key} (from {source}) is not a setting{hint}")
    merged = OmegaConf.merge(tree, new)
    assert isinstance(merged, DictConfig)
    return merged


def _leaves(tree: DictConfig, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key in map(str, tree):
        name, value = f"{prefix}{key}", tree._get_node(key)
        if isinstance(value, DictConfig) and (len(value) or name != "env.kwargs"):
            yield from _leaves(value, name + ".")
        else:
            yield name, value


def _groups(keys: set[str]) -> set[str]:
    return {key.rsplit(".", depth)[0] for key in keys for depth in range(1, key.count(".") + 1)}


def describe(config: defaults.Config) -> Iterator[tuple[str, Any, str]]:
    """Every setting: key, value, and the sentence that explains it."""
    for section in dataclasses.fields(config):
        part = getattr(config, section.name)
        for field in dataclasses.fields(part):
            yield f"{section.name}.{field.name}", getattr(part, field.name), field.metadata.get("help", "")


def to_yaml(config: defaults.Config) -> str:
    """The configuration as a file that ``--config`` reads."""
    return OmegaConf.to_yaml(OmegaConf.create(dataclasses.asdict(config)))


def main(algorithm: str | type[Algorithm], argv: Sequence[str] | None = None) -> int:
    """Run the command line for a method, given by its folder's name or its class; returns the exit status."""
    method = load_algorithm(algorithm) if isinstance(algorithm, str) else algorithm
    args = _parser(method).parse_intermixed_args(argv)
    try:
        config = resolve(method, args.overrides, args.config)
        return _dry_run(method, config) if args.dry_run else _train(method, config)
    except (ValueError, OSError, SandboxUnavailable) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped; the same command goes on from the last checkpoint", file=sys.stderr)
        return 130


def _parser(method: type[Algorithm]) -> argparse.ArgumentParser:
    command = f"python -m algorithms.{method.name}.train"
    parser = argparse.ArgumentParser(
        prog=command,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=(method.__doc__ or method.name).strip().splitlines()[0],
        epilog=_epilog(command, resolve(method)),
    )
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="settings, e.g. trainer.steps=80")
    parser.add_argument("--config", metavar="FILE", help="a YAML file of settings; overrides win over it")
    parser.add_argument("--dry-run", action="store_true", help="print the settings and what they would allocate")
    return parser


def _epilog(command: str, config: defaults.Config) -> str:
    lines = [
        "examples:",
        f"  {command}",
        "      the built-in task and model: minutes on two CPU cores",
        f"  {command} trainer.seed=1 trainer.run_dir=runs/second",
        f"  {command} model.path=Qwen/Qwen2.5-Coder-0.5B-Instruct env.kwargs.level=program rollout.n=8 optim.lr=1e-6",
        f"  {command} trainer.ray=true distributed.ranks=2",
        "",
        "An interrupted run goes on when the same command is given again (trainer.resume=auto).",
        "",
        "settings:",
    ]
    section = ""
    for key, value, text in describe(config):
        if key.split(".")[0] != section:
            section = key.split(".")[0]
            lines.append("")
        lines.append(f"  {key}={_short(value)}" + (f"\n      {text}" if text else ""))
    return "\n".join(lines).replace("%", "%%")


def _short(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ",".join(str(item) for item in value) + "]"
    return "''" if value == "" else str(value).lower() if isinstance(value, bool) else str(value)


def _dry_run(method: type[Algorithm], config: defaults.Config) -> int:
    from algorithms.core.check import validate_method
    from algorithms.core.plan import plan

    lines = plan(config)
    validate_method(config, method(config.algorithm))  # first, as an error would be lost below the settings
    print(to_yaml(config))
    print("\n".join(lines))
    return 0


def _train(method: type[Algorithm], config: defaults.Config) -> int:
    from algorithms.core.trainer import Trainer
    from algorithms.report import observers

    Trainer(config, method(config.algorithm), observers=observers(config)).run()
    return 0
