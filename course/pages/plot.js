// Draws the curves of curves.js, and follows the pointer and the keys.

const element = (id) => document.getElementById(id);
const view = {measure: Object.keys(measures)[0], axis: "size", fixed: null, at: null, near: null};
const colour_of = (algorithm) => algorithm === bound_name ? "--c: var(--faint)" : `--c: var(--c${algorithms.indexOf(algorithm) % 12})`;
const shapes = [
  "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0", "M-4 -4h8v8h-8z", "M0 -5l5 9h-10z", "M0 5l5 -9h-10z", "M0 -5.5l5.5 5.5l-5.5 5.5l-5.5 -5.5z",
];

function mark(algorithm, x, y, classes = "") {
  const place = algorithms.indexOf(algorithm);
  return page.svg("path", {class: `mark ${place >= shapes.length ? "hollow" : ""} ${classes}`, style: colour_of(algorithm),
    d: shapes[place % shapes.length], transform: `translate(${x} ${y})`});
}

/** The curves that are to be seen: [{algorithm, points: [{x, y, row}]}]. */
function curves() {
  const {other} = axes[view.axis];
  return algorithms.filter((algorithm) => shown.has(algorithm)).map((algorithm) => ({
    algorithm,
    points: measured.rows.filter((row) => row.algorithm === algorithm && row[other] === view.fixed)
      .map((row) => ({x: row[view.axis], y: measures[view.measure].of(row), row}))
      .filter((point) => point.y !== null && point.y > 0)
      .sort((a, b) => a.x - b.x),
  })).filter((curve) => curve.points.length > 0);
}

/** 1, 2 and 5 of each decade, or the decades alone where there are many. */
function ticks(low, high) {
  const decades = Math.log10(high / low);
  const steps = decades > 4 ? [1] : decades > 2 ? [1, 3] : decades > 0.8 ? [1, 2, 5] : [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8];
  const found = [];
  for (let decade = Math.floor(Math.log10(low)); decade <= Math.ceil(Math.log10(high)); ++decade) {
    found.push(...steps.map((step) => step * 10 ** decade));
  }
  return found.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
}

/** Where things stand: logarithmic both ways. */
function frame_of(all) {
  const width = Math.max(element("plot").clientWidth - 10, 280);
  const height = Math.round(Math.min(Math.max(width * 0.52, 280), 520));
  const xs = ascending(all.flatMap((curve) => curve.points.map((point) => point.x)));
  const ys = all.flatMap((curve) => curve.points.map((point) => point.y));
  const box = {left: 66, right: 16, top: 14, bottom: 62};
  const low = Math.min(...ys) / 1.15;
  const high = Math.max(...ys) * 1.15;
  const span = Math.log(xs[xs.length - 1] / xs[0]) || 1;
  const inner = width - box.left - box.right - 24;
  return {
    width, height, box, xs, low, high,
    x: (value) => box.left + 12 + (xs.length === 1 ? inner / 2 : inner * Math.log(value / xs[0]) / span),
    y: (value) => box.top + (height - box.top - box.bottom) * (1 - Math.log(value / low) / Math.log(high / low)),
  };
}

function draw_axes(picture, frame) {
  const {box, width, height} = frame;
  const measure = measures[view.measure];
  for (const tick of ticks(frame.low, frame.high)) {
    const y = frame.y(tick);
    picture.append(
      page.svg("path", {class: measure.one && tick === 1 ? "one" : "grid", d: `M${box.left} ${y}H${width - box.right}`}),
      page.svg("text", {x: box.left - 6, y: y + 4, "text-anchor": "end"}, measure.text(tick)));
  }
  let last = -Infinity;
  for (const value of frame.xs) {
    const x = frame.x(value);
    if (x - last < 22) {
      continue;
    }
    last = x;
    const text = (axes[view.axis].tick ?? axes[view.axis].text)(value);
    picture.append(
      page.svg("path", {class: "grid", d: `M${x} ${height - box.bottom}v5`}),
      page.svg("text", {"text-anchor": "end", transform: `translate(${x + 4} ${height - box.bottom + 18}) rotate(-35)`}, text));
  }
}

