"""Training on codegym's environments: DiDPO and the baselines."""
