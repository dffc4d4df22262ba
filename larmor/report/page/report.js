"use strict";
// Draws the report from the JSON in #runs (larmor/report/run_document.h). All foreign text becomes text nodes.

const runs = JSON.parse(document.getElementById("runs").textContent);
const report = document.getElementById("report");
const colours = ["#0a6ebd", "#d9480f", "#2b8a3e", "#9c36b5", "#c92a2a", "#0b7285", "#846358", "#5c940d"];

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value);
  }
  for (const child of children.flat()) made.append(child);
  return made;
}

function table(head, rows) {
  const body = rows.map((row) => element("tr", null, row.map((cell) =>
    element("td", typeof cell === "number" ? {class: "number"} : null, shown(cell)))));
  return element("table", null,
    head ? element("thead", null, element("tr", null, head.map((name) => element("th", {scope: "col"}, name)))) : [],
    element("tbody", null, body));
}

function shown(value) {
  if (typeof value === "number") return number(value);
  return value === null || value === undefined ? "" : value;
}

function number(value) {
  if (value === null || value === undefined) return "–";
  if (Number.isInteger(value)) return value.toLocaleString("en");
  return String(Number(value.toPrecision(5)));
}

function duration(seconds) {
  if (seconds < 60) return number(seconds) + " s";
  const minutes = Math.floor(seconds / 60), hours = Math.floor(minutes / 60), days = Math.floor(hours / 24);
  if (hours === 0) return minutes + " min " + Math.round(seconds % 60) + " s";
  return days === 0 ? hours + " h " + (minutes % 60) + " min" : days + " d " + (hours % 24) + " h";
}

function moment(seconds) {
  return seconds === undefined ? "" : new Date(seconds * 1000).toISOString().replace("T", " ").slice(0, 19) + " UTC";
}

function section(title, ...content) {
  const id = title.toLowerCase().replace(/[^a-z]+/g, "-");
  const made = element("section", {id}, element("h2", null, title), ...content);
  report.append(made);
  return made;
}

/// A block for each run, below its name where there are several.
function ofEachRun(title, make) {
  const blocks = runs.map((run, index) => [run, index, make(run, index)]).filter(([, , made]) => made && made.length > 0);
  if (blocks.length === 0) return;
  section(title, blocks.map(([run, index, made]) =>
    element("div", null, runs.length > 1 ? element("h3", null, swatch(index), run.name) : [], made)));
}

function swatch(index) {
  const made = element("span", {class: "swatch"});
  made.style.background = colours[index % colours.length];
  return made;
}

function stateOf(run) {
  const kind = run.state === "done" ? "good" : run.state === "failed" ? "bad" : "warn";
  return element("span", {class: "tag " + kind}, run.state);
}

function drawHead() {
  const title = runs.map((run) => run.name).join(", ");
  document.title = title + " – larmor report";
  report.append(element("h1", null, title));
  report.append(element("p", {class: "soft"}, runs.map((run) => [run.workload, run.stage].filter(Boolean).join(" ")).join(", ")));
}

function glance(run) {
  const facts = run.facts || {};
  const rows = [["state", stateOf(run)]];
  if (run.reason) rows.push(["why it failed", run.reason]);
  rows.push(["steps", run.steps], ["began", moment(run.began)], ["last event", moment(run.ended)], ["starts", run.starts]);
  if (facts.ranks) rows.push(["ranks", facts.ranks + " on " + facts.device + ", " + facts.strategy]);
  if (facts.precision) rows.push(["precision", facts.precision]);
  if (facts.global_batch) {
    rows.push(["global batch", facts.global_batch + " = micro-batch " + facts.micro_batch + " × accumulation " +
               facts.accumulation + " × " + facts.ranks + (facts.ranks === 1 ? " rank" : " ranks")]);
  }
  for (const [what, value] of run.machine) rows.push([what, value]);
  rows.push(["host", run.host], ["program", run.program + ", " + run.build], ["folder", run.folder]);
  return [table(null, rows)];
}

function figures(run) {
  return run.figures.map((one) => {
    const rows = Object.entries(one).filter(([, value]) => value && typeof value === "object" && "mean" in value)
      .map(([name, value]) => [
        name + (value.better === "higher" ? " ↑" : value.better === "lower" ? " ↓" : ""),
        value.mean === null ? "not defined: " + (value.undefined || "no reason is known") : value.mean,
        value.interval ? "[" + number(value.interval[0]) + ", " + number(value.interval[1]) + "]" : value.no_interval || "",
        value.unit || "", value.meaning || ""]);
    const sentences = (one.verdicts || []).map((verdict) => element("p", null, verdict.sentence || ""))
      .concat((one.remarks || []).map((remark) => element("p", {class: "soft"}, remark)));
    return element("div", null,
      element("p", null, element("strong", null, one.split), ", " + number(one.n) + " cases of " + number(one.patients) +
              " patients, " + one.checkpoint + (one.averaged ? ", averaged weights" : "") +
              (one.other_data ? ", of another data set than the run's" : "")),
      sentences, table(["figure", "value", "95 % interval", "unit", "what it is"], rows));
  });
}

