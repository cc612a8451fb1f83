// Drives ioredis's Cluster, as ../cluster/player.md describes.
import { Cluster } from "ioredis";
import { deliver, nodes, play } from "./cluster_player.js";

const client = new Cluster(nodes, { shardedSubscribers: true });
client.on("error", () => {});
client.on("smessage", deliver);

// Returns the replies, or throws the first error.
async function repliesOf(pipeline, commands) {
  for (const [name, ...words] of commands) pipeline.call(name, ...words);
  return (await pipeline.exec()).map(([error, reply]) => {
    if (error) throw error;
    return reply;
  });
}

await play({
  call: ([name, ...words]) => client.call(name, ...words),
  pipeline: (commands) => repliesOf(client.pipeline(), commands),
  transaction: (commands) => repliesOf(client.multi(), commands),
  subscribe: async (channel) => { await client.ssubscribe(channel); },
});
