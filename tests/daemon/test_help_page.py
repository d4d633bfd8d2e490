"""The help of daemons and commands."""

import pytest

from flyball_daemon.help_page import DaemonParser, HelpPage

PAGE = HelpPage(
    "flyball x [OPTIONS] FILE",
    "Do something\nwith a file.\n\nMore about it.",
    [
        ("Arguments", [("FILE", "A file.")]),
        ("Options", [("-o, --output FILE", "Where to write."), ("--an-option-with-a-long-name TEXT", "A text.")]),
        ("Commands", []),
    ],
    ["flyball x a", "flyball x a -o b  # write to b"],
)


def test_a_page_has_aligned_sections() -> None:
    """Usage, paragraphs, sections that are not empty, and examples; a long term has a line of its own."""
    assert PAGE.text(80) == (
        "Usage: flyball x [OPTIONS] FILE\n\nDo something with a file.\n\nMore about it.\n\n"
        "Arguments:\n  FILE                        A file.\n\n"
        "Options:\n  -o, --output FILE           Where to write.\n"
        "  --an-option-with-a-long-name TEXT\n                              A text.\n\n"
        "Examples:\n  flyball x a\n  flyball x a -o b  # write to b\n"
    )


def test_a_narrow_page_wraps_whole_words() -> None:
    """Only a word that is longer than the line is wider."""
    page = HelpPage("x", "one two three " * 9, [("Options", [("--a", "four five " * 9)])])
    assert max(map(len, page.text(40).splitlines())) <= 40
    assert page.text(40).split() == page.text(1000).split()


def parser() -> DaemonParser:
    parser = DaemonParser("flyball-x", description="Run it.", examples=["flyball-x --level 3"])
    parser.add_argument("--level", type=int, default=2, metavar="NUMBER", help="How much.")
    parser.add_argument("--format", choices=("table", "json"), help="Output format.")
    member = parser.add_subparsers(dest="command", metavar="COMMAND").add_parser("look", help="Look at it.")
    member.add_argument("place", nargs="?", metavar="PLACE", help="The place.")
    return parser


def test_a_daemon_has_the_same_page() -> None:
    """Options with defaults and choices, the help option last, and commands."""
    assert parser().format_help() == (
        "Usage: flyball-x [OPTIONS] [COMMAND]\n\nRun it.\n\n"
        "Options:\n  --level NUMBER         How much.  [default: 2]\n"
        "  --format <table|json>  Output format.\n  -h, --help             Show this message and exit.\n\n"
        "Commands:\n  look                   Look at it.\n\n"
        "Examples:\n  flyball-x --level 3\n"
    )


def test_a_command_of_a_daemon_has_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    """They follow the options in the usage."""
    with pytest.raises(SystemExit) as ended:
        parser().parse_args(["look", "--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("Usage: flyball-x look [OPTIONS] [PLACE]\n")


def test_a_wrong_argument_is_one_line_and_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    """It names the help."""
    with pytest.raises(SystemExit) as ended:
        parser().parse_args(["--level", "high"])
    assert ended.value.code == 2
    assert capsys.readouterr().err == "flyball-x: --level high: expected a number. See `flyball-x --help`.\n"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--levle"], "flyball-x: no such option: --levle; did you mean '--level'? See `flyball-x --help`."),
        (["--level"], "flyball-x: --level needs a value. See `flyball-x --help`."),
        (["--format", "jsn"], "flyball-x: --format jsn: expected one of table, json; did you mean 'json'?"),
        (["lok"], "flyball-x: there is no command 'lok'; did you mean 'look'?"),
        (["look", "a", "b"], "flyball-x: unexpected argument: b. See `flyball-x --help`."),
    ],
)
def test_errors_have_the_words_of_the_commands(
    capsys: pytest.CaptureFixture[str], arguments: list[str], expected: str
) -> None:
    """They name the option or command, what was expected, and a similar word."""
    with pytest.raises(SystemExit):
        parser().parse_args(arguments)
    assert capsys.readouterr().err.startswith(expected)
