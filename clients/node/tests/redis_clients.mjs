// The Redis clients that the tests use: version 5 of each, or with FAIRLOCK_CLIENT_VERSIONS=newest
// the newest ones. package-lock.json pins both.

// node-redis 6 and ioredis 6 need a newer Node.js than the library does.
const NODE_MIN = 20;

const isNewest = process.env.FAIRLOCK_CLIENT_VERSIONS === "newest";
if (isNewest && Number.parseInt(process.versions.node) < NODE_MIN) {
  console.log(`skipped: the newest clients need Node.js ${NODE_MIN}, this is ${process.version}`);
  process.exit(0);
}
const suffix = isNewest ? "-newest" : "";

export const { Cluster, Command, Redis } = await import(`ioredis${suffix}`);
export const { createClient, createCluster, createSentinel } = await import(`redis${suffix}`);
