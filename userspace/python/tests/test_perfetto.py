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


def asked(trace: Path, query: str) -> List[Dict[str, str]]:
    """The rows that Perfetto's processor answers."""
    file = trace.with_suffix(".sql")
    file.write_text(query + ";")
    ran = subprocess.run([str(PROCESSOR), "-q", file, trace], check=True, capture_output=True, text=True, timeout=120)
    return list(csv.DictReader(io.StringIO(ran.stdout)))


@pytest.mark.skipif(PROCESSOR is None, reason="not run: ANE_TRACE_PROCESSOR names no trace_processor_shell")
def test_counts_of_the_trace_processor_are_those_of_the_file(timeline: List[Told], tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": timeline}))
    complaints = "select name, value from stats where severity in ('error', 'data_loss') and value > 0"
    assert asked(path, complaints) == []
    slices = """
        select process.name as process, thread.name as thread, slice.name as name, count(*) as count, sum(dur) as dur
        from slice join thread_track on thread_track.id = slice.track_id join thread using (utid)
        left join process using (upid) group by upid, utid, slice.name"""
    found = {
        (row["process"], row["thread"], row["name"]): (int(row["count"]), int(row["dur"])) for row in asked(path, slices)
    }
    rows: Dict[Tuple[str, int, int], str] = {}
    for event in timeline:
        if event["ph"] == "M" and event["name"] in ("process_name", "thread_name"):
            rows[event["name"], event["pid"], event.get("tid", 0)] = event["args"]["name"]
    processes = {pid: name for (kind, pid, _), name in rows.items() if kind == "process_name"}
    counts: Dict[Tuple[str, str, str], int] = defaultdict(int)
    lengths: Dict[Tuple[str, str, str], float] = defaultdict(float)
    begun: Dict[Tuple[int, int], List[Tuple[Tuple[str, str, str], float]]] = defaultdict(list)
    for event in timeline:
        assert event["ph"] != "C", "its value would be compared with nothing"
        if event["ph"] == "M":
            continue
        row = (event["pid"], event["tid"])
        if event["ph"] == "E":
            key, start = begun[row].pop()
            lengths[key] += (event["ts"] - start) * 1000
            continue
        key = (processes[event["pid"]], rows["thread_name", event["pid"], event["tid"]], event["name"])
        counts[key] += 1
        if event["ph"] == "B":
            begun[row].append((key, event["ts"]))
        # Nanoseconds; the processor keeps whole ones.
        lengths[key] += event.get("dur", 0) * 1000
    assert len(counts) > 8
    assert {key: count for key, (count, _) in found.items()} == dict(counts)
    for key, (count, dur) in found.items():
        assert abs(dur - lengths[key]) <= count, key
