"""The pages of `ane report`, in a browser: every view clicked through, no error, and nothing that runs out of the picture.

Chromium is asked without a driver: a copy of the page gets a script that does the clicking and writes down what happened,
and the browser prints the page as it stands afterwards.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, Dict, List, Sequence

import numpy
import pytest

import ane
import pictures
from ane.pytest_plugin import command

PICTURES = Path(__file__).parent / "pictures"
VIEWS = ("graph", "timeline", "memory", "surfaces", "registers")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
browser = pytest.mark.skipif(CHROMIUM is None, reason="not run: there is no Chromium")

PROBE = """
<script>
const found = { errors: [], views: [], opened: 0, wide: [], themes: [], width: innerWidth };
addEventListener("error", (event) => found.errors.push(String(event.message)));
addEventListener("unhandledrejection", (event) => found.errors.push(String(event.reason)));
for (const name of ["error", "warn"]) console[name] = (...words) => found.errors.push(words.join(" "));
addEventListener("securitypolicyviolation", (event) => found.errors.push(event.violatedDirective + " " + event.blockedURI));
addEventListener("load", () => {
  const view = document.getElementById("view"), tabs = document.getElementById("tabs");
  const press = (key, target = document.body) => target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const measure = () => { if (document.documentElement.scrollWidth > innerWidth) found.wide.push(view.dataset.view); };
  for (let i = 0; i < tabs.children.length; i += 1) {
    tabs.children[i].click();
    measure();
    found.views.push([view.dataset.view, view.textContent.length, view.querySelectorAll("[data-task]").length]);
    for (const input of view.querySelectorAll("input")) {
      if (input.type === "checkbox") input.checked = !input.checked;
      if (input.type === "range") input.value = 3;
      input.dispatchEvent(new Event("change"));
      measure();
    }
    // Every node leads to its task; every register opens.
    for (let n = 0; n < Math.min(view.querySelectorAll("[data-task]").length, 40); n += 1) {
      const node = view.querySelectorAll("[data-task]")[n];
      press("Enter", node);
      if (view.dataset.view !== "Registers" || !view.textContent.includes("Task " + node.dataset.task + ":"))
        found.errors.push("node " + n + " of view " + i + " leads to " + view.dataset.view);
      tabs.children[i].click();
    }
    for (const row of [...view.querySelectorAll("tr.row")]) { row.click(); found.opened += 1; }
    found.grades = view.querySelectorAll(".more .grade").length || found.grades;
    measure();
  }
  for (const key of ["1", "2", "3", "4", "5", "j", "j", "k", "t"]) {
    press(key);
    found.themes.push(document.documentElement.classList.contains("dark"));
  }
  found.images = document.images.length;
  parent.postMessage(JSON.stringify(found), "*");
});
</script>
"""

# A browser's window is never narrower than 500 pixels: a page that is shown in fewer is a frame in it.
FRAME = """
<!doctype html><style>body {{ margin: 0 }} iframe {{ border: 0; display: block }}</style>
<script>
addEventListener("message", (event) =>
  document.body.append(Object.assign(document.createElement("pre"), {{ id: "found", textContent: event.data }})));