/// [[step, value of run 0, value of run 1, …]], with null where a run has none.
function overlaid(name) {
  const rows = new Map();
  runs.forEach((run, index) => {
    for (const [step, value] of run.curves[name] || []) {
      if (!rows.has(step)) rows.set(step, [step, ...runs.map(() => null)]);
      rows.get(step)[index + 1] = value;
    }
  });
  return [...rows.values()].sort((a, b) => a[0] - b[0]);
}

/// A line at the step of each start but the first.
function drawRestarts(canvas, area, graph) {
  canvas.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--warn");
  for (const run of runs) {
    for (const one of run.happenings) {
      if (one.kind !== "start" || one.generation === 0) continue;
      const x = graph.toDomXCoord(one.step);
      if (x < area.x || x > area.x + area.w) continue;
      canvas.beginPath();
      canvas.setLineDash([4, 4]);
      canvas.moveTo(x, area.y);
      canvas.lineTo(x, area.y + area.h);
      canvas.stroke();
      canvas.setLineDash([]);
    }
  }
}

function chart(name) {
  const plot = element("div", {class: "plot", role: "img", "aria-label": "curve of " + name});
  const values = element("div", {class: "values"});
  const data = overlaid(name);
  const few = data.length <= 60;
  const style = getComputedStyle(document.documentElement);
  // Two runs may have one name, and dygraphs wants a label for each: spaces behind it tell them apart.
  const labels = runs.length > 1 ? runs.map((run, index) => run.name + " ".repeat(index)) : [name];
  requestAnimationFrame(() => new Dygraph(plot, data, {
    labels: ["step", ...labels],
    colors: colours, labelsDiv: values, connectSeparatedPoints: true, drawPoints: few, pointSize: 3,
    strokeWidth: 1.5, gridLineColor: style.getPropertyValue("--line"), axisLineColor: style.getPropertyValue("--line"),
    axes: {y: {axisLabelWidth: 62, axisLabelFormatter: (y) => number(y), valueFormatter: (y) => number(y)}, x: {axisLabelFormatter: (x) => number(x)}},
    underlayCallback: drawRestarts,
    legend: "always",
  }));
  return element("div", {class: "chart"}, element("h3", null, name), plot, values);
}

function drawCurves() {
  const names = new Set(runs.flatMap((run) => Object.keys(run.curves)));
  const metrics = new Set(runs.map((run) => run.metric));
  const rank = (name) => name === "train/loss" ? 0 : name === "val/loss" ? 1 : metrics.has(name) ? 2 :
    name.startsWith("val/") ? 3 : name.startsWith("train/") ? 4 : 5;
  const sorted = [...names].sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
  if (sorted.length === 0) return;
  const main = sorted.filter((name) => rank(name) < 3);
  const rest = sorted.filter((name) => rank(name) >= 3);
  const made = section("Curves",
    element("p", {class: "soft"}, "Each point is the mean of as many steps as a thousand points need; dashed lines are " +
            "restarts. Drag to zoom, double-click to see all."),
    element("div", {class: "charts"}, main.map(chart)));
  if (rest.length === 0) return;
  const box = element("div", {class: "charts"});
  made.append(element("details", {ontoggle: () => { if (!box.hasChildNodes()) box.append(...rest.map(chart)); }},
    element("summary", null, "All other curves (" + rest.length + ")"), box));
}

function time(run) {
  const parts = Object.entries(run.time).filter(([, seconds]) => seconds > 0);
  const all = parts.reduce((sum, [, seconds]) => sum + seconds, 0);
  if (all === 0) return [];
  const bar = element("div", {class: "bar", role: "img", "aria-label": "shares of the time"});
  const rows = parts.map(([what, seconds], index) => {
    const piece = element("span", {title: what});
    piece.style.background = colours[index % colours.length];
    piece.style.flex = String(seconds / all);
    bar.append(piece);
    return [element("span", null, swatch(index), what), duration(seconds), (100 * seconds / all).toFixed(1) + " %"];
  });
  return [bar, table(["part", "time", "share"], rows)];
}

function happenings(run) {
  if (run.happenings.length === 0) return [];
  const kinds = {warning: "warn", error: "bad", end: "good"};
  const rows = run.happenings.filter((one) => one.kind !== "checkpoint").map((one) => [
    moment(one.t), one.step, one.generation,
    element("span", {class: kinds[one.kind] || ""}, one.kind), one.words]);
  const saves = run.happenings.filter((one) => one.kind === "checkpoint").length;
  const words = [saves + " saves are not in the table"];
  if (run.happenings_left_out > 0) words.push(run.happenings_left_out + " lines in the middle are left out");
  if (run.unread_lines > 0) words.push(run.unread_lines + " lines of events.jsonl could not be read");
  return [element("p", {class: "soft"}, words.join("; ") + "."), table(["time", "step", "start", "what", ""], rows)];
}

