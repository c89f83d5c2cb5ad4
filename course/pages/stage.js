// Draws what player.js knows, and follows keys, buttons and the slider.

const element = (id) => document.getElementById(id);
const shape = {head: 44, cell: 20, row: 34, margin: 7, letter: 6.8, number: 16};

/** As much of a text as fits; nothing where not even two letters do. */
function fitted(text, width) {
  const room = Math.floor(width / shape.letter);
  return text.length <= room ? text : room < 3 ? "" : `${text.slice(0, room - 1)}…`;
}

function cell_height(memory) {
  return memory.cells.length <= 16 ? shape.cell : memory.cells.length <= 40 ? 12 : 4;
}

function draw_cell(memory, rank, number, k, x, y, width) {
  const known = memory.at(rank, number, k);
  const height = cell_height(memory);
  const cell = memory.cells[number];
  const beside = memory.cells.length < 2 || width < 90 ? 0 : shape.number;
  const look = known === null ? {class: "unknown"}
    : memory.cells.length < 2 ? {class: "plain"} : {class: "chunk", style: `--h:${memory.hue(number)}`};
  const fresh = known !== null && known.came && known.at === k && k > 0;
  const values = known === null ? [] : known.values;
  const text = values.join(" ").replaceAll("e+", "e") + (values.length > 0 && known.more ? " …" : "");
  const where = `${memory.name || "memory"} ${range_of(cell)} of rank ${rank}`;
  return page.svg("g", {"data-rank": rank, "data-memory": memory.number, "data-cell": number, "data-values": values.join(" ")},
    page.svg("title", {}, known === null ? `${where}: no message shows it yet` : `${where}: ${text || "known by its place only"}`),
    page.svg("rect", {class: `cell ${look.class}${fresh ? " fresh" : ""}`, style: look.style, x, y, width, height}),
    height < shape.cell || beside === 0 ? null
      : page.svg("text", {class: known === null ? "small" : "number", x: x + (known === null ? 6 : 4), y: y + height - 6}, number),
    height < shape.cell ? null
      : page.svg("text", {class: "inside", x: x + (beside + width) / 2, y: y + height - 6}, known === null ? "" : fitted(text, width - beside)));
}

function draw_rank(rank, state, x, width, height) {
  const {waits, wrong, text} = state.ranks[rank];
  const group = page.svg("g", {class: "rank", "data-rank": rank, "data-does": text},
    page.svg("path", {class: "lane", d: `M${x + width / 2} ${shape.head}V${height}`}),
    page.svg("rect", {class: `box${waits ? " waits" : ""}${wrong ? " wrong" : ""}`, x: x + 3, y: 3, width: width - 6, height: shape.head - 6, rx: 6}),
    page.svg("text", {class: "name", x: x + width / 2, y: 19}, `rank ${rank}`),
    page.svg("text", {class: `small${wrong ? " wrong" : ""}`, x: x + width / 2, y: 34},
      width < 100 ? text.replace("sends, receives", "send + recv") : text));
  let y = shape.head + 4;
  for (const memory of memories) {
    group.append(page.svg("text", {class: "small", x: x + width / 2, y: y + 11}, fitted(memory.name || (memory.cells.length < 2 ? "last seen" : "memory"), width)));
    y += 15;
    if (memory.seen.has(rank)) {
      memory.cells.forEach((_, i) => {
        group.append(draw_cell(memory, rank, i, state.k, x + shape.margin, y + i * cell_height(memory), width - 2 * shape.margin));
      });
    }
    y += memory.cells.length * cell_height(memory) + 6;
  }
  return group;
}

function draw_message(message, k, y, width) {
  const centre = (rank) => rank * width + width / 2;
  const from = centre(message.src);
  const to = centre(message.dst);
  const way = Math.sign(to - from);
  const waits = message.lost || k < message.end;
  const tip = message.lost ? (from + 2 * to) / 3 : to - way * 2;
  const look = look_of(message);
  const part = message.part;
  const chunks = part !== null ? memories[part.memory].chunks(part) : "";
  const label = chunks !== "" ? chunks : message.bytes === 0 ? "empty" : length_of(message);
  const room = Math.abs(tip - from) - 30;
  const text = label.length * shape.letter + 12 > room ? fitted(label.replace(/^chunks? | floats?$/, ""), Math.max(room, 40)) : label;
  const pill = Math.max(text.length * shape.letter + 12, 24);
  const at = from + (tip - from) * (waits ? 0.4 : 0.48);
  const wrong = reasons_of(message);
  return page.svg("g", {class: `message${waits ? " waits" : ""}${wrong.length > 0 ? " wrong" : ""}`,
    "data-index": run.messages.indexOf(message), style: `--from:${from - at}px`},
  page.svg("title", {}, words_of(message, k)),
  page.svg("path", {class: "arrow", d: `M${from} ${y}H${tip - way * 8}`}),
  message.lost
    ? page.svg("path", {class: "arrow", style: "stroke-dasharray:none", d: `M${tip - 6} ${y - 6}l12 12m0 -12l-12 12`})
    : page.svg("path", {class: "head", d: `M${tip} ${y}l${-way * 10} -6v12z`}),
  page.svg("g", {class: "pill"},
    page.svg("rect", {class: look.class, style: look.style, x: at - pill / 2, y: y - 10, width: pill, height: 20, rx: 10}),
    page.svg("text", {class: "inside", x: at, y: y + 4}, text)));
}