</script>
<iframe src="{src}" width="{width}" height="900"></iframe>
"""


def chromium(page: Path, *words: str) -> str:
    profile = page.parent / "profile"
    all_words = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
    all_words += ["--window-size=1280,900", "--force-device-scale-factor=1", f"--user-data-dir={profile}"]
    ran = subprocess.run([*all_words, "--virtual-time-budget=20000", *words, page.as_uri()], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def framed(page: Path, width: int, view: str = "") -> Path:
    frame = page.with_name(f"frame-{width}-{view}.html")
    frame.write_text(FRAME.format(src=f"{page.name}#{view}", width=width))
    return frame


def click_through(page: Path, width: int) -> Dict[str, Any]:
    probed = page.with_name("probed.html")
    probed.write_text(page.read_text().replace("</head>", PROBE + "</head>", 1))
    dom = chromium(framed(probed, width), "--dump-dom")
    text = re.search(r'<pre id="found">(.*?)</pre>', dom, re.S)
    assert text, dom[-2000:]
    from html import unescape

    found: Dict[str, Any] = json.loads(unescape(text[1]))
    return found


def report(folder: Path, *programs: Path, options: Sequence[str] = ()) -> Path:
    page = folder / "page.html"
    # Pages begin with the programs' names: without the folder they are the same everywhere.
    names = [program.relative_to(folder) if program.is_relative_to(folder) else program for program in programs]
    subprocess.run([command(), "report", *names, "-o", page, "--force", *options], check=True, cwd=folder)
    return page


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """A small network, with names that are markup."""
    rng = numpy.random.default_rng(5)
    graph = ane.Graph()
    x = graph.input("<img src=x onerror=alert(1)>", (8, 12, 12))
    y = graph.convolution(x, rng.normal(0, 0.1, (16, 8, 3, 3)).astype(numpy.float16), padding=1, relu=True)
    z = graph.softmax(graph.mean(graph.add(y, graph.sigmoid(y))))
    graph.output("</script><script>alert(2)</script>", z)
    path = tmp_path / "network.anec"
    graph.build().save(path)
    return path


def patch(program: Path, to: Path, *words: str) -> Path:
    subprocess.run([command(), "patch", program, "-o", to, *words], check=True, stdout=subprocess.DEVNULL)
    return to


@browser
@pytest.mark.parametrize("width", [1280, 400])
def test_every_view_of_a_program_is_clicked_through_without_an_error(network: Path, tmp_path: Path, width: int) -> None:
    page = report(tmp_path, network)
    found = click_through(page, width)
    tasks = len(ane.load(network).tasks)
    assert found["errors"] == [] and found["wide"] == [] and found["width"] == width
    assert [name for name, *_ in found["views"]] == ["Graph", "Timeline", "Memory", "Surfaces", "Registers"]
    nodes: List[int] = [count for _, _, count in found["views"]]
    assert nodes[:3] == [tasks] * 3
    assert found["opened"] > 20 and found["grades"] > 20
    assert found["images"] == 0, "a name became markup"
    assert found["themes"][-1] != found["themes"][0]
    assert page.stat().st_size < 500_000


@browser
def test_two_programs_are_side_by_side_with_their_differences_and_a_refusal(network: Path, tmp_path: Path) -> None:
    other = patch(network, tmp_path / "other.anec", "--task", "1", "--set", "MACCfg=0xffffffff")
    page = report(tmp_path, network, other)
    for width in (1280, 400):
        found = click_through(page, width)
        assert found["errors"] == [] and found["wide"] == []
        assert found["views"][-1][0] == "Differences" and found["views"][-1][1] > 100
    shown = chromium(page, "--dump-dom")
    assert "Task 1 is refused" in shown and "refused: 1" in shown


@browser
def test_fault_of_a_run_is_shown_at_its_task(network: Path, tmp_path: Path) -> None:
    far = patch(network, tmp_path / "far.anec", "--task", "0", "--set", "SrcPlaneStride1=0x4000000")
    page = report(tmp_path, far, options=["--run"])
    assert click_through(page, 400)["errors"] == []
    shown = chromium(page, "--dump-dom")
    assert "A run ended at task 0: transfer faulted at 0x" in shown and "run ended: 0" in shown


def screenshot(page: Path, view: str, width: int, to: Path) -> pictures.Grey:
    chromium(framed(page, width, view), f"--screenshot={to}")
    return pictures.read(to)[:, :width]


def has_font() -> bool:
    """Whether there is the font that stored pictures were made with; Debian's fontconfig brings it."""
    try:
        return "DejaVu" in subprocess.run(["fc-list"], capture_output=True, text=True).stdout
    except FileNotFoundError:
        return False


@browser
@pytest.mark.skipif(not has_font(), reason="not run: the fonts DejaVu are not installed")
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_pictures_of_all_views_look_as_they_did(network: Path, tmp_path: Path, width: int, theme: str) -> None:
    page = report(tmp_path, network)
    added = "<style>* { font-family: 'DejaVu Sans' !important; }</style>"
    if theme == "dark":
        added += '<script>addEventListener("load", () => document.getElementById("theme").click());</script>'
    page.write_text(page.read_text().replace("</head>", added + "</head>", 1))
    grids = {}
    for view in VIEWS:
        picture = tmp_path / f"{view}.png"
        grids[view] = pictures.small(screenshot(page, view, width, picture))
        kept = os.environ.get("ANE_PICTURES")
        if kept:
            shutil.copy(picture, Path(kept) / f"{view}-{width}-{theme}.png")
    for view, grid in grids.items():
        stored = PICTURES / f"{view}-{width}-{theme}.png"
        if os.environ.get("ANE_WRITE"):
            pictures.write(stored, grid)
        known = pictures.read(stored)
        changed = pictures.share_changed(grid, known)
        assert changed <= pictures.SHARE, (
            f"{view} at {width} pixels, {theme}: {changed:.1%} of its cells look different from {stored}; "
            "look at the page, and store it anew with ANE_WRITE=1 if it is meant"
        )
        # What tells a view from every other one, and from a page without anything, tells a broken one.
        others = [pictures.share_changed(other, known) for name, other in grids.items() if name != view]
        assert min(others + [pictures.share_changed(grid * 0 + grid[-1, -1], known)]) > pictures.SHARE


def test_patch_changes_what_the_program_computes_and_nothing_else(network: Path, example: Path, tmp_path: Path) -> None:
    product = patch(example, tmp_path / "product.anec", "--task", "0", "--set", "PECfg.operation=1")
    assert product.stat().st_size == example.stat().st_size
    x = numpy.full((16, 32), 3, numpy.float16)
    assert float(ane.load(product).run(input0=x, input1=x)["output0"].min()) == 9
    program = ane.load(network)
    length = sum(bar.bytes for bar in program.bars if bar.role == "constants")
    (tmp_path / "zeros").write_bytes(bytes(length))
    wrong = [command(), "patch", network, "--coefficients", example, "-o", tmp_path / "none"]
    ran = subprocess.run(wrong, capture_output=True, text=True)
    assert ran.returncode == 1 and "a patch keeps every length" in ran.stderr and not (tmp_path / "none").exists()
    patched = ane.load(patch(network, tmp_path / "zeros.anec", "--coefficients", str(tmp_path / "zeros")))
    assert len(patched.tasks) == len(program.tasks)
