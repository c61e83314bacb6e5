"""Loading the policy: a built-in model, a local ``transformers`` folder, or a name on the hub.

::

    folder = model_folder("tiny")                     # algorithms/sft/tiny
    model = load_model(config.model, torch.device("cpu"))
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForCausalLM, PretrainedConfig, PreTrainedModel
from transformers.utils.logging import disable_progress_bar

from algorithms.core.config import Config, ModelConfig

#: The built-in models, made by ``python -m algorithms.sft.train`` (docs/training.md).
BUILT_IN = {name: Path(__file__).resolve().parent.parent / "sft" / name for name in ("tiny", "tiny10")}

DTYPES = ("float32", "bfloat16", "float16")


def model_folder(path: str, key: str = "model.path") -> str:
    """The folder or hub name that a setting stands for. Raises ValueError naming ``key`` if it is not there."""
    if path in BUILT_IN:
        if not (BUILT_IN[path] / "config.json").exists():
            raise ValueError(f"{key}={path}: {BUILT_IN[path]} is missing; install the package again, or another model")
        return str(BUILT_IN[path])
    folder = Path(path).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").exists():
            raise ValueError(f"{key}={path}: the folder holds no config.json; give one that save_pretrained wrote")
        return str(folder)
    if path.startswith((".", "/", "~")) or path.count("/") != 1 or folder.parent.is_dir():
        raise ValueError(f'{key}={path}: no such folder; give a folder, a hub name (owner/name) or "tiny"')
    return path


def fingerprint(path: str) -> str:
    """Twelve hex digits that tell weights from others: of the sha256 of a folder's files, or of the hub's commit."""
    folder = Path(model_folder(path))
    if not folder.is_dir():
        return str(model_config(path)._commit_hash)[:12]
    digest = hashlib.sha256()
    for file in sorted(folder.glob("*.safetensors")) or sorted(folder.glob("*.bin")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def critic_start(config: Config) -> tuple[str, str]:
    """Where the critic starts from, and the setting that says so."""
    return (config.critic.path, "critic.path") if config.critic.path else (config.model.path, "model.path")


def pick_device(name: str) -> torch.device:
    """``distributed.device`` as a device; auto is cuda where there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda" and not torch.cuda.is_available():
        raise ValueError("distributed.device=cuda: torch sees no GPU; set distributed.device=cpu")
    return torch.device(name)


def load_model(config: ModelConfig, device: torch.device, key: str = "model.path") -> PreTrainedModel:
    """The model, in evaluation mode for training too: without dropout the first ratio of a step is exactly 1."""
    folder = model_folder(config.path, key)
    disable_progress_bar()  # they would break the live table
    try:
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, config.dtype))
    except OSError as error:
        raise _unreadable(config.path, error, key) from None
    model.to(device)  # type: ignore[arg-type]  # the decorator hides the signature
    return model.eval()


def model_config(path: str, key: str = "model.path") -> PretrainedConfig:
    """The configuration of a model; no weights are read. Raises ValueError naming ``key`` if it cannot be had."""
    try:
        return AutoConfig.from_pretrained(model_folder(path, key))
    except OSError as error:
        raise _unreadable(path, error, key) from None


def vocabulary_size(path: str) -> int:
    """Rows of the model's embedding."""
    return int(model_config(path).get_text_config().vocab_size)


def _unreadable(path: str, error: OSError, key: str) -> ValueError:
    why = str(error).splitlines()[0]
    remedy = 'give a local folder, a hub name that this machine can reach, or "tiny"'
    return ValueError(f"{key}={path} cannot be loaded ({why}); {remedy}")
