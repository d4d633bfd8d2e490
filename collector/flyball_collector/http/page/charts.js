// Live line charts. plotly.js is loaded when the first chart is drawn.

import { element, setText } from "./dom.js";

let loading = null;

export function plotly() {
  loading ??= new Promise((resolve, reject) => {
    const source = document.querySelector('meta[name="plotly"]').content;
    document.head.append(element("script", { src: source, onload: () => resolve(window.Plotly), onerror: () => reject(new Error("plotly.js cannot be loaded")) }));
  });
  return loading;
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const GAP_SECONDS = 5;

// Insert an unknown point between distant points, so that no line is drawn across a time without records.
function withGaps(times, lines) {
  const step = times.length > 2 ? (times.at(-1) - times[0]) / times.length : 0;
  const cuts = times.map((time, index) => index > 0 && time - times[index - 1] > Math.max(GAP_SECONDS, 3 * step));
  const spread = (list, between) => list.flatMap((value, index) => (cuts[index] ? [between(index), value] : [value]));
  return { times: spread(times, (index) => times[index - 1] + 1), values: lines.map((line) => spread(line, () => null)) };
}

// A chart with some lines over the last `seconds`. Gaps are not filled.
export class Chart {
  constructor(title, labels, { write, seconds = 300, top = null, minTop = 0, maxTop = Infinity, summarise = null, fromZero = true }) {
    this.labels = labels;
    this.write = write;
    this.seconds = seconds;
    this.top = top;
    this.minTop = minTop;
    this.maxTop = maxTop;
    this.summarise = summarise;
    this.fromZero = fromZero;
    this.times = [];
    this.values = labels.map(() => []);
    this.keys = summarise ? [] : labels.map((_, which) => element("span", { class: labels.length > 1 ? `key series-${which % 8}` : "" }));
    this.now = element("span", { class: "now" }, ...this.keys);
    this.plot = element("div", { class: "plot none" }, "no data yet");
    this.node = element("div", { class: "card" }, element("h3", {}, title, this.now), this.plot);
    this.drawn = false;
  }

  // Add points from before the page was opened.
  preload(times, values) {
    const first = this.times[0] ?? Infinity;
    const keep = times.map((time, index) => index).filter((index) => times[index] < first);
    this.times = [...keep.map((index) => times[index]), ...this.times];
    this.values = this.values.map((line, which) => [...keep.map((index) => values[which]?.[index] ?? null), ...line]);
  }

  push(time, values) {
    if (time <= (this.times.at(-1) ?? -Infinity)) return;
    this.times.push(time);
    this.values.forEach((line, which) => line.push(values[which] ?? null));
    const cut = this.times.findIndex((each) => each >= time - this.seconds);
    if (cut > 0) {
      this.times.splice(0, cut);
      this.values.forEach((line) => line.splice(0, cut));
    }
    this.showNow(values);
  }

  showNow(values) {
    if (this.summarise) setText(this.now, this.summarise(values));
    else this.keys.forEach((key, which) => setText(key, this.labels.length > 1 ? `${this.labels[which]} ${this.write(values[which] ?? null)}` : this.write(values[which] ?? null)));
  }

  // Replace all points. `values` are those beside the title.
  replace(times, lines, values) {
    this.times = times;
    this.values = lines;
    this.showNow(values);
  }

  get empty() { return this.values.every((line) => line.every((value) => value === null)); }

  draw(library, until) {
    if (this.empty) return;
    if (!this.drawn) { this.plot.className = "plot"; this.plot.replaceChildren(); }
    const { times, values } = withGaps(this.times, this.values);
    const x = times.map((time) => new Date(time * 1000));
    const traces = this.labels.map((label, which) => ({
      x, y: values[which], name: label, mode: "lines", connectgaps: false,
      line: { width: 1.6, color: colour(`--series-${which % 8}`) },
      text: values[which].map((value) => this.write(value)), hovertemplate: `${this.labels.length > 1 ? "%{fullData.name} " : ""}%{text}<extra></extra>`,
    }));
    library.react(this.plot, traces, this.layout(until), { displayModeBar: false, responsive: true });
    this.drawn = true;
  }

  layout(until) {
    const [bottom, top] = this.range();
    const ticks = [bottom, (bottom + top) / 2, top];
    const axis = { gridcolor: colour("--line"), zeroline: false, tickfont: { color: colour("--faint"), size: 11 }, fixedrange: true };
    return {
      margin: { l: 66, r: 8, t: 10, b: 28 }, height: 158, showlegend: false, hovermode: "x unified",
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { family: "inherit" },
      hoverlabel: { bgcolor: colour("--card"), bordercolor: colour("--line"), font: { color: colour("--ink"), size: 12 } },
      xaxis: { ...axis, showgrid: false, ticks: "outside", ticklen: 6, tickcolor: "rgba(0,0,0,0)", tickformat: "%H:%M", range: [new Date((until - this.seconds) * 1000), new Date(until * 1000)], nticks: 5 },
      yaxis: { ...axis, range: [bottom - 0.03 * (top - bottom) * !this.fromZero, top + 0.03 * (top - bottom)], tickvals: ticks, ticktext: ticks.map((value) => this.write(value)) },
    };
  }

  // Return the ends of the value axis. It begins at zero, unless small changes of large values matter.
  range() {
    const known = this.values.flat().filter((value) => value !== null);
    if (!this.fromZero) {
      const [low, high] = [Math.min(...known), Math.max(...known)];
      const margin = (high - low) * 0.06 || Math.abs(high) * 0.05 || 1;
      return [low - margin, high + margin];
    }
    const largest = known.reduce((max, value) => Math.max(max, value), 0);
    return [0, this.top ?? (Math.min(this.maxTop, Math.max(largest * 1.12, this.minTop)) || 1)];
  }

  close(library) { if (this.drawn) library.purge(this.plot); }
}
