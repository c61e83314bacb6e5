"""Whose credit is right: algorithms and estimators against exact Shapley values. See docs/credit.md.

python -m algorithms.credit_bench --out runs/credit
"""
