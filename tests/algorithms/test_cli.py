"""Reading a run's configuration: order of sources, misspelt keys, wrong types, help."""

import pytest

from algorithms.core.cli import ConfigError, describe, load_algorithm, main, resolve, to_yaml

GRPO = load_algorithm("grpo")


def test_later_sources_win(tmp_path):
    file = tmp_path / "run.yaml"
    file.write_text("optim:\n  lr: 0.25\nloss:\n  kl_coef: 0.5\n")
    assert resolve(GRPO).loss.kl_coef == GRPO.loss_defaults["kl_coef"]
    config = resolve(GRPO, ["optim.lr=0.125"], str(file))
    assert (config.optim.lr, config.loss.kl_coef) == (0.125, 0.5)


def test_a_method_prescribes_other_sections_too_and_the_command_line_still_wins(tmp_path):
    ppo = load_algorithm("ppo")
    assert resolve(ppo).critic.enabled
    assert not resolve(ppo).rollout.dynamic_sampling
    assert resolve(ppo, ["rollout.dynamic_sampling=true"]).rollout.dynamic_sampling
    file = tmp_path / "run.yaml"
    file.write_text(to_yaml(resolve(ppo, ["loss.clip_ratio_c=inf"])))
    assert resolve(ppo, file=str(file)) == resolve(ppo)


def test_what_is_printed_can_be_read_back(tmp_path):
    config = resolve(GRPO, ["trainer.seed=7", "env.kwargs.n_bugs=1"])
    file = tmp_path / "run.yaml"
    file.write_text(to_yaml(config))
    assert resolve(GRPO, file=str(file)) == config


def test_another_task_puts_the_built_in_one_aside(tmp_path):
    built_in = resolve(GRPO, ["env.kwargs.n_bugs=2"])
    assert built_in.env.kwargs["functions"] == 4
    program = resolve(GRPO, ["env.kwargs.level=program", "env.kwargs.n_bugs=2"])
    assert program.env.kwargs == {"level": "program", "n_bugs": 2}
    assert program.rollout.max_response_tokens > built_in.rollout.max_response_tokens
    assert resolve(GRPO, ["env.id=other/Task-v0"]).env.kwargs == {}
    file = tmp_path / "run.yaml"
    file.write_text(to_yaml(program))
    assert resolve(GRPO, file=str(file)) == program


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("optim.lrr=1", "optim.lrr .* did you mean optim.lr"),
        ("clip_ratio_low=0.1", "did you mean loss.clip_ratio_low"),
        ("nonsense=1", "nonsense .* is not a setting"),
        ("trainer.steps=many", "trainer.steps"),
        ("trainer.steps", "write key=value"),
    ],
)
def test_a_setting_that_cannot_be_used_names_the_remedy(override, message):
    with pytest.raises(ConfigError, match=message):
        resolve(GRPO, [override])


def test_options_may_stand_between_settings(tmp_path, capsys):
    assert main("grpo", ["rollout.n=4", "--dry-run", "trainer.steps=3", f"trainer.run_dir={tmp_path}"]) == 0
    assert "steps: 3" in capsys.readouterr().out


def test_unknown_key_in_a_file(tmp_path):
    file = tmp_path / "run.yaml"
    file.write_text("rollout:\n  temprature: 1\n")
    with pytest.raises(ConfigError, match=r"rollout.temprature \(from .*run.yaml\).*rollout.temperature"):
        resolve(GRPO, file=str(file))


def test_missing_file_and_unknown_algorithm():
    with pytest.raises(ConfigError, match="no such file"):
        resolve(GRPO, file="/nowhere.yaml")
    with pytest.raises(ConfigError, match="no algorithm 'nope'"):
        load_algorithm("nope")


@pytest.mark.parametrize(
    ("text", "says"),
    [("a: [", r"run.yaml, line \d: no YAML"), ("trainer: 3", r"trainer \(from .*write trainer\.NAME=value")],
)
def test_a_file_that_is_no_settings_is_named(tmp_path, text, says):
    (tmp_path / "run.yaml").write_text(text)
    with pytest.raises(ConfigError, match=says):
        resolve(GRPO, file=str(tmp_path / "run.yaml"))


