# The book, for Sphinx and MyST as Debian 12 has them (5.3, 0.18) and newer ones. `./shardlings book` runs this line:
#
#     sphinx-build -c course/book -d build/book_pages/.read build/book_pages build/book
#
# Where build/book_players/players/ has pages that play messages (`./shardlings book --players`), they come in.
#
# The pages are written first, by pages.py, so that nothing in notebooks_md/ is made for the book. The theme is our own: Debian 12's
# furo has no dark colours, and its script does not load.
import sys
from pathlib import Path

from pygments.formatters import HtmlFormatter

here = Path(__file__).resolve().parent
sys.path.insert(0, str(here))
import pages  # noqa: E402

project = "shardlings"
extensions = ["myst_parser"]
exclude_patterns = [".read"]
smartquotes = False  # "--json" is no dash
myst_heading_anchors = 4  # as GitHub makes them
highlight_language = "text"
suppress_warnings = ["misc.highlighting_failure"]  # a drawing is no program

html_theme_path = [str(here)]
html_theme = "theme"
html_js_files = ["book.js"]
html_css_files = ["dark_code.css"]
html_copy_source = False  # the source of a page is in the repository
html_use_index = False
players = here.parents[1] / "build" / "book_players"
html_extra_path = [str(players)] if players.is_dir() else []


def names_of_players():
    return sorted(file.stem for file in players.glob("players/*.html"))


def write_dark_code(app):
    """Colours of code for the theme's dark half; Sphinx writes those of the light one."""
    rules = HtmlFormatter(style="github-dark").get_style_defs('[data-theme="dark"] .highlight')
    static = Path(app.outdir) / "_static"
    static.mkdir(parents=True, exist_ok=True)
    (static / "dark_code.css").write_text(rules)


def without_old_scripts(app, page, template, context, doctree):
    """Sphinx 5 loads jQuery and others for extensions that stand on them. Here is none."""
    old = ("jquery", "underscore", "_sphinx_javascript_frameworks_compat")
    context["script_files"] = [file for file in context["script_files"] if not any(name in str(file) for name in old)]


def without_old_pages(app, error):
    """What was a page once, and is none any more, goes."""
    if app.builder.name == "html" and not error:
        found = {Path(app.builder.get_outfilename(page)) for page in app.env.found_docs | {"search"}}
        found |= {Path(app.outdir) / "players" / f"{name}.html" for name in names_of_players()}
        for file in Path(app.outdir).rglob("*.html"):
            if "_static" not in file.parts and file not in found:
                file.unlink()


def setup(app):
    app.connect("builder-inited", lambda app: pages.write(here.parents[1], Path(app.srcdir), names_of_players()))
    app.connect("builder-inited", write_dark_code)
    app.connect("html-page-context", without_old_scripts)
    app.connect("build-finished", without_old_pages)
