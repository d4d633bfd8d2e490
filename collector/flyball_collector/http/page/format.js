// Formats numbers for display. `null` is unknown and shown as a dash, never as zero.

export const DASH = "–";

export function percent(ratio) {
  return ratio === null || ratio === undefined ? DASH : `${(ratio * 100).toFixed(ratio < 0.0995 && ratio > 0 ? 1 : 0)} %`;
}

const BINARY = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const DECIMAL = ["", "k", "M", "G", "T", "P"];

function scaled(value, step, units) {
  let index = 0;
  let size = Math.abs(value);
  while (size >= step && index < units.length - 1) { size /= step; index += 1; }
  const digits = size >= 100 || index === 0 ? 0 : size >= 10 ? 1 : 2;
  return [`${value < 0 ? "-" : ""}${size.toFixed(digits)}`, units[index]];
}

export function bytes(value) {
  return value === null || value === undefined ? DASH : scaled(value, 1024, BINARY).join(" ");
}

export function hertz(value) {
  if (value === null || value === undefined) return DASH;
  const [number, unit] = scaled(value, 1000, DECIMAL);
  return `${number} ${unit}Hz`;
}

export function bits(value) {
  if (value === null || value === undefined) return DASH;
  const [number, unit] = scaled(value, 1000, DECIMAL);
  return `${number} ${unit}bit/s`;
}

export function fixed(value, digits, unit) {
  return value === null || value === undefined ? DASH : `${value.toFixed(digits)}${unit ? ` ${unit}` : ""}`;
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return DASH;
  const rounded = Math.max(0, Math.round(seconds));
  if (rounded < 120) return `${rounded} s`;
  if (rounded < 7200) return `${Math.floor(rounded / 60)} min`;
  if (rounded < 172800) return `${Math.floor(rounded / 3600)} h`;
  return `${Math.floor(rounded / 86400)} d`;
}

// Format a long duration in two units: 2 h 3 min.
export function twoUnits(seconds) {
  if (seconds === null || seconds === undefined || seconds < 60) return duration(seconds);
  const minutes = Math.round(seconds / 60);
  const [large, small, [first, second]] = seconds < 172800 ? [Math.floor(minutes / 60), minutes % 60, ["h", "min"]] : [Math.floor(minutes / 1440), Math.floor((minutes % 1440) / 60), ["d", "h"]];
  return [large ? `${large} ${first}` : "", small ? `${small} ${second}` : ""].filter(Boolean).join(" ");
}

// Format a duration of a step or a call.
export function shortTime(seconds) {
  if (seconds === null || seconds === undefined) return DASH;
  if (seconds >= 120) return twoUnits(seconds);
  if (seconds === 0) return "0 s";
  if (seconds >= 1) return `${seconds.toFixed(2)} s`;
  return seconds >= 0.0995 ? `${(seconds * 1000).toFixed(0)} ms` : seconds >= 0.0005 ? `${(seconds * 1000).toFixed(1)} ms` : `${(seconds * 1e6).toFixed(0)} µs`;
}

export function count(value) {
  return value === null || value === undefined ? DASH : Math.round(value).toLocaleString("en");
}

export function rate(value) {
  if (value === null || value === undefined) return DASH;
  return value >= 1000 ? count(value) : value.toFixed(value >= 100 || value === 0 ? 0 : value >= 10 ? 1 : 2);
}

// Format the same for an axis: 734 k.
export function shortRate(value) {
  return value === null || value === undefined || value < 1000 ? rate(value) : scaled(value, 1000, DECIMAL).join(" ");
}

export function significant(value, digits = 4) {
  if (value === null || value === undefined) return DASH;
  return value !== 0 && (Math.abs(value) < 1e-4 || Math.abs(value) >= 1e6) ? value.toExponential(digits - 1) : value.toPrecision(digits);
}

export function skew(seconds) {
  if (seconds === null || seconds === undefined) return DASH;
  const size = Math.abs(seconds);
  const sign = seconds < 0 ? "−" : "+";
  if (size < 0.0005) return "0 ms";
  return size < 1 ? `${sign}${(size * 1000).toFixed(size < 0.01 ? 1 : 0)} ms` : `${sign}${size < 120 ? `${size.toFixed(1)} s` : duration(size)}`;
}

export function clock(unix) {
  return new Date(unix * 1000).toLocaleTimeString();
}

// Include the date unless it is today.
export function moment(unix) {
  const date = new Date(unix * 1000);
  return date.toDateString() === new Date().toDateString() ? date.toLocaleTimeString() : date.toLocaleString();
}
