"""The tokens of every anchor against the tokenizer's own offsets, on three kinds of vocabulary."""

from __future__ import annotations

import numpy as np
import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from algorithms.core.tokens import token_bytes
from algorithms.didpo.anchors import find_anchors
from algorithms.didpo.project import tokens_of
from tests.algorithms.planted_blocks import planted_blocks

GROUP, _ = planted_blocks(2, 4, turns=1)
TEXT = "größte = 'straße'  # 数字\n"


def replies():
    """Replies of a group with letters beyond ASCII in the lines between the anchors' lines."""
    return [own.turns[0].reply.decode().replace("    return", f"    {TEXT}    return") for own in GROUP]


def byte_level():
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=500, initial_alphabet=alphabet, show_progress=False)
    bpe.train_from_iterator(replies(), trainer)
    return PreTrainedTokenizerFast(tokenizer_object=bpe)


def sentencepiece():
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    bpe.decoder = decoders.Metaspace(prepend_scheme="never")
    bpe.train_from_iterator(replies(), trainers.BpeTrainer(vocab_size=500, show_progress=False))
    return PreTrainedTokenizerFast(tokenizer_object=bpe)


def byte_fallback():
    letters = sorted({"\u2581", *"".join(replies()).replace(" ", "\u2581")} - set("öß数字"))
    pieces = [f"<0x{byte:02X}>" for byte in range(256)] + letters + ["\u2581" * 2, "\u2581" * 4, "re", "ret"]
    merges = [("\u2581", "\u2581"), ("\u2581" * 2, "\u2581" * 2), ("r", "e"), ("re", "t")]
    bpe = Tokenizer(models.BPE(vocab={piece: k for k, piece in enumerate(pieces)}, merges=merges, byte_fallback=True))
    bpe.normalizer = normalizers.Replace(" ", "\u2581")
    bpe.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    return PreTrainedTokenizerFast(tokenizer_object=bpe)


@pytest.mark.parametrize("kind", [byte_level, sentencepiece, byte_fallback])
def test_tokens_of_every_anchor_are_those_of_the_offsets(kind):
    tokenizer = kind()
    table = token_bytes(tokenizer)
    checked = 0
    anchors = find_anchors(GROUP)
    for own, reply in zip(GROUP, replies(), strict=True):
        data, plain = reply.encode(), own.turns[0].reply
        found = tokenizer(reply, add_special_tokens=False, return_offsets_mapping=True)
        assert b"".join(table[i] for i in found["input_ids"]) == data
        ends = np.cumsum([len(table[i]) for i in found["input_ids"]])
        at = np.cumsum([0, *(len(character.encode()) for character in reply)])  # the byte of each character
        for anchor in anchors:
            for occurrence in anchor.occurrences:
                if occurrence.member != own.member:
                    continue
                text = plain[slice(*occurrence.span)]
                written = text.replace(b"    return", f"    {TEXT}    return".encode())
                start = data.index(written)
                first, last = tokens_of(type(occurrence.span)(start, start + len(written)), ends)
                for k, (a, b) in enumerate(found["offset_mapping"]):
                    if start <= at[a] and at[b] <= start + len(written):
                        assert first <= k < last
                    elif at[b] <= start or at[a] >= start + len(written):
                        assert not first <= k < last
                checked += 1
    assert checked > 10
