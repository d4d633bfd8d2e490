// Charts of the host view, by metric. A line is omitted if the layout does not have its metric.

import { bytes, bits, fixed, percent } from "./format.js";

const perSecond = (value) => (value === null ? bytes(null) : `${bytes(value)}/s`);
const network = (value) => bits(value === null ? null : value * 8);

export const CHARTS = [
  { title: "CPU", write: percent, top: () => 1, lines: [
    { label: "busy", metric: "cpu_busy_ratio" },
  ] },
  { title: "Memory", write: bytes, top: (read) => read({ metric: "memory_total_bytes" }), lines: [
    { label: "used", metric: "memory_used_bytes" },
    { label: "cached", metric: "memory_cached_bytes" },
  ] },
  { title: "Disk", write: perSecond, lines: [
    { label: "read", metric: "disk_read_bytes_total", rate: true },
    { label: "written", metric: "disk_written_bytes_total", rate: true },
  ] },
  { title: "Network", write: network, lines: [
    { label: "in", metric: "network_received_bytes_total", rate: true },
    { label: "out", metric: "network_sent_bytes_total", rate: true },
  ] },
  { title: "Pressure", write: percent, minTop: 0.02, maxTop: 1, lines: [
    { label: "CPU", metric: "pressure_seconds_total", rate: true, only: { resource: "cpu", extent: "some" } },
    { label: "mem", metric: "pressure_seconds_total", rate: true, only: { resource: "memory", extent: "some" } },
    { label: "I/O", metric: "pressure_seconds_total", rate: true, only: { resource: "io", extent: "some" } },
  ] },
];

// One line for each GPU. With `topMetric`, the axis ends at that metric of the first GPU.
export const GPU_CHARTS = [
  { title: "GPU busy", write: percent, top: 1, metric: "gpu_utilization_ratio" },
  { title: "GPU memory", write: bytes, metric: "gpu_memory_used_bytes", topMetric: "gpu_memory_total_bytes" },
  { title: "GPU temperature", write: (value) => fixed(value, 0, "°C"), top: 100, metric: "gpu_temperature_celsius" },
];

export const GPU_CARD = {
  busy: "gpu_utilization_ratio",
  memoryUsed: "gpu_memory_used_bytes",
  memoryTotal: "gpu_memory_total_bytes",
  temperature: "gpu_temperature_celsius",
  slowdown: "gpu_temperature_slowdown_celsius",
  power: "gpu_power_watts",
  powerLimit: "gpu_power_limit_watts",
  clock: "gpu_sm_clock_hertz",
};

export const matches = (labels, only) => Object.entries(only).every(([name, value]) => labels[name] === value);

// Reads values from the newest answer and the one before it.
export class Reader {
  constructor(columns) {
    this.columns = columns;
    this.byMetric = new Map();
    columns.forEach((column, index) => {
      if (!this.byMetric.has(column.metric)) this.byMetric.set(column.metric, []);
      this.byMetric.get(column.metric).push(index);
    });
  }

  update(time, values) {
    if (this.time !== undefined && time <= this.time) return false;
    this.before = this.time === undefined ? null : { time: this.time, values: this.values };
    this.time = time;
    this.values = values;
    return true;
  }

  indexes({ metric, only = {} }) {
    return (this.byMetric.get(metric) ?? []).filter((index) => matches(this.columns[index].labels, only));
  }

  has(line) { return this.indexes(line).length > 0; }

  // Return the sum of the known values of the line's columns; null if none is known.
  read(line) {
    const known = this.indexes(line).map((index) => (line.rate ? this.rate(index) : this.values[index])).filter((value) => value !== null);
    return known.length ? known.reduce((sum, value) => sum + value, 0) : null;
  }

  rate(index) {
    const [before, now] = [this.before?.values[index] ?? null, this.values[index]];
    if (before === null || now === null || now < before) return null;
    return (now - before) / (this.time - this.before.time);
  }
}