function data(run) {
  const account = run.data;
  if (!account.splits) return [];
  const rows = account.splits.map((split) => [split.split, split.cases, split.patients]);
  const made = [element("p", null, account.patients_by), table(["split", "cases", "patients"], rows)];
  if (account.left_out > 0) {
    made.push(element("p", {class: "warn"}, account.left_out + " cases of val and test are left out, because the weights " +
                      "that the run builds on were trained on their patients."));
  }
  const bad = [...account.bad_at_start, ...account.quarantined];
  if (bad.length > 0) made.push(table(["files that could not be used", "why"], bad.map((one) => [one.files, one.reason])));
  made.push(element("p", {class: "soft"}, "index sha256 " + account.sha256));
  return made;
}

function plan(run) {
  return run.plan.length === 0 ? [] : [element("ul", null, run.plan.map((reason) => element("li", null, reason)))];
}

function pictures(run) {
  const seen = run.pictures.filter((series) => series.shots.length > 0);
  const without = run.pictures.length - seen.length;
  const figures = seen.map((series) => {
    const image = element("img", {alt: run.name + ": " + series.name});
    const words = element("figcaption", {class: "soft"});
    const show = (index) => {
      const shot = series.shots[index];
      image.src = "data:image/png;base64," + shot.png;
      words.textContent = (shot.step === undefined ? "" : "step " + number(shot.step)) +
        (series.shots.length > 1 ? ", " + (index + 1) + " of " + series.shots.length + " (arrow keys)" : "") +
        (series.left_out > 0 ? "; there was no room for " + series.left_out + " more" : "");
    };
    const last = series.shots.length - 1;
    const slider = element("input", {type: "range", min: 0, max: last, value: last, "aria-label": series.name + ", through time",
                                     oninput: (event) => show(Number(event.target.value))});
    show(last);
    const figure = element("figure", null, element("h3", null, series.name), last > 0 ? slider : [], element("div", null, image), words);
    image.addEventListener("load", () => { if (image.naturalWidth > 700) figure.style.gridColumn = "1 / -1"; });
    return figure;
  });
  const words = without > 0 ? element("p", {class: "soft"}, "There was no room for " + without + " kinds of pictures.") : [];
  return figures.length === 0 && without === 0 ? [] : [words, element("div", {class: "charts"}, figures)].flat();
}

function differences() {
  if (runs.length < 2) return;
  const keys = [...new Set(runs.flatMap((run) => Object.keys(run.keys)))];
  const unlike = keys.filter((key) => new Set(runs.map((run) => run.keys[key])).size > 1);
  section("Keys that differ", unlike.length === 0 ? element("p", null, "none") :
    table(["key", ...runs.map((run) => run.name)], unlike.map((key) => [key, ...runs.map((run) => run.keys[key] ?? "not there")])));
}

function config(run) {
  return run.config === "" ? [] : [element("details", null, element("summary", null, "all keys, each with where its value came from"),
                                           element("pre", null, run.config))];
}

function commands(run) {
  const folder = /^[A-Za-z0-9_.\/-]+$/.test(run.folder) ? run.folder : "'" + run.folder.replaceAll("'", "'\\''") + "'";
  const lines = [run.state === "done" ? "larmor train " + folder + " train.length=STEPSst   # longer" : "larmor train " + folder + "   # goes on",
                 "larmor evaluate " + folder, "larmor checkpoint list " + folder, "larmor export " + folder + " --output weights.safetensors"];
  return [element("pre", null, lines.join("\n"))];
}

function citation(run) {
  const facts = run.facts || {};
  return [element("p", null, "Trained with " + run.program + " (" + run.build + "), workload " + run.workload + ", stage " + run.stage +
    (facts.ranks ? ", on " + facts.ranks + (facts.ranks === 1 ? " rank (" : " ranks (") + facts.device + ", " + facts.precision + ")" : "") +
    ", " + number(run.steps) + " steps" + (facts.global_batch ? " of " + facts.global_batch + " examples" : "") +
    (run.keys["run.seed"] ? ", seed " + run.keys["run.seed"] : "") +
    (facts.config_sha256 ? ", configuration sha256 " + facts.config_sha256.slice(0, 12) : "") + ".")];
}

function drawNavigation() {
  const links = [...report.querySelectorAll("section")].map((part) =>
    element("a", {href: "#" + part.id}, part.querySelector("h2").textContent));
  report.querySelector("h1").after(element("nav", {"aria-label": "parts"}, links));
}

drawHead();
ofEachRun("At a glance", glance);
ofEachRun("Figures", figures);
differences();
drawCurves();
ofEachRun("Time", time);
ofEachRun("Pictures", pictures);
ofEachRun("What happened", happenings);
ofEachRun("Data", data);
ofEachRun("Plan", plan);
ofEachRun("Configuration", config);
ofEachRun("Going on", commands);
ofEachRun("To cite", citation);
drawNavigation();
