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
from html import unescape
from pathlib import Path
from typing import Any, Dict, List, NoReturn, Sequence

import numpy
import pytest

import ane
import pictures
from ane.pytest_plugin import command

PICTURES = Path(__file__).parent / "pictures"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
browser = pytest.mark.usefixtures("_browser")

# The pages of which pictures are stored: their name, the page, and the view.
PAGES = (
    *((view, "network", view) for view in ("graph", "timeline", "memory", "surfaces", "registers")),
    ("differences", "both", "differences"),
    ("refusal", "refused", "graph"),
    ("fault", "fault", "graph"),
)


def not_run(why: str) -> NoReturn:
    """Skips a test, or fails it where CI=true says that everything has to run."""
    if os.environ.get("CI") == "true":
        pytest.fail(why)
    pytest.skip(f"not run: {why}")


@pytest.fixture
def _browser() -> None:
    if CHROMIUM is None:
        not_run("there is no Chromium")


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
      if (input.type === "range") input.value = input.max;
      input.dispatchEvent(new Event("change"));
      measure();
      for (const svg of view.querySelectorAll("svg")) {
        const { x, width } = svg.getBBox();
        if (x + width > svg.width.baseVal.value + 1) found.errors.push("a picture of view " + i + " is cut at its right");
      }
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

# Every task's registers: name, value, value before, and fields.
REGISTERS = """
<script>
addEventListener("load", () => {
  const view = document.getElementById("view"), found = {};
  document.getElementById("tabs").children[4].click();
  for (let last = -1; ;) {
    const index = Number(/Task (\\d+):/.exec(view.textContent)[1]);
    if (index === last) break;
    last = index;
    found[index] = [...view.querySelectorAll("tr.row")].map((row) => [...row.children].map((cell) => cell.textContent));
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "j", bubbles: true }));
  }
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


def probed(page: Path, probe: str, width: int) -> Any:
    """The answer of a script in a copy of the page."""
    copy = page.with_name("probed.html")
    copy.write_text(page.read_text().replace("</head>", probe + "</head>", 1))
    dom = chromium(framed(copy, width), "--dump-dom")
    text = re.search(r'<pre id="found">(.*?)</pre>', dom, re.S)
    assert text, dom[-2000:]
    return json.loads(unescape(text[1]))


def framed(page: Path, width: int, view: str = "") -> Path:
    frame = page.with_name(f"frame-{width}-{view}.html")
    frame.write_text(FRAME.format(src=f"{page.name}#{view}", width=width))
    return frame


def click_through(page: Path, width: int) -> Dict[str, Any]:
    found: Dict[str, Any] = probed(page, PROBE, width)
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
    assert re.search(r"Task 1</button> is refused", shown) and "refused: 1" in shown


def words(task: Dict[str, Any]) -> Dict[str, Dict[str, Any]]:
    """The words of a task as `ane decode --json` has them, by the name that the page gives them."""
    listed = task["header"] + [register for block in task["blocks"] for register in block["registers"]]
    return {one["name"] + (f"[{one['index']}]" if "index" in one else ""): one for one in listed}


# Normal and subnormal halves, zeros of both signs, an infinity and one that is no number; singles very small and very large.
HALVES = ["0x00000000", "0x3dc50001", "0x80008001", "0xfc007e01", "0x7bff0400"]
SINGLES = ["0x00000001", "0xff7fffff", "0x3dcccccd", "0x7f800000", "0x80000000"]


@browser
@pytest.mark.parametrize(("half", "single"), list(zip(HALVES, SINGLES)))
def test_registers_of_the_page_are_those_of_the_decoder(network: Path, tmp_path: Path, half: str, single: str) -> None:
    changes = ["--set", f"BiasScale={half}", "--set", f"FinalScale={single}"]
    # A base has no sign, and a stride has.
    changes += ["--set", "SrcBaseAddr1=0xffffffc0", "--set", "SrcPlaneStride1=0xffffffc0"]
    patched = patch(network, tmp_path / "patched.anec", "--task", "1", *changes)
    shown = probed(report(tmp_path, patched), REGISTERS, 1280)
    decoded = subprocess.run([command(), "decode", "--json", patched], check=True, capture_output=True, text=True).stdout
    tasks = json.loads(decoded)["tasks"]
    assert [int(index) for index in shown] == [task["index"] for task in tasks]
    for task in tasks:
        known = words(task)
        rows = {name: cells for name, *cells in shown[str(task["index"])]}
        first = task["index"] == 0
        assert set(rows) == {name for name, one in known.items() if first or "was" in one}
        for name, (value, was, fields) in rows.items():
            one = known[name]
            assert (value, was) == (one["value"], one.get("was", ""))
            said = one.get("said", {})
            listed = dict(field.split(" ", 1) for field in fields.split(", ") if field)
            assert set(listed) >= {field for field, number in one["fields"].items() if number}
            assert {field: listed[field] for field in said if field in listed} == {f: said[f] for f in said if f in listed}
            assert set(said) <= set(listed) or all(one["fields"][field] == 0 for field in set(said) - set(listed))


@browser
def test_refused_task_behind_those_that_are_shown_is_there_with_its_registers(tmp_path: Path) -> None:
    graph = ane.Graph()
    x = graph.input("x", (8, 4, 16))
    for _ in range(600):
        x = graph.relu(x)
    graph.output("y", x)
    graph.build().save(tmp_path / "long.anec")
    refused = patch(tmp_path / "long.anec", tmp_path / "refused.anec", "--task", "500", "--set", "MACCfg=0xffffffff")
    page = report(tmp_path, refused)
    found = click_through(page, 400)
    assert found["errors"] == [] and found["wide"] == []
    shown = chromium(page, "--dump-dom")
    assert "257 of 600 tasks are shown: the first 256, and behind them 1 that is refused" in shown
    assert "244 tasks not shown" in shown and "99 tasks not shown" in shown
    registers = probed(page, REGISTERS, 1280)
    assert [int(index) for index in registers] == [*range(256), 500]
    assert ["MACCfg", "0xffffffff"] in [row[:2] for row in registers["500"]]
    assert {one.task for one in ane.load(refused).refusals} == {500}


@browser
def test_names_that_are_long_are_cut_in_the_page(tmp_path: Path) -> None:
    graph = ane.Graph()
    graph.output("y", graph.relu(graph.input("x" * 300, (8, 4, 16))))
    graph.build().save(tmp_path / "named.anec")
    page = report(tmp_path, tmp_path / "named.anec")
    assert "(cut, 300 bytes)" in page.read_text()
    found = click_through(page, 400)
    assert found["errors"] == [] and found["wide"] == []


@browser
def test_fault_of_a_run_is_shown_at_its_task(network: Path, tmp_path: Path) -> None:
    far = patch(network, tmp_path / "far.anec", "--task", "0", "--set", "SrcPlaneStride1=0x4000000")
    page = report(tmp_path, far, options=["--run"])
    assert click_through(page, 400)["errors"] == []
    shown = chromium(page, "--dump-dom")
    assert "A run ended at <" in shown and "task 0</button>: transfer faulted at 0x" in shown and "run ended: 0" in shown


# Pictures that are taken of a view until one looks as it did.
TRIES = 3


def screenshot(page: Path, view: str, width: int, to: Path) -> pictures.Grey:
    chromium(framed(page, width, view), f"--screenshot={to}")
    return pictures.read(to)[:, :width]


def has_font() -> bool:
    """Whether there is the font that stored pictures were made with; Debian's fontconfig brings it."""
    try:
        return "DejaVu" in subprocess.run(["fc-list"], capture_output=True, text=True).stdout
    except FileNotFoundError:
        return False


