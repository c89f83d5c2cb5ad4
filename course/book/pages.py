"""Writes the pages that Sphinx reads: README and lessons, with links, and a page for each exercise of course.toml."""
import html
import re
import shutil
import tomllib
from pathlib import Path

LESSONS = "[0-9][0-9]_*.md"
BESIDE = ["training", "laboratory", "clusters", "grading"]  # pages on programs, in this order
PICTURE = re.compile(r"^!\[[^\]]*\]\(pictures/messages/(\w+)\.svg\)$", re.M)


def marks(count):
    return "●" * count + "○" * (5 - count)


def contents(caption, pages):
    """A table of contents that only the navigation shows."""
    return "\n```{toctree}\n:hidden:\n:caption: " + caption + "\n\n" + "\n".join(pages) + "\n```\n"


def read(file):
    return file.read_text(encoding="utf-8")


def write_text(file, text):
    """Leaves a file with the same text as it is: Sphinx reads what has changed."""
    if not file.exists() or read(file) != text:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def title_of(lesson):
    return read(lesson).split("\n", 1)[0].removeprefix("# ")


def player(name, up=""):
    """The page that plays the messages of the picture NAME, in a frame."""
    title = name.replace("_", " ")
    return f'<iframe class="player" src="{up}players/{name}.html" title="{title}, message by message" loading="lazy"></iframe>'


def played(text, players):
    """In the place of a picture of messages stands what plays them; in print, and without scripts, the picture."""
    def both(match):
        return f'<div class="played">\n{player(match[1])}\n\n{match[0]}\n\n</div>' if match[1] in players else match[0]

    return PICTURE.sub(both, text)


def owner_of(player_name, exercises):
    """The exercise on whose page a player stands: zero3, or pipeline for pipeline_1f1b; empty for none."""
    return max((name for name in exercises if player_name == name or player_name.startswith(name + "_")), key=len, default="")


def lesson_page(text, exercises, players):
    """Names in the lesson's table, and the headings of exercises, lead to their pages."""
    def row(match):
        name = match[1]
        return f"| [`{name}`](exercises/{name}.md)" if name in exercises else match[0]

    def heading(match):
        name = match[1]
        if name not in exercises:
            return match[0]
        e = exercises[name]
        return f"{match[0]}\n\n[Exercise `{name}`](exercises/{name}.md) · {marks(e['difficulty'])} · {e['minutes']} minutes"

    text = re.sub(r"^\| `(\w+)`", row, text, flags=re.M)
    return played(re.sub(r"^## (\w+)$", heading, text, flags=re.M), players)


def linked(names):
    return ", ".join(f"[`{name}`]({name}.md)" for name in names) or "no other exercise"


def hint(number, total, text):
    return f"<details><summary>Hint {number} of {total}</summary>\n<p>{html.escape(text)}</p>\n</details>\n"


def exercise_page(root, exercise, exercises, players):
    name, chapter = exercise["name"], exercise["chapter"]
    folder = f"exercises/{chapter}"
    hints, ranks = exercise["hints"], exercise["ranks"]
    users = [e["name"] for e in exercises.values() if name in e["uses"]]
    frames = "".join(f"\n{player(one, '../')}\n" for one in players if owner_of(one, exercises) == name)
    return f"""# {name}

{exercise["title"]}.

- Difficulty {marks(exercise["difficulty"])}, importance {marks(exercise["importance"])}, {exercise["minutes"]} minutes
- Needs {exercise["needs"]}; its test runs on {"up to " if ranks > 1 else ""}{ranks} rank{"s" if ranks > 1 else ""}
- Lesson: [{title_of(root / "notebooks_md" / f"{chapter}.md")}](../{chapter}.md#{name})
- Uses {linked(exercise["uses"])}; used by {linked(users)}
- You edit `{folder}/{name}{".cu" if exercise["needs"] == "cuda" else ".cpp"}`, and test it by:

```console
$ ./shardlings run {name}
```
{frames}
## The specification

`{folder}/{name}.hpp`:

```cpp
{read(root / folder / f"{name}.hpp").rstrip()}
```

## Hints

{"".join(hint(i, len(hints), text) for i, text in enumerate(hints, 1))}"""


def chapter_page(title, exercises):
    rows = "".join(
        f"| [`{e['name']}`]({e['name']}.md) | {e['title']} | {marks(e['difficulty'])} | {e['minutes']} |\n" for e in exercises)
    chapter = exercises[0]["chapter"]
    return (f"# Exercises of {title}\n\nThe lesson is [{title}](../{chapter}.md).\n\n"
            f"| exercise | what | difficulty | minutes |\n|---|---|---|---|\n{rows}"
            + contents(f"Exercises of {title}", [e["name"] for e in exercises]))


def index_page(readme, chapters):
    """README, with its links as seen from the book."""
    return (readme.replace("](notebooks_md/", "](")
            + contents("Lessons", [chapter.stem for chapter in chapters])
            + contents("Programs", BESIDE)
            + contents("Exercises", [f"{title_of(chapter)} <exercises/{chapter.stem}>" for chapter in chapters])
            + contents("For authors", ["CONTRIBUTING"]))


def write(root, out, players):
    """Writes all pages for the repository `root` into the folder `out`; what is not a page any more goes.

    `players` are the names of the pages that play messages, in players/ beside them.
    """
    lessons = root / "notebooks_md"
    with open(root / "exercises" / "course.toml", "rb") as file:
        exercises = {e["name"]: e for e in tomllib.load(file)["exercise"]}
    chapters = sorted(lessons.glob(LESSONS))

    pages = {"index": index_page(read(root / "README.md"), chapters),
             "CONTRIBUTING": read(root / "CONTRIBUTING.md")}
    for file in chapters + [lessons / f"{name}.md" for name in BESIDE]:
        pages[file.stem] = lesson_page(read(file), exercises, players)
    shown = {name for chapter in chapters for name in PICTURE.findall(read(chapter))}
    for name, exercise in exercises.items():
        pages[f"exercises/{name}"] = exercise_page(root, exercise, exercises, [one for one in players if one not in shown])
    for chapter in chapters:
        own = [e for e in exercises.values() if e["chapter"] == chapter.stem]
        pages[f"exercises/{chapter.stem}"] = chapter_page(title_of(chapter), own)

    for name, text in pages.items():
        write_text(out / f"{name}.md", text)
    for file in out.rglob("*.md"):
        if str(file.relative_to(out).with_suffix("")) not in pages:
            file.unlink()
    shutil.copytree(lessons / "pictures", out / "pictures", dirs_exist_ok=True)
