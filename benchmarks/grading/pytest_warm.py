"""What all runs of pytest begin with, done once in the process that they are forked from.

Its source is the program ``warm`` of the runner: :mod:`benchmarks.grading.pytests` appends ``main(arguments)``. A cold
start of pytest spends most of its time on what depends on no test. Here

- pytest runs on a small test, a few times: what it imports, compiles and caches by the way is there for all;
- the configuration of runs with these arguments is made in advance: pytest's own plugins are registered, the parser of
  its options is built. Where it is and whose plugins come to it is set in each run. Nothing of the tests has been seen
  by then: rootdir, configuration files and conftests come later;
- ``dir`` of these plugins tells only names of hooks and of what may be a fixture, as pytest looks at every name, until
  ``pytest_driver`` collects.
"""

from __future__ import annotations

_TEST = "import pytest\n\n@pytest.fixture\ndef one():\n    return 1\n\ndef test(one):\n    assert one == 1\n"
_RUNS = 3  # more make no difference that can be measured


def main(arguments: list[str]) -> None:
    """Prepare runs of ``pytest.main(arguments, ...)``."""
    import contextlib
    import io
    import linecache
    import os
    import pathlib
    import site
    import sys
    import types
    from typing import Any

    import _pytest.config
    import pytest

    site.main()  # as at the start of Python: its path, and builtins such as exit
    make = _pytest.config.get_config
    asked: list[Any] = []

    def ask(args: Any, *given: Any, **named: Any) -> pytest.Config:
        asked[:] = given, named  # versions of pytest differ in what it passes on
        return make(args, *given, **named)

    def take(args: Any = None, plugins: Any = None, **named: Any) -> pytest.Config:
        if args != arguments or not ready:
            return make(args, plugins, **named)
        config = ready.pop()
        config.invocation_params = config.InvocationParams(args=args, plugins=plugins, dir=pathlib.Path.cwd())
        return config

    path = sys.path.copy()
    pathlib.Path("test_warm.py").write_text(_TEST)
    _pytest.config.get_config = ask  # type: ignore[assignment]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # those of others may keep something of what they saw
    for _ in range(_RUNS):
        with contextlib.redirect_stdout(io.StringIO()):
            pytest.main(list(arguments), plugins=[])
        del sys.modules["test_warm"]
    del os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"]
    sys.path[:] = path
    sys.path_importer_cache.pop(os.getcwd(), None)
    linecache.clearcache()

    given, named = asked
    ready = [make(list(arguments), *given, **named)]
    _pytest.config.get_config = take  # type: ignore[assignment]

    def matters(name: str, value: object) -> bool:
        if isinstance(value, types.FunctionType):
            return name.startswith("pytest_") or bool(vars(value))  # a hook, or marked as a fixture by old versions
        return type(value).__module__.startswith("_pytest.")

    for plugin in ready[0].pluginmanager.get_plugins():
        if isinstance(plugin, types.ModuleType):
            names = sorted(name for name, value in vars(plugin).items() if matters(name, value))
            plugin.__dir__ = names.copy  # type: ignore[method-assign]
