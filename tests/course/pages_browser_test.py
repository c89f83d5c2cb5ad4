#!/usr/bin/python3
"""Plays the pages of `trace --html` and `bench --html` in Chromium, and compares what they show with what they are filled with.

    tests/course/pages_browser_test.py --pages-of player_test --shardlings shardlings_cli [--screens FOLDER]

Of the right and the wrong runs below, and of those that player_test makes. Needs chromium, chromium-driver and python3-selenium of
the distribution: exits with 77 where one is missing. --screens keeps a picture of each page in each width and colour scheme.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
WIDTHS = (360, 800, 1440)
LIMIT_S = 30
CURVES = ("bench", "bench_ranks", "simulate")  # of these names are pages with curves
ROUNDS = 12  # of a run that are looked at one by one
MUTANT = "tests/mutants/03_ring_and_tree/ring_all_reduce.toml:naive_through_root"
ROOT = pathlib.Path(__file__).resolve().parents[2]
RIGHT = "solutions/03_ring_and_tree/ring_all_reduce.cpp"

try:
    from selenium import webdriver
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import Select, WebDriverWait
except ImportError:
    print("python3-selenium is not installed")
    sys.exit(SKIPPED)


class Failed(Exception):
    pass


def expect(holds, what: str):
    if not holds:
        raise Failed(what)


def same(got, expected, what: str):
    expect(got == expected, f"{what}: {got} is shown, and {expected} is right")


def chromium():
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--force-device-scale-factor=1"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(service=webdriver.chrome.service.Service(shutil.which("chromedriver")), options=options)


class Browser:
    """A page in a browser, and what can be seen of it."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, file: pathlib.Path):
        self.driver.get(file.as_uri())

    def js(self, code: str, *arguments):
        return self.driver.execute_script(code, *arguments)

    def all(self, selector: str, attribute: str):
        return self.js(f"return [...document.querySelectorAll(arguments[0])].map((one) => one.{attribute})", selector)

    def press(self, *keys):
        webdriver.ActionChains(self.driver).send_keys(*keys).perform()

    def emulate(self, media="", scheme="light", width=1000, height=900):
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"media": media, "features": [{"name": "prefers-color-scheme", "value": scheme}]})
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def is_seen(self, selector: str) -> bool:
        return any(one.is_displayed() for one in self.driver.find_elements(By.CSS_SELECTOR, selector))

    def data(self):
        return json.loads(self.js("return document.getElementById('data').textContent"))

    def expect_quiet(self):
        """No word in the console, and nothing asked for but files of this machine."""
        same([line["message"] for line in self.driver.get_log("browser")], [], "console")
        for line in self.driver.get_log("performance"):
            message = json.loads(line["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                expect(url.startswith(("file:", "data:")), f"the page asks for {url}")


# what the records say, worked out anew

def under_way(run, k):
    return [i for i, one in enumerate(run["messages"]) if one["begin"] < k <= one["end"]]


def is_wrong(run, message):
    late = run["right_rounds"] is not None and message["end"] > run["right_rounds"]
    return message["lost"] or message["excess"] or late


def counts(run, k):
    """Messages and bytes sent, messages and bytes received: of each rank, and of all."""
    rows = []
    for rank in [*range(run["ranks"]), None]:
        sent = [m["bytes"] for m in run["messages"] if m["begin"] < k and rank in (None, m["src"])]
        came = [m["bytes"] for m in run["messages"] if m["end"] <= k and not m["lost"] and rank in (None, m["dst"])]
        rows.append([len(sent), sum(sent), len(came), sum(came)])
    return rows


def contents(run, k):
    """The values of each cell of each rank, as the last message showed them that left it by then, or came into it."""
    cells = {}
    for number, memory in enumerate(run["memory"]):
        cuts = memory["cuts"]
        for message in run["messages"]:
            ends = [("from", message["src"], message["begin"], 1)]
            ends += [] if message["lost"] else [("into", message["dst"], message["end"], 0)]
            for end, rank, at, leaves in ends:
                part = message[end]
                if part is None or part["memory"] != number:
                    continue
                for i, (begin, until) in enumerate(zip(cuts, cuts[1:])):
                    key = (rank, number, i)
                    cells.setdefault(key, [])
                    if at <= k and part["begin"] <= begin and until <= part["end"]:
                        values = message["values"].split()[(begin - part["begin"]) // 4:(until - part["begin"]) // 4]
                        cells[key].append((at, leaves, " ".join(values)))
    # all cells of a rank's memory are shown once a message goes through it
    seen = {(rank, number) for rank, number, _ in cells}
    every = {(r, n, i): "" for r, n in seen for i in range(len(run["memory"][n]["cuts"]) - 1)}
    every.update({key: max(events, key=lambda event: event[:2])[2] for key, events in cells.items() if events})
    return every


def check_round(page, run, k):
    where = f"after round {k}"
    same(page.js("return document.body.dataset.round"), str(k), "round")
    same(page.js("return document.getElementById('slider').value"), str(k), f"slider {where}")
    moving = under_way(run, k)
    same(sorted(map(int, page.all("#stage .message", "dataset.index"))), moving, f"arrows {where}")
    same(sorted(map(int, page.all("#messages li", "dataset.index"))), moving, f"messages {where}")
    red = [i for i in moving if is_wrong(run, run["messages"][i])]
    same(sorted(map(int, page.all("#messages li.wrong", "dataset.index"))), red, f"messages in red {where}")
    same(sorted(map(int, page.all("#stage .message.wrong", "dataset.index"))), red, f"arrows in red {where}")
    numbers = [int(text.replace(",", "")) for text in page.all("#counts tbody td, #counts tfoot td", "textContent")]
    same([numbers[i:i + 4] for i in range(0, len(numbers), 4)], counts(run, k), f"counts {where}")
    shown = page.js("return [...document.querySelectorAll('#stage [data-cell]')].map((one) =>"
                    " [one.dataset.rank, one.dataset.memory, one.dataset.cell, one.dataset.values])")
    same({tuple(map(int, one[:3])): one[3] for one in shown}, contents(run, k), f"contents {where}")
    for wait in run["waits"]:
        does = page.js(f"return document.querySelector('#stage .rank[data-rank=\"{wait['rank']}\"]').dataset.does")
        if wait["begin"] < k <= wait["end"]:
            same(does, "waits in vain" if wait["forever"] else "waits", f"rank {wait['rank']} {where}")
    ends = run["ends"] if k == run["rounds"] else []
    same(sorted(map(int, page.all("#ends li", "dataset.rank"))), [end["rank"] for end in ends], f"ranks that stand {where}")


def check_player(page, file, fails):
    page.open(file)
    run = page.data()
    last = run["rounds"]
    same(page.is_seen("#reason"), fails, "the reason of a failure")
    check_round(page, run, 0)
    for k in range(1, min(last, ROUNDS) + 1):
        page.press(Keys.ARROW_RIGHT)
        check_round(page, run, k)
    page.press(Keys.ARROW_LEFT)
    check_round(page, run, min(last, ROUNDS) - 1)
    page.press(Keys.END)
    check_round(page, run, last)
    page.press(Keys.ARROW_RIGHT)
    check_round(page, run, last)
    page.press(Keys.HOME)
    check_round(page, run, 0)
    for button, k in (("end", last), ("back", last - 1), ("step", last), ("home", 0)):
        page.driver.find_element(By.ID, button).click()
        check_round(page, run, k)
    slider = page.driver.find_element(By.ID, "slider")
    page.js("arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))", slider, last)
    check_round(page, run, last)
    page.js("arguments[0].value = 0; arguments[0].dispatchEvent(new Event('input'))", slider)
    slider.send_keys(Keys.ARROW_RIGHT)
    check_round(page, run, 1)
    page.js("document.activeElement.blur()")
    page.press(Keys.END, Keys.ARROW_LEFT, Keys.ARROW_LEFT, " ")
    WebDriverWait(page.driver, LIMIT_S).until(lambda _: page.js("return document.body.dataset.round") == str(last))
    WebDriverWait(page.driver, LIMIT_S).until(lambda _: page.js("return document.getElementById('play').ariaPressed") == "false")
    check_round(page, run, last)
    wrong = [one for one in run["messages"] if is_wrong(run, one)]
    same(page.is_seen("#next-wrong"), bool(wrong), "the way to what is wrong")
    if wrong:
        page.press(Keys.HOME, "w")
        check_round(page, run, min(one["begin"] for one in wrong) + 1)
        red = page.js("const probe = document.getElementById('reason'); return getComputedStyle(probe).color")
        same(set(page.js("return [...document.querySelectorAll('#messages li.wrong')].map((one) => getComputedStyle(one).color)")),
             {red}, "the colour of a wrong message")
        same(set(page.js("return [...document.querySelectorAll('#stage .message.wrong .arrow')]"
                         ".map((one) => getComputedStyle(one).stroke)")), {red}, "the colour of a wrong arrow")


def points_of(document):
    """Algorithm, ranks, bytes and seconds of all points, of bench's document or simulate's."""
    if "times" in document:
        return [(t["algorithm"], t["ranks"], t["size_bytes"], t["seconds"]) for t in document["times"]]
    return [(p["algorithm"], run["ranks"], p["size_bytes"], p["time_us"] * 1e-6) for run in runs_of(document) for p in run["points"]]


def runs_of(document):
    """Of bench's document: one for each number of ranks."""
    return document.get("runs", [document])


def expect_verdicts(page):
    """Each run's verdict is told, with its number of ranks where there are several; a bound where all were measured."""
    runs = runs_of(page.data())
    notes = page.all("#notes li", "textContent")
    for run in runs:
        verdict = run["verdict"]["in_words"]
        said = f"{run['ranks']} ranks: {verdict}" if len(runs) > 1 else verdict
        expect(said in notes, f"{said!r} is not among {notes}")
    bounds = page.js("return measured.rows.filter((row) => row.algorithm === 'lower bound').map((row) => [row.ranks, row.size])")
    same(sorted(bounds), sorted([run["ranks"], size] for run in runs
                                for size in {p["size_bytes"] for p in run["points"] if p["asked_for"]}), "where a bound is drawn")


def check_curves(page, file):
    page.open(file)
    points = points_of(page.data())
    if "times" not in page.data():
        expect_verdicts(page)
    names = list(dict.fromkeys(point[0] for point in points))
    sizes = sorted({point[2] for point in points})
    ranks = sorted({point[1] for point in points})
    plot = page.driver.find_element(By.ID, "plot")

    def rows():
        return {row[0]: row[1] for row in page.js(
            "return [...document.querySelectorAll('#here tr')].map((row) => [row.dataset.algorithm, row.children[1].textContent])")}

    def expect_ratios(p, size):
        time = {name: seconds for name, its_ranks, its_size, seconds in points if (its_ranks, its_size) == (p, size)}
        for name in time:
            right = time["naive"] / time[name]
            expect(abs(float(rows()[name]) - right) < 1e-3 * right, f"{name} on {p} ranks at {size} bytes: {rows()[name]} is shown")

    Select(page.driver.find_element(By.ID, "measure")).select_by_value("vs_naive")
    for key, size in ((Keys.HOME, sizes[0]), (Keys.END, sizes[-1]), (Keys.ARROW_LEFT, sizes[-2])):
        plot.send_keys(key)
        expect_ratios(ranks[-1], size)
    if len(ranks) > 1:
        Select(page.driver.find_element(By.ID, "axis")).select_by_value("ranks")
        Select(page.driver.find_element(By.ID, "fixed")).select_by_value(str(sizes[0]))
        for key, p in ((Keys.HOME, ranks[0]), (Keys.ARROW_RIGHT, ranks[1])):
            plot.send_keys(key)
            expect_ratios(p, sizes[0])
        Select(page.driver.find_element(By.ID, "axis")).select_by_value("size")
    webdriver.ActionChains(page.driver).move_to_element_with_offset(plot, plot.size["width"] // 2 - 30, 0).perform()
    expect_ratios(ranks[-1], sizes[-1])
    expect(page.is_seen("#here tr.near"), "the curve that the pointer is at is marked in the table")
    for box in page.driver.find_elements(By.CSS_SELECTOR, "#legend input"):
        name = box.get_attribute("value")
        box.click()
        expect(name not in page.all("#plot .curve", "dataset.algorithm"), f"{name} is switched off, and shown")
        expect(name not in rows(), f"{name} is switched off, and in the table")
        box.click()
        if name in names:
            expect(name in page.all("#plot .curve", "dataset.algorithm"), f"{name} is switched on, and not shown")


def check_training(page, file):
    """Images a second, efficiency and times over ranks: what stands at a place is what the document says."""
    page.open(file)
    document = page.data()
    steps = document["steps"]
    plot = page.driver.find_element(By.ID, "plot")
    right = {
        "images": lambda step: step["images_per_s"],
        "efficiency": lambda step: 100 * step["efficiency"],
        "time": lambda step: 1e3 * step["step_s"],
        "exposed": lambda step: 1e3 * step["exposed_s"],
    }
    same([option.get_attribute("value") for option in Select(page.driver.find_element(By.ID, "measure")).options], list(right), "measures")
    for measure, value in right.items():
        Select(page.driver.find_element(By.ID, "measure")).select_by_value(measure)
        for key, ranks in ((Keys.HOME, 4), (Keys.ARROW_RIGHT, 16), (Keys.END, 64)):
            plot.send_keys(key)
            wanted = {step["name"]: value(step) for step in steps if step["ranks"] == ranks and value(step) > 0}
            if measure != "exposed":
                alone = {"images_per_s": document["measured"]["images_per_s"] * ranks, "efficiency": 1, "step_s": 0.3}
                wanted["no messages"] = value(alone)
            shown = dict(page.js("return [...document.querySelectorAll('#here tr')].map((row) => [row.dataset.algorithm, row.children[1].textContent])"))
            same(sorted(shown), sorted(wanted), f"who is shown on {ranks} ranks")
            for name, number in wanted.items():
                unit = shown[name].split()[1:]
                said = float(shown[name].split()[0]) * (1e3 if unit == ["s"] else 1)
                expect(abs(said - number) < 1e-3 * number, f"{measure} of {name} on {ranks} ranks: {shown[name]} is shown, not {number}")
    same(page.all("#notes li", "textContent"), document["notes"], "the notes")


def check_every_look(page, file, screens):
    """Nothing is wider than the window; on paper, and without scripts, the still picture."""
    for width in WIDTHS:
        for scheme in ("light", "dark"):
            page.emulate(scheme=scheme, width=width)
            page.open(file)
            page.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
            wide = page.js("return document.documentElement.scrollWidth")
            expect(wide <= width, f"{file.name} is {wide} pixels wide in a window of {width}")
            if screens:
                tall = page.js("return document.documentElement.scrollHeight")
                page.emulate(scheme=scheme, width=width, height=tall)
                page.driver.save_screenshot(str(screens / f"{file.stem}_{width}_{scheme}.png"))
    page.emulate(width=1000)
    page.open(file)
    still = "#still svg, #still pre"
    expect(not page.is_seen(still), "the still picture is folded at first")
    page.driver.find_element(By.ID, "unfold").click()
    expect(page.is_seen(still), "the button unfolds the still picture")
    page.open(file)
    page.emulate(media="print")
    expect(page.is_seen(still) and not page.is_seen("#controls, #choice"), "paper shows the still picture")
    page.emulate()
    page.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    page.open(file)
    expect(page.is_seen(still) and not page.is_seen("#player, #curves"), "without scripts the still picture is shown")
    page.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def make_pages(arguments, folder: pathlib.Path):
    subprocess.run([arguments.pages_of], env={**os.environ, "SHARDLINGS_PAGES": str(folder)}, check=True, stdout=subprocess.DEVNULL)
    for name, answer, test in (("right", RIGHT, "combines"), ("excess", MUTANT, "busy")):
        subprocess.run([arguments.shardlings, "trace", "ring_all_reduce", "--as", answer, "--test", test, "--html", "--text",
                        "--out", str(folder / name)], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        shutil.move(folder / name / "ring_all_reduce.html", folder / f"{name}.html")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages-of", required=True, help="program that leaves pages in $SHARDLINGS_PAGES")
    parser.add_argument("--shardlings", required=True)
    parser.add_argument("--screens", type=pathlib.Path, help="folder for pictures of the pages")
    arguments = parser.parse_args()
    for program, package in (("chromium", "chromium"), ("chromedriver", "chromium-driver")):
        if shutil.which(program) is None:
            print(f"{package} is not installed")
            return SKIPPED
    if arguments.screens:
        arguments.screens.mkdir(parents=True, exist_ok=True)
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_pages(arguments, folder)
        driver = chromium()
        try:
            page = Browser(driver)
            for file in sorted(folder.glob("*.html")):
                page.emulate()
                try:
                    if file.stem == "train":
                        check_training(page, file)
                    elif file.stem in CURVES:
                        check_curves(page, file)
                    else:
                        check_player(page, file, file.stem != "right")
                    check_every_look(page, file, arguments.screens)
                    page.expect_quiet()
                except Failed as failure:
                    print(f"{file.name}: {failure}")
                    failed += 1
        finally:
            driver.quit()
    print("failed" if failed else "every page shows what it is filled with")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