/** "rank 0 to rank 1: 250 floats, [250, 500) of data, tag 3: 4 -2 8 …" */
function words_of(message, k) {
  const part = message.part;
  const memory = part !== null ? memories[part.memory] : null;
  const words = [`rank ${message.src} to rank ${message.dst}: ${message.bytes === 0 ? "empty" : length_of(message)}`];
  if (memory !== null && (memory.name !== "" || memory.cells.length > 1)) {
    const chunks = memory.chunks(part);
    words.push(`${chunks === "" ? "all" : `${chunks} ${range_of(part)}`} of ${memory.name || "its memory"}`);
  }
  words.push(message.tag > 0 ? `tag ${message.tag}` : "");
  if (k < message.end && !message.lost) {
    words.push(`under way until round ${message.end}`);
  }
  words.push(...reasons_of(message));
  return words.filter((word) => word !== "").join(", ");
}

function draw_stage(state) {
  const room = Math.max(element("stage").clientWidth - 4, 240);
  const width = Math.max(Math.min(Math.floor(room / run.ranks), 230), 78);
  const below = memories.reduce((sum, memory) => sum + 21 + memory.cells.length * cell_height(memory), shape.head + 8);
  const height = below + most_rows * shape.row + 6;
  const picture = page.svg("svg", {width: width * run.ranks, height, viewBox: `0 0 ${width * run.ranks} ${height}`,
    role: "img", "aria-label": sentence_of(state)});
  for (let rank = 0; rank < run.ranks; ++rank) {
    picture.append(draw_rank(rank, state, rank * width, width, height));
  }
  rows_of(state.under_way).forEach((row, i) => {
    for (const {message} of row) {
      picture.append(draw_message(message, state.k, below + i * shape.row + shape.row / 2, width));
    }
  });
  element("stage").replaceChildren(picture);
}

function sentence_of(state) {
  if (state.k === 0) {
    return "Before the first message.";
  }
  const waiting = state.ranks.flatMap((rank, i) => rank.waits ? [i] : []);
  const wrong = state.under_way.filter((message) => reasons_of(message).length > 0);
  return `${page.counted(state.under_way.length, "message")}; ${waiting.length === 0 ? "no rank waits"
    : `rank${waiting.length === 1 ? "" : "s"} ${waiting.join(", ")} wait${waiting.length === 1 ? "s" : ""}`}.`
    + (wrong.length === 0 ? "" : ` Wrong: ${wrong.map((message) => `${message.src} to ${message.dst}, ${reasons_of(message).join(", ")}`).join("; ")}.`);
}

function list_messages(state) {
  element("messages").replaceChildren(...state.under_way.map((message) => {
    const look = look_of(message);
    const values = values_of(message);
    const more = run.unit === "floats" ? values.length < message.bytes / float_bytes : false;
    return page.html("li", {class: reasons_of(message).length > 0 ? "wrong" : null, "data-index": run.messages.indexOf(message)},
      page.html("span", {class: `swatch ${look.class}`, style: look.style, "aria-hidden": "true"}),
      words_of(message, state.k),
      values.length === 0 ? null : page.html("span", {class: "mono faint"}, `  ${values.join(" ")}${more ? " …" : ""}`));
  }));
}

function fill_counts(k) {
  const {ranks, total} = counts_at(k);
  const row = (name, count) => page.html("tr", {"data-row": name},
    page.html("th", {scope: "row"}, name),
    ...["sent", "sent_bytes", "received", "received_bytes"].map((what) => page.html("td", {}, count[what].toLocaleString("en"))));
  element("counts").replaceChildren(
    page.html("thead", {}, page.html("tr", {}, page.html("td", {}),
      ...["sent", "bytes", "received", "bytes"].map((what) => page.html("th", {scope: "col"}, what)))),
    page.html("tbody", {}, ...ranks.map((count, rank) => row(`rank ${rank}`, count))),
    page.html("tfoot", {}, row("all", total)));
}

