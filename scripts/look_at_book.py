#!/usr/bin/python3
"""For authors: looks at the built book in Chromium, at three widths, light and dark, and walks through it with the keyboard alone.

Needs chromium, chromium-driver and python3-selenium, and a book (./shardlings book). Ends with 1 and a line for each thing that is
wrong: an error in the console, a request that leaves the machine, a page wider than its window, a part that keys do not reach, and,
with --axe, what axe-core finds; with 77 where Chromium or Selenium is not there.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WIDTHS = (360, 800, 1440)
PROGRESS = {"done": 1, "total": 86, "exercises": [{"name": "hello_ranks", "state": "done"}, {"name": "chunk_bounds", "state": "next"}]}


class Book:
    """Chromium, and the book that it shows."""

    def __init__(self, at, pictures):
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
        options = webdriver.ChromeOptions()
        for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.browser = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        self.at, self.pictures, self.faults, self.looked_at = at, pictures, [], 0

    def window(self, width, colours):
        self.width, self.colours = width, colours
        self.browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": colours}]})

    def open(self, page):
        self.page = page
        self.browser.get(self.at + page)

    def ask(self, script, *arguments):
        return self.browser.execute_script("return " + script, *arguments)

    def press(self, *keys):
        from selenium.webdriver.common.action_chains import ActionChains
        ActionChains(self.browser).send_keys(*keys).perform()

    def fault(self, text):
        self.faults.append(f"{self.page}, {self.width} {self.colours}: {text}")

    def expect(self, holds, text):
        if not holds:
            self.fault(text)

    def look(self, axe):
        """What holds for every page."""
        self.looked_at += 1
        wide = self.ask("document.documentElement.scrollWidth")
        self.expect(wide <= self.width, f"is {wide} wide")
        for entry in self.browser.get_log("browser"):
            self.fault(f"the console says {entry['message']}")
        for entry in self.browser.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                self.expect(url.startswith((self.at, "data:")), f"asks for {url}")
        if axe:
            self.browser.execute_script(axe)
            found = self.browser.execute_async_script("axe.run().then(arguments[0])")
            for violation in found["violations"]:
                nodes = violation["nodes"]
                self.fault(f"axe, {violation['impact']}: {violation['help']} ({len(nodes)}, first {nodes[0]['html'][:120]})")
        if self.pictures:
            name = self.page.split("?")[0].replace("/", "_").removesuffix(".html")
            self.browser.save_screenshot(str(self.pictures / f"{name}_{self.width}_{self.colours}.png"))

    def tab_to(self, selector, limit=600):
        """Whether Tab, pressed often enough, arrives at what the selector names, and shows where it is."""
        from selenium.webdriver.common.keys import Keys
        for _ in range(limit):
            self.press(Keys.TAB)
            if self.ask("document.activeElement.matches(arguments[0])", selector):
                return self.ask("getComputedStyle(document.activeElement).outlineStyle") != "none"
        return False

    def walk(self):
        """Through the book with the keyboard alone."""
        from selenium.webdriver.common.keys import Keys
        self.open("01_point_to_point.html")
        self.press("/")
        self.expect(self.ask("document.activeElement.name") == "q", "/ does not lead to the search")
        self.press("deadlock", Keys.ENTER)
        self.expect(self.tab_to(".search a"), "Tab does not reach what was found")
        self.press(Keys.ENTER)
        self.expect("search.html" not in self.browser.current_url, "Enter does not open what was found")

        self.open("01_point_to_point.html")
        self.expect(self.tab_to("input[name=q]"), "Tab does not reach the search")
        self.open("01_point_to_point.html")
        if self.width < 960:
            self.expect(self.tab_to("#menu-button"), "Tab does not reach the menu")
            self.press(Keys.ENTER)
        self.expect(self.tab_to("#menu a"), "Tab does not reach the contents")
        self.press(Keys.ENTER)

        self.open("01_point_to_point.html")
        self.expect(self.tab_to("a[rel=next]"), "Tab does not reach the next page")
        self.press(Keys.ENTER)
        self.expect("02_naive" in self.browser.current_url, "Enter does not open the next page")
        self.open("exercises/hello_ranks.html")
        self.expect(self.tab_to("summary"), "Tab does not reach the hints")
        self.press(Keys.ENTER)
        self.expect(self.ask("document.querySelector('details').open"), "Enter does not open a hint")
        self.expect(self.ask("document.querySelectorAll('#menu .state').length") == 2, "what is done is not marked")

    def switch_colours(self):
        self.open("index.html")
        before = self.ask("getComputedStyle(document.body).backgroundColor")
        self.expect(self.tab_to("#theme-button"), "Tab does not reach the colours")
        self.press(" ")
        self.open("01_point_to_point.html")
        self.expect(self.ask("getComputedStyle(document.body).backgroundColor") != before, "the next page forgets the colours")
        self.ask("localStorage.clear()")


def pages_of(site, all_pages):
    pages = sorted(str(file.relative_to(site)) for file in site.rglob("*.html"))
    if not all_pages:
        some = ("exercises/01", "exercises/ring_all_reduce", "exercises/zero3", "exercises/accumulate_kernel")
        pages = [page for page in pages if "/" not in page or page.startswith(some)]
    return ["search.html?q=ring" if page == "search.html" else page for page in pages]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--site", type=Path, default=ROOT / "build" / "book")
    parser.add_argument("--all", action="store_true", help="every page of an exercise, too")
    parser.add_argument("--axe", type=Path, help="axe.min.js of axe-core (npm's axe-core, PyPI's axe-playwright-python)")
    parser.add_argument("--pictures", type=Path, help="a folder for a picture of each page")
    options = parser.parse_args()
    try:
        import selenium  # noqa: F401
    except ImportError:
        print("python3-selenium is not installed")
        return 77
    if not Path("/usr/bin/chromedriver").exists():
        print("chromium-driver is not installed")
        return 77
    if options.pictures:
        options.pictures.mkdir(parents=True, exist_ok=True)
    axe = options.axe.read_text() if options.axe else ""

    with tempfile.NamedTemporaryFile("w", suffix=".json") as progress:
        json.dump(PROGRESS, progress)
        progress.flush()
        server = subprocess.Popen(
            [sys.executable, ROOT / "course" / "book" / "serve.py", options.site, "0", "cat", progress.name],
            stdout=subprocess.PIPE, text=True)
        try:
            at = server.stdout.readline().split("at ")[1].split()[0]
            book = Book(at, options.pictures)
            try:
                for width in WIDTHS:
                    for colours in ("light", "dark"):
                        book.window(width, colours)
                        for page in pages_of(options.site, options.all):
                            book.open(page)
                            book.look(axe)
                    book.walk()
                    book.switch_colours()
            finally:
                book.browser.quit()
        finally:
            server.terminate()
            server.wait()
    print("\n".join(book.faults))
    print(f"looked at {book.looked_at} pages{' with axe' if axe else ''}, {len(book.faults)} faults")
    return 1 if book.faults else 0


if __name__ == "__main__":
    sys.exit(main())