@pytest.fixture
def pages(network: Path, tmp_path: Path) -> Dict[str, Path]:
    """The pages of `PAGES`: a network, one beside a changed one, one with a refusal, and one whose run ends by a fault."""
    changed = patch(network, tmp_path / "changed.anec", "--task", "0", "--set", "MACCfg.nonlinear_mode=none")
    refused = patch(network, tmp_path / "refused.anec", "--task", "1", "--set", "MACCfg=0xffffffff")
    far = patch(network, tmp_path / "far.anec", "--task", "0", "--set", "SrcPlaneStride1=0x4000000")
    made = {"network": ([network], []), "both": ([network, changed], []), "refused": ([refused], []), "fault": ([far], ["--run"])}
    return {name: report(tmp_path, *programs, options=options).rename(tmp_path / f"{name}.html") for name, (programs, options) in made.items()}


@browser
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_pictures_of_all_views_look_as_they_did(pages: Dict[str, Path], tmp_path: Path, width: int, theme: str) -> None:
    if not has_font():
        not_run("the fonts DejaVu are not installed")
    added = "<style>* { font-family: 'DejaVu Sans' !important; }</style>"
    if theme == "dark":
        added += '<script>addEventListener("load", () => document.getElementById("theme").click());</script>'
    for page in pages.values():
        page.write_text(page.read_text().replace("</head>", added + "</head>", 1))
    grids = {}
    for name, page_name, view in PAGES:
        picture = tmp_path / f"{name}.png"
        stored = PICTURES / f"{name}-{width}-{theme}.png"
        # On a busy machine the browser sometimes takes a picture before all of the inner page is painted; a page that is wrong is
        # wrong each time.
        for _ in range(TRIES):
            grids[name] = pictures.small(screenshot(pages[page_name], view, width, picture))
            if os.environ.get("ANE_WRITE") or pictures.share_changed(grids[name], pictures.read(stored)) <= pictures.SHARE:
                break
        kept = os.environ.get("ANE_PICTURES")
        if kept:
            shutil.copy(picture, Path(kept) / f"{name}-{width}-{theme}.png")
    changed, alike = {}, []
    for name, grid in grids.items():
        stored = PICTURES / f"{name}-{width}-{theme}.png"
        if os.environ.get("ANE_WRITE"):
            pictures.write(stored, grid)
        known = pictures.read(stored)
        share = pictures.share_changed(grid, known)
        if share > pictures.SHARE:
            changed[stored.name] = f"{share:.2%} of its cells"
        # What tells a view from every other one, and from a page without anything, tells a broken one.
        others = [pictures.share_changed(other, known) for other_name, other in grids.items() if other_name != name]
        if min(others + [pictures.share_changed(grid * 0 + grid[-1, -1], known)]) <= 10 * pictures.SHARE:
            alike.append(stored.name)
    # All of them at once: whoever changed a word stores all pictures that show it.
    assert not changed, f"pages look different from {PICTURES}: {changed}; look at them, and store them anew with ANE_WRITE=1 if it is meant"
    assert not alike, f"pictures that could be those of another view: {alike}"


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
