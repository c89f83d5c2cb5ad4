// What the book does beside showing its pages: light or dark, the menu of narrow windows, the reader's progress.
"use strict";

function lightOrDark() {
  const button = document.getElementById("theme-button");
  const page = document.documentElement;
  const name = () => (button.textContent = page.dataset.theme === "dark" ? "Light" : "Dark"); // what it leads to
  name();
  button.addEventListener("click", () => {
    page.dataset.theme = page.dataset.theme === "dark" ? "light" : "dark";
    localStorage.setItem("theme", page.dataset.theme);
    name();
  });
}

function menu() {
  const button = document.getElementById("menu-button");
  const menu = document.getElementById("menu");
  const show = (open) => {
    menu.classList.toggle("open", open);
    button.setAttribute("aria-expanded", String(open));
  };
  button.addEventListener("click", () => show(!menu.classList.contains("open")));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && menu.classList.contains("open")) {
      show(false);
      button.focus();
    }
  });
}

// What is wider than the window can be scrolled with the keyboard, too.
function reachWideParts() {
  for (const part of document.querySelectorAll(".highlight pre, .wide")) {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
    else part.removeAttribute("tabindex");
  }
}

function markExercises(states) {
  for (const link of document.querySelectorAll("a[href]")) {
    const name = link.pathname.match(/\/exercises\/(\w+)\.html$/)?.[1];
    const state = states.get(name);
    if (link.hash || link.closest(".turn") || (state !== "done" && state !== "next")) continue;
    const mark = document.createElement("span");
    mark.className = "state";
    mark.textContent = state;
    link.append(mark);
  }
}

// `./shardlings book --serve` answers with what `./shardlings list --json` prints; the site itself has nothing to say.
async function showProgress() {
  if (location.protocol === "file:") return;
  const root = document.documentElement.dataset.content_root;
  const answer = await fetch(root + "_static/progress.json");
  const list = await answer.json();
  if (list.exercises.length === 0) return;
  markExercises(new Map(list.exercises.map((exercise) => [exercise.name, exercise.state])));
  const line = document.getElementById("progress");
  line.textContent = `${list.done} of ${list.total} exercises done`;
  line.hidden = false;
}

document.addEventListener("DOMContentLoaded", () => {
  lightOrDark();
  menu();
  reachWideParts();
  window.addEventListener("resize", reachWideParts);
  showProgress();
});