function show_words(state) {
  const too_late = run.right_rounds !== null && state.k > run.right_rounds;
  element("round").textContent = state.k === 0 ? `before round 1 of ${run.rounds}` : `round ${state.k} of ${run.rounds}`;
  element("round").className = too_late ? "wrong" : "";
  element("status").textContent = sentence_of(state);
  const calls = [...new Set(state.under_way.map((message) => run.calls[message.call] || ""))].filter((call) => call !== "");
  element("call").textContent = calls.join(" · ");
  const ends = state.k === run.rounds ? run.ends : [];
  element("ends").replaceChildren(...ends.map((end) => page.html("li", {class: end.wrong ? "wrong" : null, "data-rank": end.rank},
    `rank ${end.rank}: ${end.text}`)));
}

let position = 0;
let timer = null;

function show(k) {
  const before = position;
  position = Math.min(Math.max(k, 0), run.rounds);
  const state = state_at(position);
  element("stage").classList.toggle("moves", position === before + 1);
  draw_stage(state);
  list_messages(state);
  fill_counts(position);
  show_words(state);
  element("slider").value = position;
  element("slider").setAttribute("aria-valuetext", element("round").textContent);
  document.body.dataset.round = position;
  for (const [id, is_there] of [["home", position > 0], ["back", position > 0], ["step", position < run.rounds], ["end", position < run.rounds]]) {
    element(id).setAttribute("aria-disabled", String(!is_there));
  }
}

function stop() {
  clearInterval(timer);
  timer = null;
  element("play").setAttribute("aria-label", "Play");
  element("play").setAttribute("aria-pressed", "false");
}

function play_or_stop() {
  if (timer !== null) {
    stop();
    return;
  }
  show(position === run.rounds ? 0 : position + 1);
  element("play").setAttribute("aria-label", "Stop");
  element("play").setAttribute("aria-pressed", "true");
  timer = setInterval(() => {
    show(position + 1);
    if (position === run.rounds) {
      stop();
    }
  }, pace_ms);
}

/** The rounds in which something is wrong; after the last comes the first. */
function next_wrong() {
  const rounds = [...new Set(run.messages.filter((message) => reasons_of(message).length > 0).map((message) => message.begin + 1))];
  rounds.sort((a, b) => a - b);
  return rounds.find((round) => round > position) ?? rounds[0] ?? run.rounds;
}

const moves = {
  home: () => show(0),
  back: () => show(position - 1),
  step: () => show(position + 1),
  end: () => show(run.rounds),
  "next-wrong": () => show(next_wrong()),
};
const keys = {Home: "home", ArrowLeft: "back", ArrowRight: "step", End: "end", w: "next-wrong"};

for (const [id, move] of Object.entries(moves)) {
  element(id).addEventListener("click", () => {
    stop();
    move();
  });
}
element("play").addEventListener("click", play_or_stop);
element("slider").addEventListener("input", (event) => {
  stop();
  show(Number(event.target.value));
});
document.addEventListener("keydown", (event) => {
  const on_button = event.target.tagName === "BUTTON";
  if (event.ctrlKey || event.altKey || event.metaKey) {
    return;
  }
  if (event.key === " " && !on_button) {
    event.preventDefault();
    play_or_stop();
  } else if (event.key in keys) {
    event.preventDefault();
    stop();
    moves[keys[event.key]]();
  }
});

element("test").textContent = `${page.counted(run.ranks, "rank")}, in the test: ${run.test}`;
element("reason").textContent = run.reason === "" ? "" : `${run.state}: ${run.reason}`;
element("reason").hidden = run.reason === "";
element("slider").max = run.rounds;
const has_wrong = run.messages.some((message) => reasons_of(message).length > 0);
element("next-wrong").hidden = !has_wrong;
element("wrong-key").hidden = !has_wrong;
element("legend").textContent = [
  "In each round a rank sends one message and receives one; nothing else takes time.",
  memories.length > 0 ? "Cells are what messages cut a rank's memory into, with the values that messages show: dashed is not known yet, a thick line has just come in." : "",
  run.cut ? "Only the first steps of a rank are shown: there were more." : "",
  run.to_themselves > 0 ? `Not shown: ${page.counted(run.to_themselves, "message")} of a rank to itself.` : "",
].filter((text) => text !== "").join(" ");
new ResizeObserver(() => {
  draw_stage(state_at(position));
  element("stage").classList.remove("moves");
}).observe(element("stage"));
show(Number(location.hash.slice(1)) || 0);
