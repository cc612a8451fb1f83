// Waiting for a promise, a time or a message, with a limit and a signal.

import { NoReply } from "./errors";
import type { Message } from "./replies";

const TIMER_MS_MAX = 2 ** 31 - 1;

/** Calls back after this time; returns how to stop that. An infinite time never ends. */
export function after(time: number, call: () => void): () => void {
  if (time > TIMER_MS_MAX) return () => undefined;
  const timer = setTimeout(call, Math.max(0, time));
  return () => {
    clearTimeout(timer);
  };
}

/**
 * The result of the promise; or NoReply after this time; or the signal's reason when it aborts. The
 * promise itself goes on.
 */
export function within<T>(promise: Promise<T>, time: number, signal?: AbortSignal): Promise<T> {
  if (time > TIMER_MS_MAX && signal === undefined) return promise;
  return new Promise<T>((resolve, reject) => {
    const abort = (): void => {
      stop();
      reject(signal?.reason as Error);
    };
    const stopTimer = after(time, () => {
      stop();
      reject(new NoReply(`no reply within ${Math.round(time)} ms`));
    });
    const stop = (): void => {
      stopTimer();
      signal?.removeEventListener("abort", abort);
    };
    promise.then(
      (value) => {
        stop();
        resolve(value);
      },
      (error: unknown) => {
        stop();
        reject(error as Error);
      },
    );
    signal?.addEventListener("abort", abort);
    if (signal?.aborted === true) abort();
  });
}

/** Waits for this time, or until the signal aborts. */
export async function sleep(time: number, signal?: AbortSignal): Promise<void> {
  let stop = (): void => undefined;
  const slept = new Promise<void>((resolve) => {
    stop = after(time, resolve);
  });
  await within(slept, Infinity, signal).finally(() => {
    stop();
  });
}

/** Messages in the order of their arrival, for one reader. */
export class Mailbox {
  #messages: Message[] = [];
  #wake: (message: Message) => void = () => undefined;

  readonly put = (message: Message): void => {
    this.#messages.push(message);
    this.#wake(message);
  };

  /** Takes out all messages that have arrived. */
  takeAll(): Message[] {
    return this.#messages.splice(0);
  }

  /** Waits for the next message. */
  async next(time: number, signal?: AbortSignal): Promise<Message> {
    if (this.#messages.length === 0) {
      const arrival = new Promise<Message>((resolve) => (this.#wake = resolve));
      await within(arrival, time, signal);
    }
    return this.#messages.shift()!;
  }
}
