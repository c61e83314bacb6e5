"""The gold agent writes each task's reference solution: a check that a benchmark can be solved through the environment.

It needs the benchmark, since the solution is nothing an agent is shown.

    python examples/gold_agent.py
"""

import gymnasium

import codegym  # noqa: F401 - registers codegym/Repair-v0
from codegym.agents import GoldAgent
from codegym.evaluate import evaluate


def main(tasks: int = 10) -> None:
    options = {"level": "tiny", "n_bugs": "1-3"}
    env = gymnasium.make("codegym/Repair-v0", **options)
    agent = GoldAgent(env.unwrapped.benchmark)
    report = evaluate(agent, "codegym/Repair-v0", tasks=tasks, env_kwargs=options, progress=False)
    env.close()
    print(report.table())
    if report.pass_at(1) < 1:
        raise SystemExit("some task cannot be solved by its own solution")


if __name__ == "__main__":
    main()
