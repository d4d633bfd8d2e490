"""Reports as a single HTML file without scripts, fonts or requests."""

import re
from collections.abc import Mapping, Sequence
from html import escape

from flyball_reports.section import Chart, Code, ReportTable, Section

# The page loads nothing, and this policy makes browsers enforce that.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

_CODE_WORDS = re.compile(r"`([^`]+)`")
_WHOLE_WORDS = re.compile(r"\b\d{4}-\d\d-\d\d\b|\bZeRO-\d\b")
_UNITS = re.compile(r"(?<=\d) (?=%|[KMGTP]iB\b|[kMG]?Wh\b)")
_SPACE_WITHIN = re.compile(r"(?<!…) (?![(…])")
_KEEPING = "\N{NO-BREAK SPACE}"
_MANY_COLUMNS = 5  # a table with at least as many columns scrolls on a narrow screen

_LIGHT = """
--ground: #f6f6f3; --paper: #ffffff; --ink: #1c1c1a; --quiet: #5f5e5a; --line: #e2e1dc; --good: #0a7a3d;
--warning: #9a6200; --bad: #b8302a; --c1: #2a78d6; --c2: #eb6834; --c3: #1baf7a; --c4: #eda100; --c5: #e87ba4;
--c6: #0f8a8a; --c7: #4a3aa7; --c8: #8a8984;
"""
_DARK = """
--ground: #141413; --paper: #1e1e1c; --ink: #ececea; --quiet: #a3a29d; --line: #35342f; --good: #4cc38a;
--warning: #e0a030; --bad: #f07a72; --c1: #4f95ea; --c2: #e07040; --c3: #22ab7c; --c4: #cf9310; --c5: #d86a95;
--c6: #3fb3b3; --c7: #9388ea; --c8: #8d8c87;
"""
_COLOURS = "\n".join(f".c{n} {{ fill: var(--c{n}); }} .l{n} {{ stroke: var(--c{n}); }}" for n in range(1, 9))
_STYLE = f"""
:root {{ color-scheme: light dark; {_LIGHT} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_DARK} }} }}
* {{ box-sizing: border-box; }}
body {{ margin: 0; background: var(--ground); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }}
body {{ overflow-wrap: break-word; }}
main {{ max-width: 940px; margin: 0 auto; padding: 32px 20px 64px; }}
h1 {{ font-size: 26px; line-height: 1.25; margin: 0 0 20px; overflow-wrap: anywhere; }}
h2 {{ font-size: 17px; margin: 0 0 12px; }}
h3 {{ font-size: 15px; margin: 0 0 12px; overflow-wrap: anywhere; }}
section:has(> h3) {{ margin-left: 20px; }}
section > :last-child {{ margin-bottom: 0; }}
section {{ background: var(--paper); border: 1px solid var(--line); border-radius: 10px; }}
section {{ padding: 20px 24px; margin: 0 0 16px; }}
section.good {{ border-left: 4px solid var(--good); }}
section.warning {{ border-left: 4px solid var(--warning); }}
section.bad {{ border-left: 4px solid var(--bad); }}
p {{ margin: 0 0 12px; max-width: 70ch; }}
ul {{ margin: 0; padding-left: 20px; }}
li {{ margin: 0 0 6px; }}
ul.boxes {{ list-style: "☐  "; padding-left: 26px; }}
pre {{ margin: 0 0 14px; padding: 12px 14px; overflow-x: auto; background: var(--ground); border-radius: 6px; }}
pre {{ font: 12.5px/1.5 ui-monospace, "DejaVu Sans Mono", monospace; }}
code {{ font: 0.9em ui-monospace, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }}
ins, del {{ text-decoration: none; color: var(--good); }}
del {{ color: var(--bad); }}
.scroll {{ overflow-x: auto; margin: 0 0 14px; }}
.scroll:last-child {{ margin-bottom: 0; }}
table {{ border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }}
td, th {{ padding: 6px 14px 6px 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }}
tr:last-child td {{ border-bottom: 0; }}
th {{ color: var(--quiet); font-weight: 500; font-size: 13px; white-space: nowrap; }}
.facts td:first-child {{ color: var(--quiet); width: 150px; white-space: nowrap; }}
.facts td {{ overflow-wrap: anywhere; }}
.figure {{ text-align: right; }}
.whole {{ white-space: nowrap; }}
th.figure {{ text-align: right; }}
td:last-child, th:last-child {{ padding-right: 0; }}
.summary {{ font-size: 17px; }}
.summary tr:first-child td:last-child {{ font-weight: 600; }}
figure {{ margin: 4px 0 18px; }}
figcaption {{ color: var(--quiet); font-size: 13px; margin-top: 6px; }}
svg {{ display: block; width: 100%; height: auto; }}
text {{ fill: var(--quiet); font: 12px system-ui, sans-serif; }}
text.name {{ fill: var(--ink); }}
.grid {{ stroke: var(--line); }}
.axis {{ stroke: var(--quiet); }}
.roof, .line {{ fill: none; stroke: var(--c1); stroke-width: 2; }}
.roof {{ stroke: var(--quiet); }}
.ideal {{ fill: none; stroke: var(--quiet); stroke-width: 1.5; stroke-dasharray: 5 5; }}
.limit {{ stroke: var(--bad); stroke-width: 2; }}
.whisker {{ stroke: var(--ink); stroke-width: 1.5; }}
.band {{ fill-opacity: 0.18; }}
.unfit {{ fill: var(--bad); }}
.disc {{ fill-opacity: 0.55; stroke: var(--paper); }}
.dot {{ stroke: var(--paper); stroke-width: 2; }}
footer {{ color: var(--quiet); font-size: 13px; }}
{_COLOURS}
@media (max-width: 640px) {{
main {{ padding: 20px 10px 40px; }}
section {{ padding: 14px; }}
section:has(> h3) {{ margin-left: 8px; }}
table {{ font-size: 14px; }}
table.many {{ min-width: 620px; }}
td, th {{ padding-right: 10px; }}
.facts td:first-child {{ width: 92px; white-space: normal; }}
.summary {{ font-size: 15px; }}
text {{ font-size: 20px; }}
}}
@media print {{ body {{ background: none; }} section {{ break-inside: avoid; }} }}
"""


