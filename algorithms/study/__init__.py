"""Methods compared at equal rollouts: runs, their raw rows, and figures made from the rows. See docs/study.md.

python -m algorithms.study --settings bugs --methods grpo,oracle --seeds 0,1,2
python -m algorithms.study report --rows runs/study/rows.jsonl --page runs/study/study.md
"""
