"""Makes a Jupyter notebook of each lesson: commands are cells, drawings stay text.

    notebooks.py LESSONS OUT      into the folder OUT
    notebooks.py --run OUT        runs all notebooks there from top to bottom

Needs jupytext from PyPI; to run them nbclient, and bash_kernel with its kernel installed. A cell has the output that the lesson shows; lessons_test.sh
keeps it true. A command that tests a wrong answer fails, and the notebook goes on.
"""
import re
import shutil
import sys
from pathlib import Path

# what a lesson shows of a command: its first line, and its output
BLOCK = re.compile(r"^```console check *([^\n]*)\n\$ ([^\n]*)\n(.*?)^```$", re.M | re.S)
TOOLS = {"gpu": "nvcc", "simgrid": "smpirun", "simgrid-mc": "simgrid-mc"}  # what some commands need
INSTALL_KERNEL = "python3 -m bash_kernel.install --sys-prefix"
VERDICTS = {"1", "3", "4", "5", "6"}  # exit statuses of a test that tells what is wrong: see ./shardlings --help
HEAD = """---
jupyter:
  kernelspec: {display_name: Bash, language: bash, name: bash}
---

"""
FIRST = """
Run this cell first: all commands are those of the course's folder.

```bash
cd "$(git rev-parse --show-toplevel)" && export NO_COLOR=1
```
"""


def needed(module):
    try:
        return __import__(module)
    except ImportError:
        sys.exit(f"{module} is not installed for {sys.executable}: python3 -m venv VENV && . VENV/bin/activate && "
                 "pip install jupytext nbclient bash_kernel")


def expect_kernel():
    """bash_kernel is a package; Jupyter finds its kernel when that is installed, too."""
    needed("bash_kernel")
    from jupyter_client.kernelspec import find_kernel_specs
    if "bash" not in find_kernel_specs():
        sys.exit(f"Jupyter finds no kernel for Bash: {INSTALL_KERNEL}")


def text_of(lesson):
    """The lesson as jupytext reads it, whose cells are commands; and for each what it needs, and the output that is shown."""
    text = lesson.read_text(encoding="utf-8")
    shown = [(block[1], block[3]) for block in BLOCK.finditer(text)]
    text = BLOCK.sub(lambda block: f"```bash\n{block[2]}\n```", text)
    text = re.sub(r"^```sh$", "```console", text, flags=re.M)  # long work: to be read, not run
    text = text.replace("](pictures/", "](../../notebooks_md/pictures/")
    text = re.sub(r"\]\((\d\d_\w+)\.md", r"](\1.ipynb", text)
    text = re.sub(r"\]\(\.\./(?=\w)", "](../../", text)
    title, rest = text.split("\n", 1)
    return HEAD + title + "\n" + FIRST + rest, shown


def make(lesson, out):
    jupytext = needed("jupytext")
    from nbformat.v4 import new_output
    text, shown = text_of(lesson)
    notebook = jupytext.reads(text, fmt="md")
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(cells) == len(shown) + 1, f"{lesson}: {len(cells)} cells, {len(shown)} outputs"
    for cell, (needs, output) in zip(cells[1:], shown):
        cell.metadata["tags"] = ["raises-exception"]
        cell.metadata["needs"] = TOOLS.get(needs, "")
        cell.outputs = [new_output("stream", name="stdout", text=output)]
    jupytext.write(notebook, out / f"{lesson.stem}.ipynb", fmt="ipynb")
    return len(shown)


def run(file):
    """Runs a notebook. Returns what went wrong: commands that came to no verdict."""
    nbformat, nbclient = needed("nbformat"), needed("nbclient")
    notebook = nbformat.read(file, as_version=4)
    here = [cell for cell in notebook.cells if not cell.metadata.get("needs") or shutil.which(cell.metadata["needs"])]
    for cell in notebook.cells:
        if cell not in here:
            print(f"left out, {cell.metadata['needs']} is not here: {cell.source}")
    notebook.cells = here
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(file.parent)}}).execute()
    wrong = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "error" and output.evalue not in VERDICTS:
                wrong.append(f"{file.name}: {cell.source}: it ends with {output.evalue}")
    return wrong


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    if sys.argv[1] == "--run":
        expect_kernel()
        files = sorted(Path(sys.argv[2]).glob("*.ipynb"))
        wrong = [] if files else [f"{sys.argv[2]} holds no notebook"]
        for number, file in enumerate(files, 1):
            print(f"{number} of {len(files)}: {file.name}", flush=True)
            wrong += run(file)
        sys.exit("\n".join(wrong) if wrong else 0)  # an empty text would be a failure
    out = Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    lessons = sorted(Path(sys.argv[1]).glob("[0-9][0-9]_*.md"))
    commands = sum(make(lesson, out) for lesson in lessons)
    print(f"{len(lessons)} notebooks with {commands} commands are in {out}. To open them:\n"
          f"  pip install notebook bash_kernel && {INSTALL_KERNEL} && jupyter notebook {out}")


main()
