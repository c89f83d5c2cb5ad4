"use strict";
// What the pages share: elements, and the still picture, which a button unfolds.

const page = {
  data: JSON.parse(document.getElementById("data").textContent),

  /** An element of HTML: page.html("td", {class: "wrong"}, "text", child). */
  html(name, attributes = {}, ...children) {
    return page.with(document.createElement(name), attributes, children);
  },

  svg(name, attributes = {}, ...children) {
    return page.with(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
  },

  with(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== null && value !== undefined && value !== false) {
        element.setAttribute(name, value);
      }
    }
    element.append(...children.filter((child) => child !== null));
    return element;
  },

  counted(n, what) {
    return `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;
  },
};

{
  const still = document.getElementById("still");
  const name = document.getElementById("still-name");
  const button = page.html("button", {type: "button", id: "unfold", class: "screen-only", "aria-expanded": "false",
    "aria-controls": "still"}, name.textContent);
  still.classList.add("folded");
  button.addEventListener("click", () => {
    button.setAttribute("aria-expanded", String(!still.classList.toggle("folded")));
  });
  name.replaceChildren(button);
}
