// Numbers and times in human-readable form.

export const kNone = "–";

const kUnits = [["d", 86400000], ["h", 3600000], ["m", 60000], ["s", 1000]];

// "340 ms", "12.4 s", "3 m 07 s", "2 h 05 m": at most two units.
export function duration(ms) {
  if (ms === null || ms === undefined) return kNone;
  if (ms < 0) return "0 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 10000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  if (ms < 60000) return `${Math.floor(ms / 1000)} s`;
  const first = kUnits.findIndex(([, length]) => ms >= length);
  const [unit, length] = kUnits[first];
  const [nextUnit, nextLength] = kUnits[first + 1];
  const rest = Math.floor((ms % length) / nextLength);
  return `${Math.floor(ms / length)} ${unit} ${String(rest).padStart(2, "0")} ${nextUnit}`;
}

export function count(value) {
  if (value === null || value === undefined) return kNone;
  return Number(value).toLocaleString("en-US");
}

export function rate(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return kNone;
  if (value > 0 && value < 0.95) return value < 0.05 ? "< 0.1" : value.toFixed(1);
  return count(Math.round(value));
}

export function bytes(value) {
  if (value === null || value === undefined) return kNone;
  const units = ["B", "KB", "MB", "GB", "TB"];
  let unit = 0;
  let left = value;
  for (; left >= 1024 && unit + 1 < units.length; ++unit) left /= 1024;
  return `${left >= 100 || unit === 0 ? Math.round(left) : left.toFixed(1)} ${units[unit]}`;
}

const two = (number) => String(number).padStart(2, "0");

export function clock(unixMs) {
  const date = new Date(unixMs);
  return `${two(date.getHours())}:${two(date.getMinutes())}`;
}

// Shows a point in time, with the date unless it is today.
export function moment(unixMs) {
  if (!unixMs) return kNone;
  const date = new Date(unixMs);
  const time = `${clock(unixMs)}:${two(date.getSeconds())}`;
  if (date.toDateString() === new Date().toDateString()) return time;
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${time}`;
}

// Shows a point in time with milliseconds, for events in quick succession.
export function exactMoment(unixMs) {
  return `${moment(unixMs)}.${String(unixMs % 1000).padStart(3, "0")}`;
}

export function plural(number, one, many) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

// The formats of filter values that the server accepts.
export const kDurationFormat = { pattern: "[0-9]+(ms|s|m|h|d)?", example: "a time like 10s or 5m" };
export const kDatabaseFormat = { pattern: "[0-9]|1[0-5]", example: "a number from 0 to 15" };
