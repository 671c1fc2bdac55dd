"""Timelines as Perfetto reads them: what its importer drops or moves without a word must not be in them.

Perfetto's own processor is a program that the package ``perfetto`` fetches from the network. Where it is at hand, the variable
``ANE_TRACE_PROCESSOR`` names it, and its SQL counts are compared with ours; the rules of its importer are held either way.
"""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any, Dict, List, Tuple

import numpy
import pytest

import ane

PROCESSOR = os.environ.get("ANE_TRACE_PROCESSOR")

Told = Dict[str, Any]


@pytest.fixture
def timeline(heavy: ane.Program) -> List[Told]:
    """What a file says of a run of several tasks."""
    with ane.Device() as device:
        with device.trace() as trace:
            heavy.on(device).run(x=numpy.ones((64, 32, 32), numpy.float16))
    told: List[Told] = json.loads(trace.chrome)["traceEvents"]
    return told


def spans(timeline: List[Told]) -> Dict[Tuple[int, int], List[Told]]:
    """Complete events by row."""
    rows: Dict[Tuple[int, int], List[Told]] = defaultdict(list)
    for event in timeline:
        if event["ph"] == "X":
            rows[event["pid"], event["tid"]].append(event)
    return rows


def test_spans_of_a_row_lie_beside_or_inside_of_each_other(timeline: List[Told]) -> None:
    rows = spans(timeline)
    assert len(rows) > 4
    for row, events in rows.items():
        open_until: List[int] = []
        # Nanoseconds, which is what the importer keeps. An outer span comes before what it holds.
        at = [(round(event["ts"] * 1000), round((event["ts"] + event["dur"]) * 1000)) for event in events]
        for start, end in sorted(at, key=lambda span: (span[0], -span[1])):
            while open_until and open_until[-1] <= start:
                open_until.pop()
            assert start >= 0 and end >= start, row
            assert not open_until or end <= open_until[-1], f"spans of row {row} overlap at {start}"
            open_until.append(end)


def test_rows_have_a_name_and_what_begins_ends(timeline: List[Told]) -> None:
    assert {event["ph"] for event in timeline} <= {"M", "X", "B", "E", "i", "I", "C"}
    named = {(event["pid"], event["tid"]) for event in timeline if event["name"] == "thread_name" and event["ph"] == "M"}
    depth: Dict[Tuple[int, int], int] = defaultdict(int)
    for event in timeline:
        if event["ph"] == "M":
            continue
        row = (event["pid"], event["tid"])
        assert row in named or event["ph"] == "C", event
        depth[row] += {"B": 1, "E": -1}.get(event["ph"], 0)
        assert depth[row] >= 0, f"an end without a beginning: {event}"
    assert not any(depth.values())


@pytest.mark.skipif(PROCESSOR is None, reason="not run: ANE_TRACE_PROCESSOR names no trace_processor_shell")
def test_counts_of_the_trace_processor_are_those_of_the_file(timeline: List[Told], tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": timeline}))
    query = tmp_path / "query.sql"
    query.write_text("select name, count(*) as count, sum(dur) as dur from slice group by name order by name;")
    ran = subprocess.run([str(PROCESSOR), "-q", query, path], check=True, capture_output=True, text=True, timeout=120)
    found = {row["name"]: (int(row["count"]), int(row["dur"])) for row in csv.DictReader(io.StringIO(ran.stdout))}
    wanted: Dict[str, int] = defaultdict(int)
    for event in timeline:
        if event["ph"] in ("X", "B", "i", "I"):
            wanted[event["name"]] += 1
    assert {name: count for name, (count, _) in found.items()} == dict(wanted)
    for name in {event["name"] for events in spans(timeline).values() for event in events}:
        ours = sum(e["dur"] * 1000 for events in spans(timeline).values() for e in events if e["name"] == name)
        assert abs(found[name][1] - ours) <= wanted[name] + 1, name