def page(title: str, sections: Sequence[Section], charts: Mapping[str, Chart] | None = None, footer: str = "") -> str:
    """Return a complete page. A chart is placed in the section that has its title."""
    body = "".join(_section(section, (charts or {}).get(section.title)) for section in sections)
    end = f"<footer>{escape(footer)}</footer>" if footer else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n<h1>{escape(title)}</h1>\n{body}\n{end}\n</main>\n</body>\n</html>\n"
    )


def _section(section: Section, chart: Chart | None) -> str:
    level = f"h{section.level}"
    heading = f"<{level}>{_worded(section.title)}</{level}>" if section.title else ""
    text = "".join(f"<p>{_worded(words)}</p>" for words in section.text)
    drawn = "".join(map(_figure, (*section.charts, *([chart] if chart else []))))
    tables = "".join(map(_table, section.tables))
    code = "".join(map(_code, section.code))
    points = "".join(f"<li>{_worded(words)}</li>" for words in section.points)
    boxes = ' class="boxes"' if section.boxes else ""
    listed = f"<ul{boxes}>{points}</ul>" if points else ""
    kind = f"{section.tone}{'' if section.title else ' summary'}"
    return f'<section class="{kind}">{heading}{text}{drawn}{tables}{code}{listed}</section>\n'


def _code(code: Code) -> str:
    lines = code.text.rstrip().split("\n")
    shown = map(_changed, lines) if code.language == "diff" else map(escape, lines)
    return "<pre>" + "\n".join(shown) + "</pre>"


def _changed(line: str) -> str:
    """Mark an added or removed line of a diff."""
    kind = {"+": "ins", "-": "del"}.get(line[:1], "")
    return f"<{kind}>{escape(line)}</{kind}>" if kind else escape(line)


def _figure(chart: Chart) -> str:
    return f'<figure id="{escape(chart.name)}">{chart.svg}<figcaption>{escape(chart.caption)}</figcaption></figure>'


def _table(table: ReportTable) -> str:
    head = f"<thead><tr>{_cells(table.heads, table, 'th')}</tr></thead>" if table.heads else ""
    rows = "".join(f"<tr>{_cells(row, table, 'td')}</tr>" for row in table.rows)
    named = "many" if len(table.heads) >= _MANY_COLUMNS else "" if table.heads else "facts"
    kind = f' class="{named}"' if named else ""
    return f'<div class="scroll"><table{kind}>{head}<tbody>{rows}</tbody></table></div>'


def _cells(words: Sequence[str], table: ReportTable, kind: str) -> str:
    return "".join(
        f'<{kind} class="figure">{_SPACE_WITHIN.sub(_KEEPING, escape(word))}</{kind}>'
        if column in table.figures
        else f"<{kind}>{_worded(word)}</{kind}>"
        for column, word in enumerate(words)
    )


def _worded(text: str) -> str:
    """Format words between backticks as code, keep a number and its unit together, and do not break dates."""
    shown = _UNITS.sub(_KEEPING, _CODE_WORDS.sub(r"<code>\1</code>", escape(text)))
    return _WHOLE_WORDS.sub(r'<span class="whole">\g<0></span>', shown)
