"""What ``import codegym`` does, and what it must not cost."""

from __future__ import annotations

import subprocess
import sys

import gymnasium as gym
import pytest

STACK = ("torch", "ray", "transformers", "docker", "swebench")
SLOW = (*STACK, "tree_sitter", "tree_sitter_python", "rapidfuzz")


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_is_light():
    # Beside gymnasium, which it cannot do without and which imports it as a plugin.
    code = f"""
import sys, time, warnings
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {SLOW!r}:
            raise ImportError(name + " is blocked")
sys.meta_path.insert(0, Block())
sys.modules["codegym"] = None
warnings.simplefilter("ignore")
start = time.process_time()
import gymnasium
between = time.process_time()
del sys.modules["codegym"]
import codegym
print((time.process_time() - between) / (between - start))
assert "codegym/Repair-v0" in gymnasium.registry
"""
    assert float(python(code)) < 0.5


def test_make_needs_no_training_stack():
    code = f"""
import sys, gymnasium
env = gymnasium.make("codegym:codegym/Repair-v0", level="tiny")
env.close(); env.close()
assert not set({STACK!r}) & set(sys.modules), set({STACK!r}) & set(sys.modules)
"""
    python(code)


def test_task_by_id():
    env = gym.make("codegym/Repair-v0", level="tiny", functions=2, n_bugs=2, instructions=False)
    observation, info = env.reset(options={"task_id": "tiny/test/f2b2/0"})
    assert info["task_id"] == "tiny/test/f2b2/0"
    assert observation.startswith('Fix m.py.\n<file path="m.py">\ndef ')
    with pytest.raises(KeyError, match="look like"):
        env.reset(options={"task_id": "nope"})