/** ranges  whether it shades what most calls took. */
function draw_curve(picture, frame, curve, ranges) {
  const style = colour_of(curve.algorithm);
  const at = (point, y) => `${frame.x(point.x)} ${frame.y(Math.min(Math.max(y, frame.low), frame.high))}`;
  if (ranges && measures[view.measure].range && curve.points.some((point) => point.row.low > 0)) {
    const up = curve.points.map((point) => at(point, point.row.high ?? point.y));
    const down = curve.points.map((point) => at(point, point.row.low ?? point.y)).reverse();
    picture.append(page.svg("path", {class: "range", style, d: `M${[...up, ...down].join("L")}z`}));
  }
  const bound = curve.algorithm === bound_name;
  picture.append(page.svg("path", {class: `curve${bound ? " bound" : ""}`, style, "data-algorithm": curve.algorithm,
    d: `M${curve.points.map((point) => at(point, point.y)).join("L")}`}));
  for (const point of bound ? [] : curve.points) {
    const near = curve.algorithm === view.near && point.x === view.at;
    picture.append(mark(curve.algorithm, frame.x(point.x), frame.y(point.y), `${point.row.unsettled ? "unsettled " : ""}${near ? "near" : ""}`));
  }
}

let frame = null;

function draw() {
  const all = curves();
  if (all.length === 0) {
    frame = null;
    element("plot").replaceChildren(page.html("p", {class: "faint"}, "No curve is switched on."));
    element("here").replaceChildren();
    element("here-name").textContent = "";
    return;
  }
  frame = frame_of(all);
  view.at = frame.xs.includes(view.at) ? view.at : frame.xs[frame.xs.length - 1];
  const picture = page.svg("svg", {viewBox: `0 0 ${frame.width} ${frame.height}`, height: frame.height, role: "img", "aria-label": title()});
  draw_axes(picture, frame);
  const x = frame.x(view.at);
  picture.append(page.svg("path", {class: "here screen-only", d: `M${x} ${frame.box.top}V${frame.height - frame.box.bottom}`}));
  const few = 3;
  all.forEach((curve) => draw_curve(picture, frame, curve, all.length <= few || curve.algorithm === view.near));
  element("plot").replaceChildren(picture);
  show_here(all);
}

function title() {
  const {other, title: over} = axes[view.axis];
  return `${measures[view.measure].title} over ${over}, ${other === "ranks" ? "on" : "at"} ${axes[other].text(view.fixed)}`;
}

/** The table of what stands at one place, the best first. */
function show_here(all) {
  const measure = measures[view.measure];
  const found = all.flatMap((curve) => curve.points.filter((point) => point.x === view.at).map((point) => ({...point, algorithm: curve.algorithm})));
  found.sort((a, b) => measure.lower_is_better ? a.y - b.y : b.y - a.y);
  const best = found.find((point) => point.algorithm !== bound_name && !wrong.has(point.algorithm));
  const {other} = axes[view.axis];
  element("here-name").textContent = `${axes[view.axis].text(view.at)}, ${axes[other].text(view.fixed)}`;
  element("here").replaceChildren(page.html("tbody", {}, ...found.map((point) => page.html("tr", {
    "data-algorithm": point.algorithm, class: point.algorithm === view.near ? "near" : null},
  page.html("th", {scope: "row", class: wrong.has(point.algorithm) ? "wrong" : null}, swatch(point.algorithm), ` ${name_of(point.algorithm)}`),
  page.html("td", {}, measure.text(point.y)),
  page.html("td", {style: "text-align: left", class: "faint"},
    [point === best && !point.row.unsettled ? "best" : "", ...point.row.said].filter((text) => text !== "").join(", "))))));
}

const name_of = (algorithm) => wrong.has(algorithm) ? `${algorithm} (wrong)` : algorithm;

