from flyball_collector.exporter.catalogue import Catalogue, Declaration, header, sample_name
from flyball_collector.exporter.negotiation import ExpositionFormat
from flyball_proto.metric import Kind, counter, gauge, state

SPEED = Declaration.of(gauge("speed", "hertz", ""))
SPEED_BYTES = Declaration.of(gauge("speed", "bytes", ""))
SPEED_TOTAL = Declaration.of(counter("speed", "hertz", ""))


def test_sample_names() -> None:
    """Every sample has the prefix, and a counter's ends in _total, once."""
    assert sample_name(gauge("speed", "hertz", "")) == "flyball_speed"
    assert sample_name(counter("reads", "reads", "")) == "flyball_reads_total"
    assert sample_name(counter("reads_total", "reads", "")) == "flyball_reads_total"


def test_the_first_declaration_is_kept_while_it_is_used() -> None:
    """The order of arrival decides, later calls keep it, and when no host uses it the next one gets the name."""
    catalogue = Catalogue()
    assert catalogue.admit([SPEED, SPEED_BYTES, SPEED_TOTAL]) == {SPEED}
    assert catalogue.admit([SPEED_TOTAL, SPEED_BYTES, SPEED]) == {SPEED}
    assert catalogue.admit([SPEED_TOTAL, SPEED_BYTES]) == {SPEED_TOTAL}


def test_reserved_names_are_refused() -> None:
    """Neither reserved names nor the collector's own prefix can be declared."""
    own = Declaration.of(gauge("collector_anything", "x", ""))
    assert Catalogue([SPEED]).admit([SPEED_BYTES, SPEED_TOTAL, own]) == set()


def test_states_agree_in_their_common_part() -> None:
    """A longer list of states agrees with its beginning, but not with another order."""
    short, long, other = (
        Declaration.of(state("link", "", words)) for words in (("down", "up"), ("down", "up", "new"), ("up", "down"))
    )
    assert Catalogue().admit([short, long, other]) == {short, long}


def test_the_header_follows_the_format() -> None:
    """Text names a counter by its samples, OpenMetrics without _total; an empty help text is replaced."""
    text = header("flyball_reads_total", Kind.COUNTER, "Reads.", (), ExpositionFormat.TEXT)
    openmetrics = header("flyball_reads_total", Kind.COUNTER, "", (), ExpositionFormat.OPENMETRICS)
    assert text == b"\n# HELP flyball_reads_total Reads.\n# TYPE flyball_reads_total counter"
    assert openmetrics == b"\n# HELP flyball_reads No help.\n# TYPE flyball_reads counter"
