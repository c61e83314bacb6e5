"""From text to ids and from sampled ids to exact bytes.

Two things are needed of a tokenizer and neither is re-tokenisation of what the policy wrote. The bytes of every
vocabulary entry: the bytes of a reply are those of the sampled ids one after the other, so the byte at which each
token ends is a cumulative sum. And prompts of many turns that extend each other id by id::

    chat = Chat(load_tokenizer("tiny"))
    prompt = chat.first("Fix the bug ...")
    reply, ends = chat.decode(sampled)                  # bytes, int64 [T]
    prompt = chat.next(prompt, sampled, "2 tests fail") # starts with prompt + sampled, if chat.extends

Where a chat template rewrites what was said before (some drop the thoughts of earlier turns), ``chat.extends`` is
false, ``next`` renders the conversation again, and each turn becomes a training row of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from transformers import AutoTokenizer, GenerationConfig, PreTrainedTokenizerBase

from algorithms.core.model import model_folder
from codegym.spans import reply_bytes, reply_text

#: For base models, which have no template: a heading per message, and the end token after what the model says.
PLAIN_TEMPLATE = (
    "{% for message in messages %}"
    "{% if message['role'] == 'assistant' %}{{ message['content'] + eos_token + '\n\n' }}"
    "{% else %}{{ '### User\n' + message['content'] + '\n\n### Assistant\n' }}{% endif %}"
    "{% endfor %}"
)

# Three kinds of reply that a template may change when it is history: plain, with thoughts, with space around it.
_REPLIES = ("reply-one", "<think>\nthought\n</think>\n\nreply-two")
_OBSERVATION = "observation-"


def load_tokenizer(path: str) -> PreTrainedTokenizerBase:
    """The tokenizer of ``model.path``, with :data:`PLAIN_TEMPLATE` if it has no chat template."""
    try:
        tokenizer = AutoTokenizer.from_pretrained(model_folder(path))
    except (OSError, KeyError) as error:
        why = str(error).splitlines()[0]
        remedy = "give a folder that holds one, or a hub name that this machine can reach"
        raise ValueError(f"model.path={path}: no tokenizer there ({why}); {remedy}") from None
    if tokenizer.chat_template is None:
        tokenizer.chat_template = PLAIN_TEMPLATE
    return tokenizer


def token_bytes(tokenizer: PreTrainedTokenizerBase) -> list[bytes]:
    """The bytes of every id. Special tokens (``<|end|>``) have none; other added tokens have those of their text.

    Byte-level BPE writes bytes as printable characters; sentencepiece writes a space as U+2581 and rare bytes as
    ``<0xNN>``. Raises ValueError for other kinds (WordPiece), whose text cannot be cut into tokens byte by byte.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise ValueError(
            f"model.path: {type(tokenizer).__name__} has no tokenizer.json; use a model with a fast tokenizer"
        )
    kinds = set(re.findall(r'"type":\s*"(\w+)"', json.dumps(json.loads(backend.to_str())["decoder"])))
    if "ByteLevel" in kinds:
        read = _read_byte_level
    elif kinds & {"ByteFallback", "Metaspace", "Replace"}:
        read = _read_sentencepiece
    else:
        raise ValueError(f"model.path: a tokenizer that decodes by {sorted(kinds) or 'nothing'} has no bytes per token")
    result = [b""] * len(tokenizer)
    added = tokenizer.added_tokens_decoder
    for text, index in tokenizer.get_vocab().items():
        if index in added:
            result[index] = b"" if added[index].special else added[index].content.encode()
        else:
            result[index] = read(text)
    return result


