"""Findings are compared with judgements by rule and place."""

from hypothesis import given
from hypothesis import strategies as st

from tests.benchmarks.audit_judged.cases import Case, Fault, Part, Place, Verdict
from tests.benchmarks.audit_judged.score import Score, Spot, score, together

RULE, OTHER = "retained-graph", "data-parallel"


def _case(*faults: Fault, verdicts: tuple[Verdict, ...] = ()) -> Case:
    return Case("owner/name", "abc", Part.KEPT, ("train.py",), faults, verdicts)


def _spot(line: int, rule: str = RULE, *, warns: bool = True) -> Spot:
    return Spot(rule, Place("train.py", None, line), warns)


def test_a_fault_is_found_by_its_rule_near_one_of_its_lines() -> None:
    """Another rule, or a place too far off, finds nothing; a note finds as well as a warning does."""
    case = _case(Fault(RULE, ("train.py:10", "train.py:40"), confirmed="thread"))
    for told, found in (([_spot(12)], 1), ([_spot(40, warns=False)], 1), ([_spot(13)], 0), ([_spot(10, OTHER)], 0)):
        result = score(case, told, {})
        assert (result.recall.hits, result.recall_of_confirmed.hits) == (found, found)
        assert result.recall.of == 1


def test_warnings_are_right_on_faults_and_as_judged_elsewhere() -> None:
    """What nobody judged counts against the audit; notes are no warnings."""
    verdicts = (Verdict(RULE, "train.py:20", True, "so"), Verdict(OTHER, "train.py:30", False, "no"))
    case = _case(Fault(RULE, ("train.py:10",)), verdicts=verdicts)
    told = [_spot(9), _spot(20), _spot(30, OTHER), _spot(50), _spot(60, warns=False)]
    result = score(case, told, {})
    assert [len(each) for each in (result.right, result.wrong, result.unjudged)] == [2, 1, 1]
    assert (result.precision.hits, result.precision.of) == (2, 4)


def test_a_mended_fault_must_not_be_told_where_it_was_mended() -> None:
    """A finding of the rule elsewhere in the mended file is no matter; without that file nothing is said."""
    case = _case(Fault(RULE, ("train.py:10",), fixed="def", fixed_at="train.py:11"))
    assert score(case, [], {}).mended.of == 0
    assert score(case, [], {"def": [_spot(30), _spot(11, OTHER)]}).mended.hits == 1
    assert score(case, [], {"def": [_spot(12)]}).stayed == ("owner/name: retained-graph at train.py:10",)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)), max_size=5))
def test_many_scores_add_up(counts: list[tuple[int, int, int]]) -> None:
    """Nothing is lost between cases and whole."""
    scores = [
        Score(found=("f",) * found, missed=("m",) * missed, unjudged=("u",) * new) for found, missed, new in counts
    ]
    whole = together(scores)
    assert whole.recall.hits == sum(found for found, _, _ in counts)
    assert whole.recall.of == sum(found + missed for found, missed, _ in counts)
    assert whole.precision.of == sum(new for _, _, new in counts)
