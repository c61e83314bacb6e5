"""Patches: what they touch, which rung applies them, and that none leads out of the workspace."""

from __future__ import annotations

import pytest

from benchmarks.swebench.patches import PatchError, Touched, apply, reverse, touched

FILES = {"a.py": b"".join(b"line %d\n" % n for n in range(1, 12)), "b.py": b"old\n"}
EDIT = """\
diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -4,3 +4,3 @@
 line 4
-line 5
+line five
 line 6
"""
OTHERS = (
    """\
diff --git a/b.py b/c/d.py
similarity index 100%
rename from b.py
rename to c/d.py
diff --git a/new.py b/new.py
new file mode 100644
--- /dev/null
+++ b/new.py
@@ -0,0 +1 @@
+new
diff --git a/a.py b/a.py
deleted file mode 100644
--- a/a.py
+++ /dev/null
"""
    + "@@ -1,11 +0,0 @@\n"
    + "".join(f"-line {n}\n" for n in range(1, 12))
)


def test_what_a_patch_touches():
    assert touched(OTHERS) == [
        Touched("c/d.py", "b.py"),
        Touched("new.py", None),
        Touched("a.py", "a.py", deleted=True),
    ]
    plain = EDIT.split("\n", 1)[1]
    assert touched(plain) == touched(EDIT) == [Touched("a.py", "a.py")]
    assert touched("no patch") == []


def test_renames_additions_and_deletions():
    assert apply(FILES, OTHERS).files == {"c/d.py": b"old\n", "new.py": b"new\n"}


def test_the_rung_is_told():
    exact = apply(FILES, EDIT)
    assert (exact.rung, exact.files["a.py"].splitlines()[4]) == ("git apply", b"line five")
    shifted = {**FILES, "a.py": FILES["a.py"].replace(b"line 4\n", b"line four\n")}
    with pytest.raises(PatchError, match="git apply: "):
        apply(shifted, EDIT, strict=True)
    loose = apply(shifted, EDIT)
    assert loose.rung == "patch --fuzz=5"
    assert loose.files["a.py"] == shifted["a.py"].replace(b"line 5", b"line five")


def test_a_patch_of_a_file_that_is_no_text():
    lines = b"line \xe9\n", b"line \xe8\n"
    patch = b"--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-%b+%b" % lines
    assert apply({"a.py": lines[0]}, patch.decode(errors="surrogateescape")).files == {"a.py": lines[1]}


def test_a_patch_that_is_in_the_files_can_be_taken_out():
    assert reverse(EDIT, apply(FILES, EDIT).files) == FILES
    with pytest.raises(PatchError, match="not in the files"):
        reverse(EDIT, FILES)


@pytest.mark.parametrize("patch", ["", "rubbish", EDIT.replace("a.py", "none.py"), EDIT.replace("line", "word")])
def test_what_does_not_apply_is_said(patch):
    with pytest.raises(PatchError):
        apply(FILES, patch)


def test_no_patch_leads_outside(tmp_path):
    outside = EDIT.replace("a/a.py", "a/../../out.py").replace("b/a.py", "b/../../out.py")
    link = "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n"
    with pytest.raises(PatchError):
        apply(FILES, outside)
    assert "l" not in apply(FILES, link).files  # a workspace is regular files