def test_errors_are_one_line_and_status_2(capsys):
    assert main("grpo", ["rollout.n=1", "model.path=/nowhere"]) == 2
    assert capsys.readouterr().err == (
        "error: rollout.n=1: a group of one has no one to be compared with; use at least 2\n"
    )


@pytest.mark.parametrize(
    ("name", "settings", "says"),
    [
        (
            "reinforce_pp",
            ["algorithm.baseline=true"],
            "takes its KL as a k2 term of the loss, not as",
        ),
        ("grpo", ["critic.enabled=true"], "learns nothing from a critic"),
        ("grpo", ["critic.lr=0.1"], "critic.lr=0.1 does nothing without critic.enabled=true"),
        ("didpo", ["algorithm.eta=0.5"], "algorithm.eta=0.5 does nothing with algorithm.estimator=regression"),
        ("didpo", ["algorithm.estimator=shapley", "algorithm.judge=x-v0"], "algorithm.judge=x-v0: "),
        ("hgpo", ["algorithm.depth=0", "algorithm.alpha=2"], "algorithm.alpha=2.0 does nothing"),
        ("cispo", ["loss.clip_ratio_c=5"], "loss.clip_ratio_c=5.0 does nothing with loss.surrogate=cispo; leave it"),
        ("grpo", ["loss.kl_coef=0", "loss.kl_type=k1"], "loss.kl_type=k1 does nothing with loss.kl_coef=0; leave it"),
        ("dapo", ["loss.kl_in=reward"], "loss.kl_in=reward does nothing with loss.kl_coef=0; leave it out"),
        ("rloo", ["rollout.max_refills=9"], "rollout.max_refills=9 does nothing with rollout.dynamic_sampling=false"),
    ],
)
def test_what_would_do_nothing_is_refused_by_a_dry_run(name, settings, says, tmp_path, capsys):
    assert main(name, [*settings, "--dry-run", f"trainer.run_dir={tmp_path / 'run'}"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert says in shown.err
    assert shown.err.count("\n") == 1


@pytest.mark.parametrize(
    "setting", ["optim.beta1=2", "optim.beta2=1", "optim.beta1=nan", "optim.weight_decay=-1", "optim.lr=inf"]
)
def test_an_optimiser_that_could_not_work_is_refused(setting, tmp_path, capsys):
    assert main("grpo", [setting, "--dry-run", f"trainer.run_dir={tmp_path / 'run'}"]) == 2
    key, _, value = setting.partition("=")
    assert f"{key}={float(value)} must be " in capsys.readouterr().err


def test_a_critic_that_cannot_be_read_is_called_by_its_own_name(tmp_path, capsys):
    (tmp_path / "config.json").write_text("{")
    for path, says in ((tmp_path / "none", "no such folder"), (tmp_path, "cannot be loaded")):
        assert main("ppo", [f"critic.path={path}", "--dry-run", f"trainer.run_dir={tmp_path / 'run'}"]) == 2
        shown = capsys.readouterr().err
        assert shown.startswith(f"error: critic.path={path}"), shown
        assert says in shown


def test_a_method_s_own_file_is_taken_back(tmp_path, capsys):
    """What a dry run prints names every setting, also those that do nothing in this method."""
    for name in ("cispo", "rloo", "reinforce_pp"):
        for own in ([], ["loss.kl_coef=0"]):
            assert main(name, [*own, "--dry-run", f"trainer.run_dir={tmp_path / 'run'}"]) == 0
            (tmp_path / "run.yaml").write_text(capsys.readouterr().out)
            resolve(load_algorithm(name), file=str(tmp_path / "run.yaml"))


def test_reinforce_pp_with_a_baseline_and_its_kl_is_taken(tmp_path, capsys):
    for own in (["loss.kl_in=loss", "loss.kl_type=k2"], ["loss.kl_coef=0"]):
        assert main("reinforce_pp", ["algorithm.baseline=true", *own, "--dry-run", f"trainer.run_dir={tmp_path}"]) == 0
    assert "baseline: true" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["grpo", "gigpo", "didpo", "ppo", "reinforce_pp"])
def test_help_explains_every_setting(name, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(name, ["--help"])
    assert exit_.value.code == 0
    shown = capsys.readouterr().out
    for key, _, text in describe(resolve(load_algorithm(name))):
        assert f"  {key}=" in shown
        assert text, f"{key} has no explanation"
        assert text in shown
