"""What is wrong with a built book: book_site.py SITE ROOT prints it, a line each, and ends with 1; else it prints figures."""
import re
import sys
import tomllib
import urllib.parse
from html.parser import HTMLParser
from pathlib import Path

LIMIT = 300_000  # bytes of a page with its styles and scripts, without its pictures


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.resources, self.pictures, self.frames, self.code = set(), [], [], [], [], []
        self.next, self.hints, self.in_code = None, 0, False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        self.ids |= {a[name] for name in ("id", "name") if a.get(name)}
        if tag == "a" and a.get("href"):
            self.links.append(a["href"])
        elif tag == "img":
            self.pictures.append(a["src"])
        elif tag == "iframe":
            self.frames.append(a["src"])
        elif tag == "link" and a.get("rel") == "next":
            self.next = a["href"]
        elif a.get("src") or (tag == "link" and a.get("rel") == "stylesheet"):
            self.resources.append(a.get("src") or a["href"])
        elif tag == "pre":
            self.in_code = True
            self.code.append("")
        elif tag == "summary":
            self.hints += 1

    def handle_endtag(self, tag):
        self.in_code = self.in_code and tag != "pre"

    def handle_data(self, text):
        if self.in_code:
            self.code[-1] += text


class Site:
    def __init__(self, folder):
        self.folder = folder.resolve()
        self.pages = {file: Page(file.read_text(encoding="utf-8")) for file in sorted(self.folder.rglob("*.html"))
                      if file.parent.name != "players"}
        self.faults = []

    def fault(self, file, text):
        self.faults.append(f"{file.relative_to(self.folder)}: {text}")

    def target(self, file, link):
        """The file that a link leads to; None outside of the site."""
        path = urllib.parse.unquote(urllib.parse.urlsplit(link).path)
        to = (file.parent / path).resolve() if path else file
        return to if to.is_file() and to.is_relative_to(self.folder) else None

    def check_page(self, file, page):
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme:
                continue  # followed by a reader, not loaded
            to = self.target(file, link)
            if to is None:
                self.fault(file, f"the link {link} leads nowhere")
            elif parts.fragment and to in self.pages and urllib.parse.unquote(parts.fragment) not in self.pages[to].ids:
                self.fault(file, f"the link {link} leads to no place of that page")
        for frame in page.frames:
            to = self.target(file, frame)
            if to is None:
                self.fault(file, f"the frame {frame} is not there")
            elif to.stat().st_size > LIMIT:
                self.fault(to, f"{to.stat().st_size} bytes")
        size = file.stat().st_size
        for resource in page.resources + page.pictures:
            to = self.target(file, resource)
            if urllib.parse.urlsplit(resource).scheme or resource.startswith("//"):
                self.fault(file, f"loads {resource}")
            elif to is None:
                self.fault(file, f"{resource} is not there")
            elif resource not in page.pictures:
                size += to.stat().st_size
        if size > LIMIT:
            self.fault(file, f"{size} bytes with styles and scripts")
        return size

    def check_resources(self):
        """Styles and pictures load nothing from elsewhere either."""
        for file in self.folder.rglob("*"):
            if file.suffix in (".css", ".svg"):
                for found in re.findall(r"""(?:url\(|@import|href=)\s*["']?((?:https?:)?//[^"')]*)""", file.read_text(encoding="utf-8")):
                    self.fault(file, f"loads {found}")

    def check_order(self, lessons):
        """From the first page `next` leads to every one, lessons first."""
        at, order = self.folder / "index.html", []
        while at is not None and at not in order:
            order.append(at)
            at = self.target(at, self.pages[at].next) if at in self.pages and self.pages[at].next else None
        names = [file.stem for file in order]
        if names[1:len(lessons) + 1] != lessons:
            self.fault(order[0], f"the lessons stand in the order {names[1:len(lessons) + 1]}")
        for file in self.pages.keys() - set(order) - {self.folder / "search.html"}:
            self.fault(file, "no `next` leads here")

    def check_exercise(self, exercise, header):
        file = self.folder / "exercises" / f"{exercise['name']}.html"
        if file not in self.pages:
            self.faults.append(f"the exercise {exercise['name']} has no page")
            return
        page = self.pages[file]
        if header.strip() not in [code.strip() for code in page.code]:
            self.fault(file, "does not show the header")
        if page.hints != len(exercise["hints"]):
            self.fault(file, f"has {page.hints} hints")


def main(folder, root):
    site = Site(folder)
    with open(root / "exercises" / "course.toml", "rb") as file:
        exercises = tomllib.load(file)["exercise"]
    sizes = [site.check_page(file, page) for file, page in site.pages.items()]
    site.check_resources()
    site.check_order(sorted(file.stem for file in (root / "notebooks_md").glob("[0-9]*.md")))
    for exercise in exercises:
        site.check_exercise(exercise, (root / "exercises" / exercise["chapter"] / f"{exercise['name']}.hpp").read_text(encoding="utf-8"))
    if site.faults:
        print("\n".join(site.faults))
        sys.exit(1)
    links = sum(len(page.links) for page in site.pages.values())
    pictures = sum(len(page.pictures) for page in site.pages.values())
    print(f"{len(site.pages)} pages, the largest of {max(sizes)} bytes, {links} links, {pictures} pictures, {len(exercises)} exercises")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
