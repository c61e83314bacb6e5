"""Bytes of tokens and prompts that extend each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from algorithms.core.tokens import PLAIN_TEMPLATE, Chat, token_bytes
from tests.algorithms.training_for_tests import END, TEMPLATE, make_tokenizer

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
FORGETFUL = CHATML.replace("{{ m['content'] }}", "{{ m['content'].split('</think>')[-1].strip() }}")


def trained(template: str | None = None) -> PreTrainedTokenizerFast:
    """Byte-level BPE with merges, a tag of its own that is no special token, and ChatML's special ones."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    special = ["<|im_start|>", "<|im_end|>", "<|endoftext|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    bpe.train_from_iterator(["return the größte 数字 of x ; return the value of y \U0001f600"] * 20, trainer)
    bpe.add_tokens([AddedToken("<édit>", normalized=False, special=False)])
    return PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token="<|endoftext|>", chat_template=template)


BYTE_LEVEL = trained(CHATML)
CHAT = Chat(BYTE_LEVEL)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_bytes_of_byte_level_tokens_are_those_of_the_text(text: str) -> None:
    ids = BYTE_LEVEL(text + "<édit>" + text, add_special_tokens=False)["input_ids"]
    reply, ends = CHAT.decode(ids)
    assert reply == (text + "<édit>" + text).encode()
    assert ends[-1] == len(reply)
    assert (np.diff(ends) >= 0).all()


@given(st.lists(st.integers(0, len(BYTE_LEVEL) + 5), max_size=30))
def test_any_sampled_ids_have_exact_bytes(ids: list[int]) -> None:
    """S6: also sequences that no text encodes to, bytes that are no UTF-8, and ids beyond the vocabulary."""
    reply, ends = CHAT.decode(ids)
    table = token_bytes(BYTE_LEVEL)
    starts = [0, *ends.tolist()]
    for k, i in enumerate(ids):
        assert reply[starts[k] : starts[k + 1]] == (table[i] if i < len(table) else b"")
    assert CHAT.text(ids).encode("utf-8", "surrogateescape") == reply


def test_special_tokens_have_no_bytes_and_other_added_ones_have() -> None:
    table = token_bytes(BYTE_LEVEL)
    assert table[BYTE_LEVEL.convert_tokens_to_ids("<|im_end|>")] == b""
    assert table[BYTE_LEVEL.convert_tokens_to_ids("<édit>")] == "<édit>".encode()
    assert sorted(b for b in table if len(b) == 1) == [bytes([k]) for k in range(256)]


def test_sentencepiece_spaces_and_byte_fallback() -> None:
    vocab = {"<unk>": 0, "</s>": 1, "\u2581": 2, "a": 3, "\u2581a": 4, "<0xC3>": 5, "<0xA9>": 6, "\u00e9": 7}
    merges = [("\u2581", "a")]
    bpe = Tokenizer(models.BPE(vocab=vocab, merges=merges, unk_token="<unk>", byte_fallback=True))
    bpe.normalizer = normalizers.Replace(" ", "\u2581")
    bpe.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    bpe.add_special_tokens(["<unk>", "</s>"])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token="</s>", unk_token="<unk>")
    assert token_bytes(tokenizer)[1:] == [b"", b" ", b"a", b" a", b"\xc3", b"\xa9", "\u00e9".encode()]


def test_a_tokenizer_without_bytes_is_refused() -> None:
    wordpiece = Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1, "##b": 2}, unk_token="[UNK]"))
    wordpiece.decoder = decoders.WordPiece()
    with pytest.raises(ValueError, match=r"model\.path: .*WordPiece"):
        token_bytes(PreTrainedTokenizerFast(tokenizer_object=wordpiece, unk_token="[UNK]"))


@pytest.mark.parametrize(
    ("tokenizer", "end"),
    [(make_tokenizer(TEMPLATE), END), (trained(CHATML), "<|im_end|>"), (trained(PLAIN_TEMPLATE), "<|endoftext|>")],
    ids=["tiny", "chatml", "plain"],
)
def test_a_later_prompt_extends_the_earlier_one_and_reads_as_the_template(tokenizer, end: str) -> None:
    chat = Chat(tokenizer)
    assert chat.extends
    end_id = tokenizer.convert_tokens_to_ids(end)
    assert end_id in chat.stop_ids
    prompt = chat.first("fix it")
    for complete in (True, False):
        # 'r', 'e': never merged here, as no text would be encoded; ended by its token or cut by the limit
        sampled = [*tokenizer.convert_tokens_to_ids(["r", "e"]), *([end_id] if complete else [])]
        later = chat.next(prompt, sampled, "2 fail")
        assert later[: len(prompt) + len(sampled)] == [*prompt, *sampled]
        messages = [
            {"role": "user", "content": "fix it"},
            {"role": "assistant", "content": "re"},
            {"role": "user", "content": "2 fail"},
        ]
        right = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        assert tokenizer.decode(later) == right


def test_a_template_that_rewrites_history_is_rendered_again() -> None:
    chat = Chat(trained(FORGETFUL))
    assert not chat.extends
    prompt = chat.first("fix it")
    reply = chat.tokenizer("<think>hm</think>done", add_special_tokens=False)["input_ids"]
    later = chat.next(prompt, reply, "2 fail", history=["fix it", "<think>hm</think>done"])
    text = chat.tokenizer.decode(later)
    assert "hm" not in text
    assert text.count("done") == text.count("2 fail") == text.count("fix it") == 1


def test_an_observation_that_is_no_utf8_still_encodes() -> None:
    assert CHAT.first("caf\udce9") == CHAT.first("caf\ufffd")
