// Hash slots, as in Redis Cluster.

import { bytesOf, type Name } from "./terms";

const SLOTS = 16_384;
const TAG_BYTES_MAX = 100;
const [OPEN, CLOSE] = [0x7b, 0x7d]; // the braces around a tag

const CRC16 = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; ++bit) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  return crc;
});

function hash(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) crc = ((crc << 8) & 0xffff) ^ CRC16[(crc >> 8) ^ byte]!;
  return crc % SLOTS;
}

/** The part of a key that determines its slot: between its first braces, or the whole key. */
function hashedPart(key: Buffer): Buffer {
  const begin = key.indexOf(OPEN) + 1;
  const end = begin === 0 ? -1 : key.indexOf(CLOSE, begin);
  return end > begin ? key.subarray(begin, end) : key;
}

export function slotOf(key: Name): number {
  return hash(hashedPart(bytesOf(key)));
}

/** A text that has the slot of the key if it stands between braces. */
export function tagOf(key: Name): string {
  const part = hashedPart(bytesOf(key));
  const text = part.toString();
  const isText = Buffer.from(text).equals(part);
  const fits = part.length > 0 && part.length <= TAG_BYTES_MAX && !part.includes(CLOSE);
  return isText && fits ? text : numberIn(hash(part));
}

// The lowest number whose digits have each slot, as far as it was needed.
const numbers = new Map<number, string>();
let nextNumber = 0;

function numberIn(slot: number): string {
  for (; !numbers.has(slot); ++nextNumber) {
    const text = String(nextNumber);
    const found = hash(Buffer.from(text));
    if (!numbers.has(found)) numbers.set(found, text);
  }
  return numbers.get(slot)!;
}
