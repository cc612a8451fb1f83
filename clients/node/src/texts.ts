// Keys and owners for people.

import type { Name } from "./terms";

const UNKNOWN = "\ufffd";
const CHARACTER_BYTES_MAX = 4;

/** What is no text, and what is not printable, as escapes. */
export function shown(name: Name): string {
  const text = typeof name === "string" ? name : textOf(Buffer.from(name));
  return text.replace(/(?! )[\p{C}\p{Z}]/gu, (character) => {
    const code = character.codePointAt(0)!;
    return code < 0x100 ? byteText(code) : `\\u{${code.toString(16)}}`;
  });
}

function byteText(byte: number): string {
  return `\\x${byte.toString(16).padStart(2, "0")}`;
}

function textOf(bytes: Buffer): string {
  const whole = bytes.toString();
  if (!whole.includes(UNKNOWN)) return whole;
  let text = "";
  for (let at = 0, size = 0; at < bytes.length; at += Math.max(size, 1)) {
    size = characterSize(bytes, at);
    text += size === 0 ? byteText(bytes[at]!) : bytes.toString("utf8", at, at + size);
  }
  return text;
}

/** The length of the character that begins there, or 0 if none does. */
function characterSize(bytes: Buffer, at: number): number {
  for (let size = 1; size <= CHARACTER_BYTES_MAX && at + size <= bytes.length; ++size) {
    const part = bytes.subarray(at, at + size);
    if (Buffer.from(part.toString()).equals(part)) return size;
  }
  return 0;
}
