// Decides after which errors a request is worth repeating, and which errors of this library stand
// for the others.

import { Deadlock, FairlockError, NoReply, NotFairlock, WaitEnded } from "./errors";

const TEMPORARY_WORDS = ["CLUSTERDOWN", "LOADING", "NOQUORUM", "READONLY", "TRYAGAIN"];
const PAUSE_MS_MIN = 50;
const PAUSE_MS_MAX = 1000;

/** The first word of an error reply, or "" for any other error. */
function replyWord(error: Error): string {
  return /^([A-Z]{2,})(?: |$)/.exec(error.message)?.[1] ?? "";
}

function isAboutTrust(error: Error): boolean {
  const code = "code" in error ? String(error.code) : "";
  return (
    /CERT|^UNABLE_TO_|^ERR_TLS_|^ERR_SSL_/.test(code) ||
    /\b(NOAUTH|WRONGPASS|NOPERM)\b/.test(error.message)
  );
}

/** Whether the same request may succeed later: the server is restarting, or fails over. */
export function isTemporary(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof TypeError || isAboutTrust(error)) return false;
  if (error instanceof FairlockError) return error instanceof NoReply;
  const word = replyWord(error);
  // A channel has no subscriber while its connection is re-established.
  if (word === "ERR") return error.message.includes("has no subscriber");
  return word === "" || TEMPORARY_WORDS.includes(word);
}

/**
 * Only a client for one server gets these errors: other clients follow MOVED, and name channels by
 * slots.
 */
function isOfPartitions(word: string, error: Error): boolean {
  return word === "MOVED" || (word === "CROSSSLOT" && error.message.includes("NOTIFY"));
}

/**
 * The error of this library for an error reply, or the error itself. Texts of ours begin with the
 * names of the keys.
 */
export function translated(error: unknown, names?: string): unknown {
  const about = names === undefined ? "" : `${names}: `;
  if (error instanceof NoReply) return new NoReply(about + error.message, { cause: error });
  if (!(error instanceof Error) || error instanceof FairlockError) return error;
  const word = replyWord(error);
  const options = { cause: error };
  if (word === "DEADLOCK") {
    return new Deadlock(about + error.message.slice(word.length + 1), options);
  }
  if (["SUPERSEDED", "CANCELLED", "UNBLOCKED"].includes(word)) {
    return new WaitEnded(about + error.message, options);
  }
  if (isOfPartitions(word, error)) {
    const text =
      "the keys are spread over several partitions, which needs a client for clusters: " +
      "new Cluster() of ioredis, or createCluster() of node-redis";
    return new FairlockError(`${about}${text}: ${error.message}`, options);
  }
  if (word === "ERR" && /unknown command/i.test(error.message)) {
    const text = `the server is not fairlock, it may be Redis: ${error.message}`;
    return new NotFairlock(about + text, options);
  }
  return error;
}

/** Growing pauses between attempts. Clients that lost one server do not return all at once. */
export function pause(attempt: number): number {
  return Math.min(PAUSE_MS_MIN * 2 ** attempt, PAUSE_MS_MAX) * (0.5 + Math.random() / 2);
}

/** Tells the program's operator about something that no error reports. */
export function warn(text: string, error: unknown): void {
  process.emitWarning(`${text}: ${String(error)}`, "FairlockWarning");
}
