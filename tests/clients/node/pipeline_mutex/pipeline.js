// Steps around a job, and the end of a job that must not run.

import { UnrecoverableError } from "bullmq";

// The job is over: it is not tried again, and its log says why.
export class Cancelled extends UnrecoverableError {}

// A processor for BullMQ. Each step is called with the job and with what runs the rest.
export function pipeline(steps, perform) {
  return async (job) => {
    const run = (index) =>
      index === steps.length ? perform(job) : steps[index](job, () => run(index + 1));
    try {
      return await run(0);
    } catch (error) {
      if (error instanceof Cancelled) await job.log(error.message);
      throw error;
    }
  };
}
