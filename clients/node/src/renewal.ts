// Renews a lease, and notices its end.

import { now } from "./clock";
import { isTemporary, pause, translated, warn } from "./failures";
import type { HoldState } from "./hold_state";
import type { Port } from "./port";
import { sleep } from "./waiting";

// A lease is renewed when a third of it is left.
const RENEW_PART = 2 / 3;
const TIMER_MS_MAX = 3_600_000;

/**
 * Renews once. Until the reply tells, the lease ends at the earlier of both times: the server may
 * have shortened it already.
 */
export async function renewOnce(
  port: Port,
  state: HoldState,
  lease = state.lease,
): Promise<void> {
  const command = state.terms.renew(state.owner, state.token, lease);
  state.shorten(lease, now());
  const { reply, sentAt } = await port.ask(command, state.deadline - now());
  if (Number(reply) === 1) state.extend(lease, sentAt);
  else state.lose("the server does not know it any more");
}

/** One timer for each hold. It does not keep the process alive: the lease ends with the process. */
export class Renewal {
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly port: Port,
    private readonly state: HoldState,
    private readonly renews: boolean,
  ) {
    this.schedule();
  }

  /** After a change of the lease. */
  schedule(): void {
    this.stop();
    if (this.state.isOver || this.state.isLost) return;
    const time = this.state.after(this.renews ? RENEW_PART : 1) - now();
    const due = (): void => {
      if (time > TIMER_MS_MAX) this.schedule();
      else void this.#renew();
    };
    this.#timer = setTimeout(due, Math.min(Math.max(0, time), TIMER_MS_MAX)).unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  /** The server may be restarting: asks again while the lease lasts. */
  async #renew(): Promise<void> {
    const { state } = this;
    for (let attempt = 0; this.renews && !state.isOver && !state.isLost; ++attempt) {
      try {
        await renewOnce(this.port, state);
        break;
      } catch (error) {
        warn(`renewing ${state.terms.names}`, translated(error));
        const left = Math.max(0, state.deadline - now());
        // What is not temporary may be repaired meanwhile, for example a permission.
        await sleep(Math.min(isTemporary(error) ? pause(attempt) : left / 3, left));
      }
    }
    this.schedule();
  }
}
