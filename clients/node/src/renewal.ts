// Renews a lease, and notices its end.

import { now } from "./clock";
import { isTemporary, pause, translated, warn } from "./failures";
import type { HoldState } from "./hold_state";
import type { Port } from "./port";
import { sleep } from "./waiting";

/** The reason if the server no longer knows the hold. */
export const UNKNOWN = "the server does not know it any more";

const TIMER_MS_MAX = 3_600_000;

/** Renews once. A refusal is final, because a token never returns. */
export async function renewOnce(
  port: Port,
  state: HoldState,
  lease = state.lease,
): Promise<void> {
  const command = state.terms.renew(state.owner, state.token, lease);
  const { reply, sentAt } = await port.ask(command, state.deadline - now());
  if (Number(reply) === 1) state.extend(sentAt + lease);
  else state.lose(UNKNOWN);
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
    const time = this.state.attentionAt(this.renews) - now();
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
        // Even an error that is not temporary may be repaired meanwhile, for example a missing
        // permission.
        await sleep(Math.min(isTemporary(error) ? pause(attempt) : left / 3, left));
      }
    }
    this.schedule();
  }
}
