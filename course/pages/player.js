// Plays the messages of a run. Position k of the slider: k rounds are over, and the picture shows the messages of the last
// of them. In rounds nothing but messages takes time, so what a rank sends in round k + 1 was in its memory after round k.

const run = page.data;
const float_bytes = 4;
const pace_ms = 1100;

/** "[250, 500)", in floats where all messages are. */
function range_of(part) {
  const unit = run.unit === "floats" ? float_bytes : 1;
  return `[${part.begin / unit}, ${part.end / unit})`;
}

function length_of(message) {
  return run.unit === "floats" ? page.counted(message.bytes / float_bytes, "float") : page.counted(message.bytes, "byte");
}

function values_of(message) {
  return message.values === "" ? [] : message.values.split(" ");
}

/** The pieces of memory that messages cut: cells, each with what the records say was in it, and when. */
class Memory {
  constructor(about, number) {
    this.name = about.name;
    this.bytes = about.bytes;
    this.number = number;
    this.cells = about.cuts.slice(1).map((end, i) => ({begin: about.cuts[i], end}));
    this.known = Array.from({length: run.ranks}, () => this.cells.map(() => []));
    this.seen = new Set();
    for (const message of run.messages) {
      this.note(message, message.src, message.from, message.begin, false);
      if (!message.lost) {
        this.note(message, message.dst, message.into, message.end, true);
      }
    }
    for (const cells of this.known) {
      // what is sent after a round stands above what came in in that round
      cells.forEach((events) => events.sort((a, b) => a.at - b.at || Number(b.came) - Number(a.came)));
    }
  }

  note(message, rank, part, at, came) {
    if (part === null || part.memory !== this.number) {
      return;
    }
    this.seen.add(rank);
    this.cells.forEach((cell, i) => {
      if (cell.begin >= part.begin && cell.end <= part.end) {
        this.known[rank][i].push({at, came, ...this.slice(message, cell.begin - part.begin, cell.end - cell.begin)});
      }
    });
  }

  /** The values of a message that a cell has, as far as they are known; whether there are more. */
  slice(message, skipped, length) {
    const values = values_of(message);
    if (run.unit !== "floats") {
      return {values: skipped === 0 ? values : [], more: false};
    }
    const known = values.slice(skipped / float_bytes, (skipped + length) / float_bytes);
    return {values: known, more: known.length < Math.min(length, message.bytes - skipped) / float_bytes};
  }

  /** What is known to be in a cell when k rounds are over; null: nothing. */
  at(rank, cell, k) {
    let last = null;
    for (const event of this.known[rank][cell]) {
      last = event.at <= k ? event : last;
    }
    return last;
  }

  /** Red is for what is wrong: hues go from yellow to violet. */
  hue(cell) {
    const least = 45;
    const span = 280;
    return least + Math.round(this.cells.length <= 12 ? cell * span / this.cells.length : (cell * span * 0.382) % span);
  }

  /** "chunk 2", "chunks 2-3"; empty for all of it. */
  chunks(part) {
    const first = this.cells.findIndex((cell) => cell.begin === part.begin);
    const last = this.cells.findIndex((cell) => cell.end === part.end);
    return this.cells.length < 2 || part.end - part.begin === part.of ? ""
      : first === last ? `chunk ${first}` : `chunks ${first}-${last}`;
  }
}

const memories = run.memory.map((about, number) => new Memory(about, number));

/** How a message is coloured: as the first cell that it carries. */
function look_of(message) {
  const part = message.part;
  if (part === null || memories[part.memory].cells.length < 2) {
    return {class: "plain"};
  }
  const memory = memories[part.memory];
  const first = memory.cells.findIndex((cell) => cell.begin === part.begin);
  return {class: "chunk", style: `--h:${memory.hue(Math.max(first, 0))}`};
}

function reasons_of(message) {
  return [
    message.excess ? "more than the test allows" : "",
    message.lost ? "nobody took it" : "",
    run.right_rounds !== null && message.end > run.right_rounds ? `after the ${page.counted(run.right_rounds, "round")} that are right` : "",
  ].filter((text) => text !== "");
}

/** What of the run is to be seen when k rounds are over. */
function state_at(k) {
  const under_way = run.messages.filter((message) => message.begin < k && k <= message.end);
  const ranks = Array.from({length: run.ranks}, (_, rank) => {
    const sends = under_way.some((message) => message.src === rank && message.begin === k - 1);
    const receives = under_way.some((message) => message.dst === rank && message.end === k && !message.lost);
    const wait = run.waits.find((one) => one.rank === rank && one.begin < k && k <= one.end);
    const end = run.ends.find((one) => one.rank === rank);
    const ended = k === run.rounds && end !== undefined;
    const does = [sends ? "sends" : "", receives ? "receives" : ""].filter((text) => text !== "").join(", ");
    const forever = wait !== undefined && wait.forever;
    return {
      text: forever ? "waits in vain" : wait !== undefined && does === "" ? "waits" : does,
      waits: wait !== undefined && (does === "" || forever),
      wrong: ended && end.wrong,
    };
  });
  return {k, under_way, ranks};
}

function counts_at(k) {
  const none = () => ({sent: 0, sent_bytes: 0, received: 0, received_bytes: 0});
  const ranks = Array.from({length: run.ranks}, none);
  const total = none();
  for (const message of run.messages) {
    for (const count of message.begin < k ? [ranks[message.src], total] : []) {
      count.sent += 1;
      count.sent_bytes += message.bytes;
    }
    for (const count of message.end <= k && !message.lost ? [ranks[message.dst], total] : []) {
      count.received += 1;
      count.received_bytes += message.bytes;
    }
  }
  return {ranks, total};
}

/** Messages that do not cross each other's way share a line. */
function rows_of(messages) {
  const rows = [];
  for (const message of messages) {
    const low = Math.min(message.src, message.dst);
    const high = Math.max(message.src, message.dst);
    const row = rows.find((spans) => spans.every((span) => high <= span.low || low >= span.high));
    const span = {low, high, message};
    row === undefined ? rows.push([span]) : row.push(span);
  }
  return rows;
}

const most_rows = Math.max(1, ...Array.from({length: run.rounds}, (_, k) => rows_of(state_at(k + 1).under_way).length));
