"""The text spaces, alone."""

from __future__ import annotations

import copy
import json
import pickle

import pytest
from gymnasium.vector.utils import batch_space, iterate

from codegym import actions
from codegym.spaces import ReplySpace, TextSpace


@pytest.mark.parametrize("text", ["", " ", "a\nb\r\n", "é\u2028\x00", "\udcff", "a\ud800b", "x" * 100_000])
@pytest.mark.parametrize("space", [TextSpace(), ReplySpace("xml")], ids=repr)
def test_any_str_is_in(space, text):
    assert text in space
    assert space.from_jsonable(json.loads(json.dumps(space.to_jsonable([text])))) == [text]


@pytest.mark.parametrize("other", [b"x", 1, None, ["x"]])
def test_nothing_else_is_in(other):
    assert other not in TextSpace()


def test_samples_are_seeded_and_mixed():
    space, again = ReplySpace("xml", seed=7), ReplySpace("xml", seed=7)
    samples = [space.sample() for _ in range(300)]
    assert samples == [again.sample() for _ in range(300)]
    assert all(sample in space for sample in samples)
    parse = actions.base.get("xml").parse
    kinds = [parse(sample).kind for sample in samples]
    assert {kind: kinds.count(kind) > 10 for kind in ("edit", "shell", "submit", "invalid")} == dict.fromkeys(
        ("edit", "shell", "submit", "invalid"), True
    )


def test_masks_are_refused():
    for space in (TextSpace(), ReplySpace()):
        with pytest.raises(ValueError, match="no mask"):
            space.sample(mask=[1])


def test_equality_and_pickling():
    assert TextSpace() == TextSpace()
    assert ReplySpace("xml") == ReplySpace("xml")
    assert ReplySpace("xml") != ReplySpace("bash")
    assert TextSpace() != ReplySpace("xml")
    assert ReplySpace("xml") != TextSpace()
    assert len({ReplySpace("xml"), ReplySpace("xml"), TextSpace()}) == 2
    space = ReplySpace("xml", seed=3)
    for twin in (pickle.loads(pickle.dumps(space)), copy.deepcopy(space)):
        assert twin == space
    expected = copy.deepcopy(space).sample()
    assert pickle.loads(pickle.dumps(space)).sample() == expected


def test_batches():
    batch = batch_space(ReplySpace("xml", seed=1), 3)
    assert ("a", "b\n", "") in batch
    assert list(iterate(batch, ("a", "b\n", ""))) == ["a", "b\n", ""]
    assert batch.sample() in batch
