// Curves of times over sizes and over numbers of ranks, and of a training over ranks, from the document that --json prints.

/** {collective, rows: [{algorithm, ranks, size, seconds, low, high, said, wrong, unsettled}], notes} of simulate's document. */
function rows_of_simulation(document) {
  return {
    rows: document.times.map((time) => ({
      algorithm: time.algorithm, ranks: time.ranks, size: time.size_bytes, seconds: time.seconds, wrong: time.wrong > 0
        || (time.algorithm === "mine" && document.refused !== null),
      said: [time.model_s === null || document.by_formula ? "" : `formula ${seconds_text(time.model_s)}`,
        time.messages === null ? "" : page.counted(time.messages, "message")],
    })),
    notes: [...document.notes, document.refused ?? ""],
  };
}

/** The same of bench's, which has one run or several. */
function rows_of_bench(document) {
  const runs = document.runs ?? [document];
  const micro = 1e-6;
  return {
    rows: runs.flatMap((one) => [
      ...one.points.map((point) => ({
        algorithm: point.algorithm, ranks: one.ranks, size: point.size_bytes, seconds: point.time_us * micro, wrong: point.wrong > 0,
        low: point.min_us * micro, high: point.p95_us * micro, unsettled: point.unsettled !== null,
        said: [`${seconds_text(point.min_us * micro)} to ${seconds_text(point.p95_us * micro)}`,
          point.chose === null ? "" : `chose ${point.chose}`, point.unsettled === null ? "" : `not settled: ${point.unsettled}`],
      })),
      ...bounds_of(one, micro),
    ]),
    notes: [...runs.flatMap((one) => one.notes), ...(document.runs ? document.notes : []),
      ...runs.map((one) => verdict_of(one, runs.length > 1))],
  };
}

/** "2 ranks: ring is faster at every size measured"; with their number only where there are several. */
function verdict_of(one, several) {
  const said = one.verdict.in_words;
  return several && said !== "" ? `${page.counted(one.ranks, "rank")}: ${said}` : said;
}

/** The least of the bounds at each size that all algorithms were measured at: at those between, not all have one. */
function bounds_of(one, micro) {
  const least = new Map();
  for (const point of one.points) {
    if (point.asked_for && point.algorithm !== "shared" && point.bound_us > 0) {
      least.set(point.size_bytes, Math.min(point.bound_us, least.get(point.size_bytes) ?? Infinity));
    }
  }
  return [...least].map(([size, us]) => ({algorithm: bound_name, ranks: one.ranks, size, seconds: us * micro, wrong: false, said: []}));
}

/** The same of a training's: a size is a batch, and a rank alone, as many times, is what no message would cost. */
function rows_of_training(document) {
  const alone = document.measured.images_per_s;
  const row = (algorithm, ranks, step, said) => ({algorithm, ranks, size: document.batch, seconds: step.step_s, images: step.images_per_s,
    efficiency: step.efficiency, exposed: step.exposed_s, wrong: false, said});
  return {
    rows: [
      ...document.steps.map((step) => row(step.name, step.ranks, step,
        [`a step takes ${seconds_text(step.step_s)}`, step.exposed_s > 0 ? `waits ${seconds_text(step.exposed_s)}` : "waits for none"])),
      ...unique(document.steps.map((step) => step.ranks)).map((ranks) => row(
        bound_name, ranks, {step_s: document.batch / alone, images_per_s: alone * ranks, efficiency: 1, exposed_s: 0}, [])),
    ],
    notes: document.notes,
  };
}

const is_training = "steps" in page.data;
const bound_name = is_training ? "no messages" : "lower bound";

function significant(value) {
  return Number(value.toPrecision(4)).toString();
}

function seconds_text(seconds) {
  const [unit, factor] = seconds >= 1 ? ["s", 1] : seconds >= 1e-3 ? ["ms", 1e3] : seconds >= 1e-6 ? ["µs", 1e6] : ["ns", 1e9];
  return `${significant(seconds * factor)} ${unit}`;
}

function bytes_text(bytes) {
  for (const [unit, size] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]]) {
    if (bytes >= size) {
      return `${significant(bytes / size)} ${unit}`;
    }
  }
  return `${bytes} B`;
}

const unique = (values) => [...new Set(values)];
const ascending = (values) => unique(values).sort((a, b) => a - b);

const measured = is_training ? rows_of_training(page.data)
  : "times" in page.data ? rows_of_simulation(page.data) : rows_of_bench(page.data);
const algorithms = unique(measured.rows.map((row) => row.algorithm));
const shown = new Set(algorithms);
const wrong = new Set(measured.rows.filter((row) => row.wrong).map((row) => row.algorithm));

const axes = {
  size: is_training ? {title: "batches", text: (batch) => `${page.counted(batch, "picture")} a rank`, other: "ranks"}
    : {title: "sizes", text: bytes_text, other: "ranks"},
  ranks: {title: "numbers of ranks", text: (ranks) => page.counted(ranks, "rank"), tick: String, other: "size"},
};

function row_at(algorithm, size, ranks) {
  return measured.rows.find((row) => row.algorithm === algorithm && row.size === size && row.ranks === ranks);
}

/** Times as fast as the algorithm of that name; a factor turns a range around. */
function times_as_fast(name) {
  return (row) => {
    const base = row_at(name, row.size, row.ranks);
    return base === undefined ? null : base.seconds / row.seconds;
  };
}

const measures = is_training ? {
  images: {title: "images a second", of: (row) => row.images, text: significant},
  efficiency: {title: "efficiency", of: (row) => row.efficiency, text: (part) => `${significant(100 * part)} %`},
  time: {title: "time of a step", of: (row) => row.seconds, text: seconds_text, lower_is_better: true},
  exposed: {title: "time that a rank waits for messages", of: (row) => row.exposed, text: seconds_text, lower_is_better: true},
} : {
  time: {title: "time", of: (row) => row.seconds, text: seconds_text, range: true, lower_is_better: true},
  rate: {title: "size over time", of: (row) => row.size / row.seconds, text: (rate) => `${significant(rate / 1e9)} GB/s`},
};
for (const name of ["naive", "mpi"].filter((one) => algorithms.includes(one))) {
  measures[`vs_${name}`] = {title: `times as fast as ${name === "mpi" ? "MPI's own" : name}`, of: times_as_fast(name),
    text: (ratio) => significant(ratio), one: true};
}
