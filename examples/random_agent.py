"""A random agent in the environment: the Gymnasium loop, and what `info` says of each turn.

python examples/random_agent.py
"""

import gymnasium

import codegym  # noqa: F401 - registers codegym/Repair-v0


def main(seed: int = 14) -> None:
    env = gymnasium.make("codegym/Repair-v0", level="tiny", max_turns=5, instructions=False)
    env.action_space.seed(seed)
    observation, info = env.reset(seed=seed)
    print(observation)
    over = False
    while not over:
        reply = env.action_space.sample()
        observation, reward, terminated, truncated, info = env.step(reply)
        over = terminated or truncated
        changed = [change.node for file in info["diff"].files for change in file.changes]
        print(f"\nturn {info['turn']}: {info['action']['kind']}, reward {reward:.2f}, changed {changed}")
        print(observation)
    print(f"\nended by {info['stop_reason']}, resolved: {info['resolved']}")
    env.close()


if __name__ == "__main__":
    main()
