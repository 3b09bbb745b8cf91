"""The printable report: views, findings, measurements, and who did what.

A4, made with reportlab. Everything in it comes from the state, the log and pictures that were
taken before (`Pictures`), so it can be built on a worker thread.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import PIL.Image
from reportlab.lib.colors import HexColor
from reportlab.lib.enums import TA_RIGHT
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.platypus import (
    BaseDocTemplate,
    CondPageBreak,
    Flowable,
    Image,
    KeepTogether,
    PageTemplate,
    Paragraph,
    Spacer,
    Table,
    TableStyle,
)
from reportlab.platypus import (
    Frame as PageFrame,
)

from oniyanma.registry.log import verify
from oniyanma.scene import report_words as words
from oniyanma.scene.account import Account, Step, account
from oniyanma.scene.printing import PageCount, shaped
from oniyanma.scene.report_words import KINDS, Facts
from oniyanma.scene.state import Finding

INK = HexColor("#1c1f24")
MUTED = HexColor("#5d6570")
LINE = HexColor("#d8dce2")
PALE = HexColor("#f4f5f7")
ACCENT = HexColor("#c77d00")
SEVERITIES = {"info": "#2f7ab8", "minor": "#a07800", "major": "#c2571a", "critical": "#b3261e"}
STATUSES = {
    "open": "#5d6570",
    "confirmed": "#1d7f5c",
    "rejected": "#8a5a00",
    "withdrawn": "#8a8f98",
}
WIDTH = A4[0] - 36 * mm
MOST_STEPS = 400

BODY = ParagraphStyle("body", fontName="Helvetica", fontSize=9, leading=12.5, textColor=INK)
SMALL = ParagraphStyle("small", BODY, fontSize=7.5, leading=10, textColor=MUTED)
CELL = ParagraphStyle("cell", BODY, fontSize=8, leading=10.5)
RIGHT = ParagraphStyle("right", CELL, alignment=TA_RIGHT)
HEAD = ParagraphStyle("head", CELL, fontName="Helvetica-Bold", fontSize=7.5, textColor=MUTED)
HEAD_RIGHT = ParagraphStyle("headRight", HEAD, alignment=TA_RIGHT)
TITLE = ParagraphStyle("title", BODY, fontName="Helvetica-Bold", fontSize=22, leading=27)
KICKER = ParagraphStyle(
    "kicker", BODY, fontName="Helvetica-Bold", fontSize=8, textColor=ACCENT, spaceAfter=2
)
H2 = ParagraphStyle(
    "h2", BODY, fontName="Helvetica-Bold", fontSize=13, leading=17, spaceBefore=16, spaceAfter=6
)
NAME = ParagraphStyle("name", BODY, fontName="Helvetica-Bold", fontSize=9.5, leading=13)
H3 = ParagraphStyle("h3", NAME, spaceBefore=10, spaceAfter=3)
MONO = ParagraphStyle("mono", CELL, fontName="Courier", fontSize=7.5)


def build(facts: Facts) -> bytes:
    """The report as PDF."""
    who = account(facts.state, facts.lines)
    story: list[Flowable] = [
        *_front(facts),
        *_view(facts),
        *_saved_views(facts),
        *_findings(facts),
        *_measurements(facts),
        *_who(facts, who),
        *_seal(facts),
    ]
    out = io.BytesIO()
    document = BaseDocTemplate(
        out,
        pagesize=A4,
        leftMargin=18 * mm,
        rightMargin=18 * mm,
        topMargin=18 * mm,
        bottomMargin=20 * mm,
        title=f"Report: {words.name(facts)}",
        author=facts.by.name or "oniyanma",
        creator=f"oniyanma {facts.version}".strip(),
        invariant=True,
    )
    frame = PageFrame(18 * mm, 20 * mm, WIDTH, A4[1] - 38 * mm, 0, 0, 0, 0)
    document.addPageTemplates(PageTemplate("page", [frame]))
    foot = f"{words.name(facts)} · {words.when(facts.made)} UTC · log head {facts.head[:16]}"
    document.build(story, canvasmaker=PageCount.with_foot(foot, MUTED, LINE, ACCENT))
    return out.getvalue()


# --- the parts -----------------------------------------------------------------------------------


def _front(facts: Facts) -> list[Flowable]:
    state = facts.state
    shown = [f for f in state.findings.values() if f.status != "withdrawn"]
    counts = {s: sum(f.status == s for f in shown) for s in ("open", "confirmed", "rejected")}
    findings = ", ".join(f"{n} {s}" for s, n in counts.items() if n) or "none"
    rows = [
        ("Made", f"{words.when(facts.made)} UTC, as all times here, by {words.actor(facts.by)}"),
        ("Coordinates", words.crs(facts)),
        ("Findings", findings),
        ("Measurements", str(len(state.measurements)) if state.measurements else "none"),
    ]
    story: list[Flowable] = [_p("POINT-CLOUD REPORT", KICKER), _p(words.name(facts), TITLE)]
    story.append(Spacer(1, 4 * mm))
    story.append(_pairs(rows))
    story.extend(_heading("Clouds", H2))
    if not state.clouds:
        return [*story, _p("No cloud is open.")]
    head = ["Cloud", "Format", "Points", "Extent", "Header (SHA-256)"]
    table = []
    for entry in state.clouds:
        info = facts.clouds.get(entry.id)
        if info is None:
            table.append([entry.name, "missing", "", "", entry.header_hash[:16]])
            continue
        kind = f"{info.format.upper()} {info.version}"
        if info.point_format is not None:
            kind += f", format {info.point_format}"
        digest = entry.header_hash or info.header_hash
        table.append(
            [entry.name, kind, f"{info.points:,}", words.extent(info, facts.frame), digest[:16]]
        )
    story.append(_table(head, table, [0.2, 0.19, 0.14, 0.27, 0.2], right=(2,)))
    return story


def _view(facts: Facts) -> list[Flowable]:
    if not facts.pictures.view:
        return [*_heading("View", H2), _p("No picture: this session draws none.", SMALL)]
    camera = facts.state.camera
    target = ", ".join(f"{v:,.1f}" for v in camera.target)
    text = f"{camera.projection.capitalize()} view of {target}; "
    text += f"{facts.pictures.resident:,} points on screen (a sample of the clouds)."
    picture = _image(facts.pictures.view, WIDTH, 110 * mm)
    return [KeepTogether([_p("View", H2), picture, Spacer(1, 2 * mm), _p(text, SMALL)])]


def _findings(facts: Facts) -> list[Flowable]:
    every = sorted(
        facts.state.findings.values(),
        key=lambda f: (f.status == "withdrawn", -list(SEVERITIES).index(f.severity), f.id),
    )
    story: list[Flowable] = [*_heading("Findings", H2, 45 * mm)]
    if not every:
        return [*story, _p("No findings were recorded.")]
    for one in every:
        story.append(KeepTogether(_finding(one, facts)))
    return story


def _finding(one: Finding, facts: Facts) -> list[Flowable]:
    severity, status = SEVERITIES[one.severity], STATUSES[one.status]
    chips = f'<font color="{severity}">{one.severity}</font>  ·  '
    chips += f'<font color="{status}"><b>{one.status}</b></font>'
    title = _p(f"{one.id}  {one.title}", NAME)
    where = "  ".join(words.coordinates(one.position, facts))
    lines: list[Flowable] = [Paragraph(where, SMALL)]
    if one.note:
        lines.append(_p(one.note, BODY))
    if one.region is not None:
        lines.append(_p("With a region: the selection it was recorded with.", SMALL))
    steps = [
        f"{h.what} {words.when(h.time)} by {words.actor(h.actor)}"
        + (f": {h.note}" if h.note else "")
        for h in one.history
    ]
    lines += [_p(step, SMALL) for step in steps]
    table = Table(
        [[title, Paragraph(chips, RIGHT)], [lines, ""]], colWidths=[WIDTH * 0.72, WIDTH * 0.28]
    )
    style = [
        ("SPAN", (0, 1), (1, 1)),
        ("VALIGN", (0, 0), (-1, -1), "TOP"),
        ("LINEBEFORE", (0, 0), (0, -1), 2.2, HexColor(severity)),
        ("LEFTPADDING", (0, 0), (0, -1), 8),
        ("TOPPADDING", (0, 0), (-1, -1), 1),
        ("BOTTOMPADDING", (0, 0), (-1, -1), 2),
    ]
    table.setStyle(TableStyle(style))
    return [table, Spacer(1, 4 * mm)]


def _measurements(facts: Facts) -> list[Flowable]:
    story: list[Flowable] = [*_heading("Measurements", H2)]
    every = list(facts.state.measurements.values())
    if not every:
        return [*story, _p("Nothing was measured.")]
    head = ["", "Measurement", "Value", "In metres", "Taken from", "By"]
    rows = [
        [
            one.id,
            [_p(one.name, CELL), _p(words.details(one, facts), SMALL)],
            words.value(one, facts),
            words.metres(one, facts),
            words.basis(one),
            [_p(words.actor(one.author), CELL), _p(words.when(one.time), SMALL)],
        ]
        for one in every
    ]
    story.append(_table(head, rows, [0.06, 0.36, 0.16, 0.13, 0.14, 0.15], right=(2, 3)))
    if facts.frame is not None and facts.frame.notes:
        story += [Spacer(1, 2 * mm), _p(" ".join(facts.frame.notes), SMALL)]
    return story


def _who(facts: Facts, who: Account) -> list[Flowable]:
    story: list[Flowable] = [*_heading("What a machine touched, what a person confirmed", H2)]
    machines = [t for t in who.tallies if t.kind != "human"]
    if not machines:
        story.append(_p("No machine ran a command in this log."))
    else:
        head = ["Machine", "Ran", "Previewed", "Refused", "Accepted", "Points edited"]
        rows = [
            [
                [_p(f"{t.name or 'unnamed'} ({KINDS[t.kind]})", CELL)]
                + ([_p(f"“{t.instruction}”", SMALL)] if t.instruction else []),
                f"{t.outcomes['ok']:,}",
                f"{t.outcomes['preview']:,}",
                f"{t.outcomes['refused']:,}",
                f"{t.proposed:,}",
                f"{t.points:,}",
            ]
            for t in machines
        ]
        story.append(_table(head, rows, [0.4, 0.11, 0.13, 0.11, 0.11, 0.14], right=(1, 2, 3, 4, 5)))
        note = "Accepted: commands it proposed in a batch that a person then ran as their own."
        story += [Spacer(1, 1 * mm), _p(note, SMALL)]
    story.extend(_heading("Steps that a machine took or proposed", H3))
    story += _steps(who.machine_steps, "None.")
    story.extend(_heading("What a person decided", H3))
    if who.decisions:
        head = ["Decision", "About", "Came from", "Decided by", "When"]
        rows = [
            [
                d.what,
                [_p(d.subject, CELL), *([_p(d.note, SMALL)] if d.note else [])],
                words.actor(d.proposed_by),
                words.actor(d.actor),
                words.when(d.time),
            ]
            for d in who.decisions
        ]
        story.append(_table(head, rows, [0.2, 0.29, 0.19, 0.15, 0.17]))
    else:
        story.append(_p("Nothing was confirmed, rejected or accepted."))
    people = [step for step in who.steps if not step.machine]
    story += [
        *_heading("What waits for a person", H3),
        *_waiting(facts),
        *_heading("Steps that people took", H3),
    ]
    return [*story, *_steps(people, "None.")]


def _waiting(facts: Facts) -> list[Flowable]:
    """Open findings and proposed batches, whoever made them."""
    state = facts.state
    rows = [
        ["finding " + f.id, f.title, words.actor(f.author), words.when(f.time)]
        for f in state.findings.values()
        if f.status == "open"
    ]
    rows += [
        [
            f"batch {b.id}",
            f"{b.title} ({len(b.commands)} commands)",
            words.actor(b.author),
            words.when(b.time),
        ]
        for b in state.batches.values()
        if b.state == "proposed"
    ]
    if not rows:
        return [_p("Nothing.")]
    return [_table(["What", "About", "Came from", "When"], rows, [0.17, 0.43, 0.22, 0.18])]


def _steps(steps: Sequence[Step], none: str) -> list[Flowable]:
    if not steps:
        return [_p(none)]
    head = ["", "Step", "Points", "By", "When", ""]
    rows = [
        [
            str(s.seq),
            [_p(s.title, CELL)]
            + (
                [_p(f"batch “{s.batch}” of {words.actor(s.proposed_by)}", SMALL)]
                if s.proposed_by
                else []
            ),
            "" if s.points is None else f"{s.points:,}",
            words.actor(s.actor),
            words.when(s.time),
            "in force" if s.in_force else "taken back",
        ]
        for s in steps[:MOST_STEPS]
    ]
    story: list[Flowable] = [_table(head, rows, [0.06, 0.36, 0.11, 0.18, 0.17, 0.12], right=(2,))]
    note = "Points as counted on screen when the step was made; an edit also takes finer points."
    if len(steps) > MOST_STEPS:
        note = f"The first {MOST_STEPS} of {len(steps):,} steps; the log has all. {note}"
    return [*story, Spacer(1, 1 * mm), _p(note, SMALL)]


def _saved_views(facts: Facts) -> list[Flowable]:
    saved = [(name, png) for name, png in facts.pictures.saved.items() if png]
    if not saved:
        return []
    each = (WIDTH - 8 * mm) / 3
    cells: list[Any] = [
        [_image(png, each, each * 9 / 16), Spacer(1, 1 * mm), _p(name, SMALL)]
        for name, png in saved
    ]
    cells += [""] * (-len(cells) % 3)
    rows = [cells[i : i + 3] for i in range(0, len(cells), 3)]
    table = Table(rows, colWidths=[each + 4 * mm, each + 4 * mm, each])
    table.setStyle(
        TableStyle(
            [
                ("LEFTPADDING", (0, 0), (-1, -1), 0),
                ("RIGHTPADDING", (0, 0), (-1, -1), 0),
                ("VALIGN", (0, 0), (-1, -1), "TOP"),
            ]
        )
    )
    return [*_heading("Saved views", H2), table]


def _seal(facts: Facts) -> list[Flowable]:
    verdict = verify(facts.lines, facts.head, facts.count)
    if verdict.ok:
        state = f"The chain of its {facts.count:,} lines is whole."
    else:
        state = "The chain is broken: " + "; ".join(verdict.problems[:5]) + "."
    rows = [("Lines", f"{facts.count:,}"), ("Checked", state), ("Head hash", facts.head)]
    why = (
        "Each line of the command log holds the hash of the line before it. A log whose last line "
        "has this hash, with this many lines, is the one this report was made from."
    )
    return [
        KeepTogether(
            [*_heading("Command log", H2), _pairs(rows), Spacer(1, 2 * mm), _p(why, SMALL)]
        )
    ]


# --- shapes --------------------------------------------------------------------------------------


def _heading(text: str, style: ParagraphStyle, room: float = 26 * mm) -> list[Flowable]:
    """A heading, on the next page where what follows would not begin under it."""
    return [CondPageBreak(room), _p(text, style)]


def _p(text: str, style: ParagraphStyle = BODY) -> Paragraph:
    return Paragraph(shaped(text), style)


def _pairs(rows: Sequence[tuple[str, str]]) -> Table:
    table = Table(
        [[_p(name, HEAD), _p(value, BODY)] for name, value in rows],
        colWidths=[WIDTH * 0.18, WIDTH * 0.82],
    )
    table.setStyle(
        TableStyle(
            [
                ("VALIGN", (0, 0), (-1, -1), "BASELINE"),
                ("LEFTPADDING", (0, 0), (-1, -1), 0),
                ("TOPPADDING", (0, 0), (-1, -1), 1.5),
                ("BOTTOMPADDING", (0, 0), (-1, -1), 1.5),
            ]
        )
    )
    return table


def _table(
    head: Sequence[str], rows: Sequence[Sequence[Any]], shares: Sequence[float], right: Any = ()
) -> Table:
    def cell(value: Any, column: int, top: bool) -> Any:
        if not isinstance(value, str):
            return value
        styles = (HEAD_RIGHT, HEAD) if top else (RIGHT, CELL)
        return _p(value, styles[0] if column in right else styles[1])

    data = [[cell(v, i, True) for i, v in enumerate(head)]]
    data += [[cell(v, i, False) for i, v in enumerate(row)] for row in rows]
    table = Table(data, colWidths=[WIDTH * share for share in shares], repeatRows=1)
    style: list[tuple[Any, ...]] = [
        ("VALIGN", (0, 0), (-1, -1), "TOP"),
        ("LINEBELOW", (0, 0), (-1, 0), 0.8, INK),
        ("LINEBELOW", (0, 1), (-1, -1), 0.3, LINE),
        ("LEFTPADDING", (0, 0), (-1, -1), 3),
        ("RIGHTPADDING", (0, 0), (-1, -1), 5),
        *(("LEFTPADDING", (c + 1, 0), (c + 1, -1), 10) for c in right if c + 1 < len(head)),
        ("TOPPADDING", (0, 0), (-1, -1), 3),
        ("BOTTOMPADDING", (0, 0), (-1, -1), 3),
    ]
    table.setStyle(TableStyle(style))
    return table


def _image(png: bytes, width: float, height: float) -> Image:
    """As large as fits, its shape kept; as JPEG, for points make PNGs of many megabytes."""
    jpeg = io.BytesIO()
    with PIL.Image.open(io.BytesIO(png)) as opened:
        opened.convert("RGB").save(jpeg, "JPEG", quality=90, optimize=True)
    jpeg.seek(0)
    picture = Image(jpeg)
    share = min(width / picture.imageWidth, height / picture.imageHeight)
    picture.drawWidth, picture.drawHeight = picture.imageWidth * share, picture.imageHeight * share
    picture.hAlign = "LEFT"
    return picture
