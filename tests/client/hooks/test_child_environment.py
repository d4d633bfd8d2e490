"""The environment of a command under `flyball run`."""

import os

from flyball.hooks.child_environment import SITE_FOLDER, child_environment, without_coercion


def test_our_folder_is_the_first_on_pythons_path() -> None:
    """The user's folders follow. An empty entry would mean the current folder, and nesting adds nothing."""
    alone = child_environment({}, name="a", labels=())
    assert alone["PYTHONPATH"] == SITE_FOLDER
    both = child_environment({"PYTHONPATH": f"/x{os.pathsep}/y"}, name="a", labels=())
    assert both["PYTHONPATH"].split(os.pathsep) == [SITE_FOLDER, "/x", "/y"]
    assert child_environment(both, name="a", labels=())["PYTHONPATH"] == both["PYTHONPATH"]


def test_name_labels_and_numbers_are_passed_in_variables() -> None:
    """Labels of the environment stay; numbers of an outer `flyball run` do not."""
    outer = child_environment(
        {"FLYBALL_LABELS": "team=nlp"}, name="a", labels=(), total_steps=7, measure=50, evidence="/e", policy="ask"
    )
    assert (outer["FLYBALL_TOTAL_STEPS"], outer["FLYBALL_MEASURE"], outer["FLYBALL_EVIDENCE"]) == ("7", "50", "/e")
    assert outer["FLYBALL_POLICY"] == "ask"
    inner = child_environment(outer, name="b", labels=("ticket=1", "x=y"))
    assert inner["FLYBALL_RUN"] == "b"
    assert inner["FLYBALL_LABELS"] == "team=nlp,ticket=1,x=y"
    assert not {"FLYBALL_TOTAL_STEPS", "FLYBALL_MEASURE", "FLYBALL_EVIDENCE", "FLYBALL_POLICY"} & set(inner)
    assert "FLYBALL_LABELS" not in child_environment({}, name="a", labels=())


def test_the_locale_that_python_sets_for_itself_is_not_passed_on() -> None:
    """In the C locale Python sets LC_CTYPE, which the command would not have seen. A value of the user stays."""
    here = {"LC_CTYPE": "C.UTF-8", "HOME": "/root"}
    assert without_coercion(here, b"HOME=/root\0XLC_CTYPE=1\0") == {"HOME": "/root"}
    assert without_coercion(here, b"HOME=/root\0LC_CTYPE=C.UTF-8\0") == here
    assert without_coercion(here, None) == here
