// What the players of ioredis and node-redis share: ../cluster/player.md.
import { createInterface } from "node:readline";

export const nodes = process.env.NODES.split(",").map((address) => {
  const [host, port] = address.split(":");
  return { host, port: Number(port) };
});

// Returns the first key of a command.
export function keyOf(words) {
  if (words[0] === "EVAL") return words[3];
  return /^M(LOCK|UNLOCK|RENEW)$/.test(words[0]) ? words[2] : words[1];
}

// The messages that have arrived, and the requests that wait for one.
const messages = [];
const waiters = [];

export function deliver(channel, message) {
  if (waiters.length > 0) {
    waiters.shift()([channel, message]);
  } else {
    messages.push([channel, message]);
  }
}

function nextMessage() {
  if (messages.length > 0) return messages.shift();
  return new Promise((resume) => waiters.push(resume));
}

// `answers` has one function for each kind of request.
export async function play(answers) {
  answers.message = nextMessage;
  for await (const line of createInterface({ input: process.stdin })) {
    const [[kind, value]] = Object.entries(JSON.parse(line));
    let result;
    try {
      result = { reply: (await answers[kind](value)) ?? null };
    } catch (error) {
      result = { error: `${error.name}: ${error.message}` };
    }
    console.log(JSON.stringify(result));
  }
  process.exit(0);
}
