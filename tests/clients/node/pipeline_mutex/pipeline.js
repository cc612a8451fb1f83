// Runs steps around a job, and can cancel a job before it runs.

import { UnrecoverableError } from "bullmq";

// Ends the job without a retry. The reason is in the job's log.
export class Cancelled extends UnrecoverableError {}

// Makes a BullMQ processor. Each step gets the job, and a function that runs the remaining steps.
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
