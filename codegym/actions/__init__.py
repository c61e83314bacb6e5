"""Action formats: how a reply says what to do. See :mod:`codegym.actions.base`; importing this registers ours."""

from codegym.actions import apply_patch as apply_patch
from codegym.actions import bash as bash
from codegym.actions import search_replace as search_replace
from codegym.actions import tool_call as tool_call
from codegym.actions import udiff as udiff
from codegym.actions import xml as xml