function swatch(algorithm) {
  return page.svg("svg", {class: "swatch", viewBox: "-9 -7 18 14", "aria-hidden": "true"},
    page.svg("path", {class: `curve${algorithm === bound_name ? " bound" : ""}`, style: colour_of(algorithm), d: "M-9 0H9"}),
    algorithm === bound_name ? "" : mark(algorithm, 0, 0));
}

function fill(select, options, chosen) {
  element(select).replaceChildren(...options.map(([value, text]) => page.html("option", {value}, text)));
  element(select).value = String(chosen);
}

/** The values of the axis that is not drawn; the last at first. */
function fill_fixed() {
  const {other} = axes[view.axis];
  const values = ascending(measured.rows.map((row) => row[other]));
  view.fixed = values.includes(view.fixed) ? view.fixed : values[values.length - 1];
  element("fixed-name").textContent = other === "ranks" ? "on" : "at";
  fill("fixed", values.map((value) => [value, axes[other].text(value)]), view.fixed);
}

function toggle_all(on) {
  for (const box of document.querySelectorAll("#legend input")) {
    box.checked = on;
    on ? shown.add(box.value) : shown.delete(box.value);
  }
  draw();
}

function fill_legend() {
  for (const algorithm of algorithms) {
    const box = page.html("input", {type: "checkbox", value: algorithm, checked: ""});
    box.addEventListener("change", () => {
      box.checked ? shown.add(algorithm) : shown.delete(algorithm);
      draw();
    });
    element("legend").append(page.html("label", {}, box, swatch(algorithm), name_of(algorithm)));
  }
  for (const [text, on] of [["all", true], ["none", false]]) {
    const button = page.html("button", {type: "button", class: "screen-only"}, text);
    button.addEventListener("click", () => toggle_all(on));
    element("legend").append(button);
  }
}

/** The place, and the curve, that are nearest to the pointer. */
function point_at(event) {
  if (frame === null) {
    return;
  }
  const picture = element("plot").querySelector("svg").getBoundingClientRect();
  const x = (event.clientX - picture.left) * frame.width / picture.width;
  const y = (event.clientY - picture.top) * frame.height / picture.height;
  const nearest = (list, distance) => list.reduce((best, one) => distance(one) < distance(best) ? one : best);
  view.at = nearest(frame.xs, (value) => Math.abs(frame.x(value) - x));
  const here = curves().flatMap((curve) => curve.points.filter((point) => point.x === view.at).map((point) => ({name: curve.algorithm, y: point.y})));
  view.near = nearest(here, (one) => Math.abs(frame.y(one.y) - y)).name;
  draw();
}

function move_by_key(event) {
  if (frame === null || event.ctrlKey || event.altKey || event.metaKey) {
    return;
  }
  const last = frame.xs.length - 1;
  const place = frame.xs.indexOf(view.at);
  const to = {ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: last}[event.key];
  if (to !== undefined) {
    event.preventDefault();
    view.at = frame.xs[Math.min(Math.max(to, 0), last)];
    draw();
  }
}

fill("measure", Object.entries(measures).map(([name, measure]) => [name, measure.title]), view.measure);
const several = (axis) => ascending(measured.rows.map((row) => row[axis])).length > 1;
view.axis = !several("size") && several("ranks") ? "ranks" : "size";
fill("axis", Object.entries(axes).filter(([axis]) => axis === view.axis || several(axis)).map(([name, axis]) => [name, axis.title]), view.axis);
fill_fixed();
fill_legend();
for (const what of ["measure", "axis", "fixed"]) {
  element(what).addEventListener("change", (event) => {
    view[what] = what === "fixed" ? Number(event.target.value) : event.target.value;
    fill_fixed();
    draw();
  });
}
element("plot").addEventListener("pointermove", point_at);
element("plot").addEventListener("pointerdown", point_at);
element("plot").addEventListener("keydown", move_by_key);
element("notes").replaceChildren(...unique(measured.notes).filter((note) => note !== "").map((note) => page.html("li", {}, note)));
new ResizeObserver(draw).observe(element("plot"));
draw();
