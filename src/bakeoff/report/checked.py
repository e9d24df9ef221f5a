"""A check as a table for the terminal, as Markdown, and as JUnit XML for CI servers."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from xml.etree import ElementTree

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from bakeoff.analysis.gate import Check, place
from bakeoff.analysis.judgement import Judgement
from bakeoff.analysis.numbers import count
from bakeoff.report.markdown import escape, grid

ORDER = {"fail": 0, "unsure": 1, "pass": 2}
STYLES = {"fail": "red", "unsure": "yellow", "pass": "green"}
MOST_PASSES = 20  # in the terminal
# What XML 1.0 does not allow, and what a system may have written to its log.
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def headline(found: Check) -> str:
    """The outcome in one sentence."""
    counts = found.outcomes()
    parts = [f"{many} {word}" for word, many in counts.items() if many]
    said = f"{'passed' if found.passed else 'failed'}: {', '.join(parts) or 'nothing judged'}"
    if counts["unsure"]:
        said += "; unsure fails (--strict)" if found.strict else "; unsure passes without --strict"
    return said


def ordered(found: Check) -> list[Judgement]:
    """What fails first, then what is unsure."""
    return sorted(found.judgements, key=lambda one: ORDER[one.outcome])


def terminal(found: Check) -> RenderableType:
    """The outcome, warnings, and a line for each judgement."""
    lines: list[RenderableType] = [Text(f"check of {found.new['id']} against {found.old['id']}", style="bold")]
    lines += [Text(f"warning: {said}", style="yellow") for said in found.warnings]
    shown = Table(box=None, show_header=False, pad_edge=False)
    passes = 0
    for one in ordered(found):
        passes += one.outcome == "pass"
        if passes <= MOST_PASSES:
            cells = (one.rule.text, place(one.group), one.said)
            shown.add_row(Text(one.outcome, style=STYLES[one.outcome]), *(Text(cell) for cell in cells))
    lines.append(shown)
    if passes > MOST_PASSES:
        lines.append(Text(f"{count(passes - MOST_PASSES, 'pass', 'passes')} more", style="dim"))
    lines.append(Text(headline(found), style="green" if found.passed else "red"))
    return Group(*lines)


def markdown(found: Check) -> str:
    """The check for a merge request."""
    parts = [f"## bakeoff check of {escape(found.experiment)}: {escape(headline(found))}"]
    parts.append(f"{escape(str(found.new['id']))} against {escape(str(found.old['id']))}.")
    if found.warnings:
        parts.append("\n".join(f"* Warning: {escape(said)}." for said in found.warnings))
    lines = [[one.outcome, one.rule.text, place(one.group), one.said] for one in ordered(found)]
    parts.append(grid(["", "fails if", "where", "found"], lines, "llll"))
    if found.differences:
        differ = [[one.area, one.what, _text(one.old), _text(one.new)] for one in found.differences]
        rows = grid(["", "what", "before", "after"], differ, "llll")
        parts.append(f"<details><summary>What differs between the runs</summary>\n\n{rows}\n\n</details>")
    return "\n\n".join(parts) + "\n"


def _text(value: object) -> str:
    return "–" if value is None else str(value)


def junit(found: Check) -> str:
    """The check as JUnit XML: a test case a judgement; unsure is `skipped`, with --strict a failure."""
    failing = ("fail", "unsure") if found.strict else ("fail",)
    failures = sum(one.outcome in failing for one in found.judgements)
    skipped = sum(one.outcome == "unsure" and not found.strict for one in found.judgements)
    numbers = {"tests": str(len(found.judgements)), "failures": str(failures), "errors": "0", "skipped": str(skipped)}
    top = ElementTree.Element("testsuites", {"name": "bakeoff check", **numbers, "time": "0"})
    now = datetime.now(UTC).isoformat(timespec="seconds").removesuffix("+00:00")
    name = _clean(f"{found.new['id']} against {found.old['id']}")
    suite = ElementTree.SubElement(top, "testsuite", {"name": name, **numbers, "time": "0", "timestamp": now})
    properties = ElementTree.SubElement(suite, "properties")
    for key, value in (("run", found.new["id"]), ("against", found.old["id"]), ("strict", str(found.strict).lower())):
        ElementTree.SubElement(properties, "property", {"name": key, "value": _clean(str(value))})
    for one in found.judgements:
        where = {"classname": _clean(f"{found.experiment}.{one.group.system}"), "name": _clean(_name(one)), "time": "0"}
        case = ElementTree.SubElement(suite, "testcase", where)
        said = _clean(one.said)
        if one.outcome in failing:
            ElementTree.SubElement(case, "failure", {"message": said, "type": one.outcome}).text = said
        elif one.outcome == "unsure":
            ElementTree.SubElement(case, "skipped", {"message": f"unsure: {said}"})
        else:
            ElementTree.SubElement(case, "system-out").text = said
    if found.warnings:
        ElementTree.SubElement(suite, "system-out").text = _clean("\n".join(found.warnings))
    ElementTree.indent(top)
    return ElementTree.tostring(top, encoding="unicode", xml_declaration=True) + "\n"


def _name(one: Judgement) -> str:
    cell = " ".join(f"{name}={level}" for name, level in one.group.cell.items())
    return f"{one.rule.text} [{cell}]" if cell else one.rule.text


def _clean(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)
