"""The bash format: one fenced shell block, and the shell text in which a fence is no fence."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegym.actions import shell
from codegym.actions.base import Action, Text, Write, get
from codegym.spans import reply_text
from tests.pace import at_most

BASH = get("bash")


def command(reply: str) -> str:
    action = BASH.parse(reply)
    assert (action.kind, action.error) == ("shell", None)
    return action.command


def error(reply: str) -> str:
    action = BASH.parse(reply)
    assert action.kind == "invalid"
    assert action.error is not None
    return action.error


@pytest.mark.parametrize("label", ["bash", "sh", "shell", "mswea_bash_command", "bash title"])
def test_one_block(label):
    assert command(f"I look.\n\n```{label}\nls -la\n```\nThen.") == "ls -la"


def test_text_stays_as_it_is():
    assert command("```bash\n  a\n\tb\n\n```") == "  a\n\tb\n"
    assert command("```bash\r\na\r\n```\r\n") == "a"
    assert command("~~~sh\nls\n~~~~") == "ls"


HEREDOC = "cat > README.md <<'EOF'\n```python\nprint(1)\n```\n```sh\nls\n```\nEOF"


def test_fences_in_heredocs_and_quotes_are_text():
    for text in (
        HEREDOC,
        HEREDOC.replace("<<'EOF'", "<<-EOF").replace("\nEOF", "\n\tEOF"),
        HEREDOC.replace("'EOF'", '"EOF"'),
        "cat <<A <<B\n```\nA\n```\nB",
        "git commit -m \"$(cat <<'E'\n```\nx\n```\nE\n)\"",
        "python -c '\n```\n'",
        'echo "\n```\n"',
        "echo $'\\'\n```\n'",
    ):
        assert command(f"```bash\n{text}\n```\nand\n```\nmore\n```") == text


def test_what_is_no_heredoc():
    for text in (
        'echo "a << b"',
        "echo 'a << b'",
        "echo $((1 << 2))",
        "((x = 1 << 2))",
        "cat <<< word",
        "# don't << x",
        "echo a \\<\\< b",
        'echo \\"',
        "echo ${#a}",
    ):
        assert command(f"```bash\n{text}\n```\nIt's\n```\nmore\n```") == text


def test_a_longer_fence_holds_anything():
    assert command("````bash\n```\n'\n````") == "```\n'"


def test_the_end():
    assert BASH.parse("```bash\nsubmit\n```") == Action("submit")
    theirs = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && git add -A && git diff --cached"
    assert BASH.parse(f"```bash\n{theirs}\n```") == Action("submit")
    assert command("```bash\nsubmit now\n```") == "submit now"


def test_other_blocks_and_reasoning_are_words():
    real = "```bash\nls\n```"
    assert command(f"```python\nprint(1)\n```\n{real}") == "ls"
    assert command(f"````markdown\n```bash\nrm\n```\n````\n{real}") == "ls"
    assert command(f"<think>```bash\nrm\n```</think>\n{real}") == "ls"
    assert command(f"```bash\nrm\n```\n</think>\n{real}") == "ls"


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("", "no action"),
        ("ls", "no action"),
        ("```\nls\n```", "no action"),
        ("```bash\nls\n```\n```sh\nls\n```", "two actions"),
        ("```bash\nls", "ends inside the ```bash block"),
        ("```bash", "ends inside the ```bash block"),
        ("```python\nls", "ends inside the ```python block"),
        (f"```bash\n{HEREDOC[:-4]}\n```", "the heredoc <<EOF in it is open"),
        (f"```bash\n{HEREDOC[:-4]}", "the heredoc <<EOF in it is open"),
        ("```bash\necho 'a\n```\nIt is.", "a single quote in it is open"),
        ("```bash\n\n```", "is empty"),
        ("<think>```bash\nls\n```", "ends inside <think>"),
    ],
)
def test_errors_say_what_is_wrong(reply, words):
    assert words in error(reply)


def test_a_stray_quote_is_for_the_shell():
    assert command("```bash\necho it's\n```\n") == "echo it's"


PIECES = ["```", "```bash\n", "\n", "'", '"', "<<E", "<<'E'", "\nE\n", "$(", ")", "((", "))", "#", "\\", "a", " ",
          "~~~", "<think>", "</think>", "submit", "\udcff", "`", "$'"]  # fmt: skip
ANY = st.one_of(st.text(st.characters()), st.lists(st.sampled_from(PIECES)).map("".join))


@settings(max_examples=50, deadline=None)
@given(ANY)
def test_any_text_gives_an_action(reply):
    action = BASH.parse(reply)
    assert (action.kind == "invalid") == (action.error is not None)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from(PIECES)).map("".join) | st.binary(max_size=20).map(reply_text))
def test_what_is_rendered_reads_back(text):
    action = Action("shell", command=text)
    try:
        reply = BASH.render(action)
    except ValueError:
        assert not text.strip() or text.strip() == "submit"  # what the format cannot say, and nothing else
        return
    assert BASH.parse(reply) == action


def test_what_cannot_be_written_is_refused():
    for action in (Action("invalid"), Action("shell"), Action("edit", (Write("a", Text(b"x")),))):
        with pytest.raises(ValueError, match="bash format cannot write"):
            BASH.render(action)
    assert BASH.parse(BASH.render(Action("submit"))) == Action("submit")


@pytest.mark.parametrize("unit", ["```bash\n", "`", "<<E\n", "<<'", "$(", "'", '"', "((", "\\", "\n```\n'", "<think>"])
def test_time_is_linear_in_the_length(unit):
    with at_most(150):
        BASH.parse("```bash\n" + unit * (20_000 // len(unit)))
        BASH.parse("```bash\n" + unit * (20_000 // len(unit)) + "\n```\n")


def test_regions_name_what_they_are():
    data = b"echo 'a' \"b\" <<E\nc\nE\nd"
    found = [(data[slice(*region.span)], region.name, region.open) for region in shell.regions(data, 0)]
    assert found == [
        (b"'a'", "a single quote", False),
        (b'"b"', "a double quote", False),
        (b"c\nE", "the heredoc <<E", False),
    ]
