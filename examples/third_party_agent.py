"""Somebody else's agent, a plain callable, evaluated over 50 tasks with pass@1.

It need not know this project: text in, text out. Here it is a rule; put a call of your model in its place. The
command `codegym evaluate --agent examples.third_party_agent:agent --set level=tiny` does the same.

    python examples/third_party_agent.py
"""

import re

from codegym.evaluate import evaluate

# Comparisons are the commonest slip, so it makes the first one strict, or lax, and hands in.
FLIP = {"<=": "<", ">=": ">", "<": "<=", ">": ">="}


def agent(observation: str, info: dict) -> str:
    if info["turn"] > 0:
        return "<submit/>"
    path, text = re.search(r'<file path="([^"]*)">\n(.*?)</file>', observation, re.DOTALL).groups()
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.lstrip().startswith("#") and (found := re.search(r"[<>]=?", line)):
            new = line[: found.start()] + FLIP[found.group()] + line[found.end() :]
            return f'<lines path="{path}" first="{number}" last="{number}">\n{new}\n</lines>'
    return "<submit/>"


def main(tasks: int = 50) -> None:
    report = evaluate(agent, "codegym/Repair-v0", tasks=tasks, workers=2, env_kwargs={"level": "tiny"}, progress=False)
    print(report.table())


if __name__ == "__main__":
    main()