def _byte_characters() -> Mapping[str, int]:
    """How byte-level BPE writes the 256 bytes: printable ones as themselves, the rest from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(printable)]
    return {chr(b): b for b in printable} | {chr(0x100 + k): b for k, b in enumerate(others)}


_BYTE_OF = _byte_characters()


def _read_byte_level(text: str) -> bytes:
    return bytes(_BYTE_OF[character] for character in text)


def _read_sentencepiece(text: str) -> bytes:
    if re.fullmatch(r"<0x[0-9A-F]{2}>", text):
        return bytes([int(text[3:5], 16)])
    return text.replace("\u2581", " ").encode()


@dataclass
class Chat:
    """Conversations as ids, for one tokenizer.

    Attributes:
        extends: each prompt starts with the previous prompt and the ids sampled for it.
        stop_ids: ids that end a reply: the model's end tokens and the token that ends a turn in the template.
    """

    tokenizer: PreTrainedTokenizerBase
    model_path: str | None = None
    extends: bool = field(init=False)
    stop_ids: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        self._bytes = token_bytes(self.tokenizer)
        self._lengths = np.array([len(b) for b in self._bytes], dtype=np.int64)
        parts = self._template_parts()
        self.extends = parts is not None
        self._after_reply, self._after_observation = parts or ("", "")
        self.stop_ids = self._stops()

    def first(self, observation: str) -> list[int]:
        """The prompt of the first turn."""
        return self._ids(self._render([_user(observation)]))

    def next(
        self, prompt: Sequence[int], response: Sequence[int], observation: str, history: Sequence[str] = ()
    ) -> list[int]:
        """The prompt of the following turn.

        Args:
            prompt: the ids of the previous prompt; ``response``: the ids sampled for it.
            history: observation, reply, observation, ..., reply so far; used only if not ``extends``.
        """
        if not self.extends:
            said = [_user(text) if k % 2 == 0 else _assistant(text) for k, text in enumerate(history)]
            return self._ids(self._render([*said, _user(observation)]))
        added = self._ids(self._after_reply + _clean(observation) + self._after_observation)
        if response and added and added[0] == response[-1] and added[0] in self.stop_ids:
            added = added[1:]  # the end of the turn was sampled
        return [*prompt, *response, *added]

    def decode(self, ids: Sequence[int] | np.ndarray) -> tuple[bytes, np.ndarray]:
        """The bytes that sampled ids stand for, and int64 [T], the offset in them at which each token's end."""
        known = [int(i) for i in ids]
        size = len(self._bytes)  # embeddings may be padded beyond the vocabulary; such ids write nothing
        reply = b"".join(self._bytes[i] for i in known if i < size)
        ends = np.cumsum([self._lengths[i] if i < size else 0 for i in known], dtype=np.int64)
        return reply, ends

    def text(self, ids: Sequence[int] | np.ndarray) -> str:
        """The reply as the environment takes it (surrogateescape for bytes that are no UTF-8)."""
        return reply_text(self.decode(ids)[0])

    def _template_parts(self) -> tuple[str, str] | None:
        """What stands after a reply and after an observation, or None if the template changes what was said."""
        start = self._render([_user("start")])
        parts: set[tuple[str, str]] = set()
        for reply in _REPLIES:
            messages, expected = [_user("start")], start
            for k in range(3):
                messages += [_assistant(reply), _user(f"{_OBSERVATION}{k}")]
                full = self._render(messages)
                rest = full[len(expected) :]
                if not full.startswith(expected) or not rest.startswith(reply) or rest.count(f"{_OBSERVATION}{k}") != 1:
                    return None
                before, after = rest[len(reply) :].split(f"{_OBSERVATION}{k}")
                parts.add((before, after))
                expected = full
        return parts.pop() if len(parts) == 1 else None

    def _stops(self) -> tuple[int, ...]:
        stops: set[int] = set()
        if self.tokenizer.eos_token_id is not None:
            stops.add(int(self.tokenizer.eos_token_id))
        if self.model_path is not None:
            try:
                eos = GenerationConfig.from_pretrained(model_folder(self.model_path)).eos_token_id
            except OSError:  # a model without generation_config.json
                eos = None
            stops.update([eos] if isinstance(eos, int) else eos or [])
        lead = self._ids(self._after_reply)[:1]
        added: Mapping[int, Any] = self.tokenizer.added_tokens_decoder
        stops.update(i for i in lead if i in added and added[i].special)
        if not stops:
            raise ValueError("model.path: the tokenizer names no end token; set eos_token in its tokenizer_config.json")
        return tuple(sorted(stops))

    def _render(self, messages: list[dict[str, str]]) -> str:
        text = self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        assert isinstance(text, str)
        return text

    def _ids(self, text: str) -> list[int]:
        return [int(i) for i in self.tokenizer(text, add_special_tokens=False)["input_ids"]]


def _clean(text: str) -> str:
    """Text that a tokenizer takes: bytes that are no UTF-8 become U+FFFD."""
    return reply_bytes(text).decode("utf-8", "replace")


def _user(text: str) -> dict[str, str]:
    return {"role": "user", "content": _clean(text)}


def _assistant(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": _clean(text)}
