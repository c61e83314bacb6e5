"""The tokenizer of the built-in model: byte-level BPE over the texts of tiny repair tasks, trained in seconds.

::

    tokenizer = train_tokenizer()                       # a transformers fast tokenizer with a chat template
    ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True)

Any text encodes, and decodes to the same bytes. Tags of the ``xml`` action format are one token each and never
part of another, so that the tokens that name a place, write the content and end it are told apart. The pieces of
code are words, numbers and the signs between them (``return``, `` x``, `` + ``, ``3``): what a bug changes is one
or two tokens.
"""

from __future__ import annotations

from collections.abc import Iterator

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from algorithms.sft.demonstrations import Habits, demonstrate
from benchmarks.repair.tiny import make_task

USER, AGENT, END, PAD = "<|user|>", "<|agent|>", "<|end|>", "<|pad|>"
TAGS = (
    '<file path="m.py">\n',
    "</file>",
    '\n<edit path="m.py">\n<search>',
    "</search>\n<replace>",
    "</replace>",
    "\n</edit>\n",
    "\n</edit>",
    "<submit/>",
)
VOCABULARY = 640  # 256 bytes, the tags, and all words of the tiny rules; more merges would only join rare numbers
CORPUS_TASKS = 1500  # of every kind of function dozens; more changes no merge that matters
# A word with the space before it and a digit after it (` f0`), a number of one or two digits, or a run of signs.
_PIECES = r" ?[A-Za-z_]+[0-9]?| ?[0-9]{1,2}|[^A-Za-z0-9_]+"
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{% if message['role'] == 'assistant' %}{{ '<|agent|>' + message['content'] + '<|end|>' }}"
    "{% else %}{{ '<|user|>' + message['content'] }}{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|agent|>' }}{% endif %}"
)


def train_tokenizer() -> PreTrainedTokenizerFast:
    """Train the tokenizer on generated conversations. Always the same result."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    bpe.decoder = decoders.ByteLevel()
    special = [PAD, USER, AGENT, END]
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY - len(TAGS),
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(_texts(), trainer)
    bpe.add_tokens([AddedToken(tag, normalized=False, special=False) for tag in TAGS])
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        pad_token=PAD,
        eos_token=END,
        additional_special_tokens=[USER, AGENT],
        chat_template=CHAT_TEMPLATE,
        clean_up_tokenization_spaces=False,
        model_max_length=2048,
    )


def _texts() -> Iterator[str]:
    for index in range(CORPUS_TASKS):
        task = make_task("train", index, n_bugs=2, functions=4)
        for message in demonstrate(task, index, Habits()):
            text = message["content"]
            for tag in TAGS:  # the tags have tokens of their own, so the merges need not learn them
                text = text.replace(tag, "\0")
            yield from text.split("\0")
