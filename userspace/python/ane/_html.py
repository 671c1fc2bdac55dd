"""Programs, traces and memory maps for notebooks. Every text may come out of a hostile file, and is escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Dict, Iterable, List, Sequence

if TYPE_CHECKING:
    from ._data import Memory, MemoryMap, Task
    from ._program import Program
    from ._trace import Trace

_ROWS = 64
"""Rows of a table that are shown."""


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]], count: int) -> str:
    parts = ["<table><thead><tr>"]
    parts += [f"<th style='text-align:left'>{escape(head)}</th>" for head in heads]
    parts.append("</tr></thead><tbody>")
    for row in rows:
        cells = "".join(f"<td style='text-align:left'>{escape(str(cell))}</td>" for cell in row)
        parts.append(f"<tr>{cells}</tr>")
    if count > _ROWS:
        parts.append(f"<tr><td colspan='{len(heads)}'>and {count - _ROWS} more</td></tr>")
    return "".join([*parts, "</tbody></table>"])


def program(shown: Program) -> str:
    surfaces = [*shown.inputs, *shown.outputs]
    rows = [(s.direction, s.name, list(s.array), list(s.shape), s.element, s.bar) for s in surfaces]
    refused = {refusal.task: refusal for refusal in shown.refusals}
    tasks = []
    for task in shown.tasks[:_ROWS]:
        refusal = refused.get(task.index)
        why = f"refused: {refusal.why}" if refusal else ""
        changed = "" if task.changed is None else task.changed
        tasks.append((task.index, task.summary, changed, why))
    damage = f"<p>{escape(shown.damage)}</p>" if shown.damage else ""
    return "".join(
        [
            f"<p><b>{escape(shown.name)}</b>, {escape(shown.container)}</p>",
            _table(("", "surface", "array", "N, C, H, W", "element", "BAR"), rows, len(rows)),
            _table(("task", "what it does", "registers changed", ""), tasks, len(shown.tasks)),
            damage,
        ]
    )


def task(shown: Task) -> str:
    registers = [*shown.header, *shown.registers]
    rows = []
    for register in registers[:_ROWS]:
        name = register.name or f"unknown at {register.address:#x}"
        index = "" if register.index is None else f"[{register.index}]"
        fields = ", ".join(f"{field.name} = {field.shown}" for field in register.fields if field.value)
        rows.append((register.block, name + index, f"{register.value:#010x}", fields, register.grade))
    layer = "" if shown.layer is None else f"<p>{escape(shown.layer.operation)} {escape(shown.layer.name)}</p>"
    return (
        f"<p><b>task {shown.index}</b>: {escape(shown.summary)}</p>{layer}"
        + _table(("what", "BAR", ""), [(base.what, base.bar, base.role) for base in shown.bases], len(shown.bases))
        + _table(("block", "register", "value", "fields", "grade"), rows, len(registers))
    )


def memory(shown: Memory) -> str:
    rows = [
        (task.index, operand.name, operand.bytes, operand.place, operand.why)
        for task in shown.tasks[:_ROWS]
        for operand in task.operands
    ]
    warmest = max(shown.heat, default=0) or 1
    bars: List[str] = []
    for bank, granules in enumerate(shown.heat):
        height = round(40 * granules / warmest)
        title = f"<title>bank {bank}: {granules} granules</title>"
        bars.append(f"<rect x='{7 * bank}' y='{42 - height}' width='6' height='{height}' fill='#c2410c'>{title}</rect>")
    picture = f"<svg width='{7 * len(shown.heat)}' height='44' role='img'>{''.join(bars)}</svg>"
    return (
        f"<p>{escape(shown.chip)}: {shown.cycles} cycles, {shown.nanoseconds} ns of virtual time</p>{picture}"
        + _table(("task", "operand", "bytes", "place", "why"), rows[:_ROWS], len(rows))
        + (f"<p>{escape(shown.damage)}</p>" if shown.damage else "")
    )


def memory_map(shown: MemoryMap) -> str:
    rows = [
        (context.name, f"{one.address:#010x}", f"{one.bytes:#x}", one.usage)
        for context in shown.contexts
        for one in context.mappings
    ]
    return _table(("context", "device address", "bytes", "usage"), rows[:_ROWS], len(rows))


def trace(shown: Trace) -> str:
    events = [event for event in shown.events if event.duration > 0 and not event.is_virtual]
    if not events:
        return "<p>no events</p>"
    rows: Dict[str, int] = {}
    for event in events:
        rows.setdefault(event.row, len(rows))
    begin = min(event.start for event in events)
    span = max(event.start + event.duration for event in events) - begin or 1.0
    width, label, height = 640, 170, 18
    parts = [f"<svg width='{label + width}' height='{height * len(rows) + 4}' font-size='11' role='img'>"]
    for row, at in rows.items():
        parts.append(f"<text x='0' y='{height * at + 13}' fill='currentColor'>{escape(row)}</text>")
    for event in events[:4096]:
        x = label + (event.start - begin) / span * width
        w = max(event.duration / span * width, 0.5)
        title = f"<title>{escape(event.name)}, {event.duration:.3f} us</title>"
        y = height * rows[event.row] + 3
        parts.append(f"<rect x='{x:.2f}' y='{y}' width='{w:.2f}' height='12' fill='#2563eb'>{title}</rect>")
    return "".join([*parts, "</svg>"])
