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
