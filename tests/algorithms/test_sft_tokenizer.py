"""The tokenizer: any text comes back byte for byte, tags stay whole, conversations stay short."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from algorithms.sft.demonstrations import Habits, demonstrate
from algorithms.sft.tokenizer import AGENT, END, TAGS, USER, train_tokenizer
from benchmarks.repair.tiny import make_task

TOKENIZER = train_tokenizer()
PIECES = [*TAGS, "return x + 3", "\n    ", "f0(12)", "é", "😀", "\0", "\r\n", "  ", "<search>", "</file", "path="]


def encode(text: str) -> list[int]:
    return TOKENIZER(text, add_special_tokens=False)["input_ids"]


@given(st.text() | st.lists(st.sampled_from(PIECES)).map("".join))
@settings(max_examples=300, deadline=None)
def test_any_text_comes_back(text: str) -> None:
    assert TOKENIZER.decode(encode(text)) == text


@given(st.binary())
@settings(max_examples=200, deadline=None)
def test_any_bytes_come_back(data: bytes) -> None:
    text = data.decode("latin-1")
    assert TOKENIZER.decode(encode(text)).encode("latin-1") == data


def test_every_byte_has_a_token_and_every_tag_is_one() -> None:
    assert all(encode(byte) for byte in map(chr, range(256)))
    assert [len(encode(tag)) for tag in TAGS] == [1] * len(TAGS)
    assert [encode("x" + tag + "y")[1] for tag in TAGS] == [encode(tag)[0] for tag in TAGS]
    assert len(TOKENIZER) <= 700


def test_training_is_deterministic() -> None:
    assert train_tokenizer().backend_tokenizer.to_str() == TOKENIZER.backend_tokenizer.to_str()


def test_chat_template_extends_exactly() -> None:
    messages = next(
        m for i in range(50) if len(m := demonstrate(make_task("train", i, n_bugs=3, functions=4), 0, Habits())) == 4
    )
    apply = TOKENIZER.apply_chat_template
    first = apply(messages[:1], add_generation_prompt=True, return_dict=False)
    second = apply(messages[:3], add_generation_prompt=True, return_dict=False)
    assert second[: len(first)] == first
    assert TOKENIZER.decode(first) == USER + messages[0]["content"] + AGENT
    end = TOKENIZER.convert_tokens_to_ids(END)
    assert second[len(first) :][: len(encode(messages[1]["content"])) + 1] == [*encode(messages[1]["content"]), end]
    assert TOKENIZER.eos_token_id == end


def test_conversations_are_short() -> None:
    prompts, replies = [], []
    for index in range(200):
        messages = demonstrate(make_task("test", index, n_bugs=3, functions=4), 0, Habits())
        prompts.append(len(encode(messages[0]["content"])))
        replies += [len(encode(m["content"])) for m in messages[1::2]]
    assert max(prompts) <= 150
    assert max(replies) <= 100


def test_saved_folder_is_the_same_tokenizer(tmp_path: Path) -> None:
    TOKENIZER.save_pretrained(tmp_path, save_jinja_files=False)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    assert isinstance(loaded, PreTrainedTokenizerFast)
    messages = [{"role": "user", "content": "Fix m.py.\n<submit/> é"}, {"role": "assistant", "content": "x"}]
    assert loaded.apply_chat_template(messages, tokenize=False) == TOKENIZER.apply_chat_template(
        messages, tokenize=False
    )
    assert loaded.backend_tokenizer.to_str() == TOKENIZER.backend_tokenizer.to_str()
