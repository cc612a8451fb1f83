// Drives ioredis's Cluster, as ../cluster/player.md describes.
import calculateSlot from "cluster-key-slot";
import { Cluster, Command } from "ioredis";
import { deliver, keyOf, nodes, play } from "./cluster_player.js";

const client = new Cluster(nodes, { shardedSubscribers: true });
client.on("error", () => {});
client.on("smessage", deliver);

// ioredis does not know which words of our commands are keys. Without a slot, it sends them to any
// node, and reads the slots again after each redirection.
function call([name, ...words]) {
  const command = new Command(name, words, { replyEncoding: "utf8" });
  command.slot = calculateSlot(keyOf([name, ...words]));
  return client.sendCommand(command);
}

// Returns the replies, or throws the first error.
async function repliesOf(pipeline, commands) {
  for (const [name, ...words] of commands) pipeline.call(name, ...words);
  return (await pipeline.exec()).map(([error, reply]) => {
    if (error) throw error;
    return reply;
  });
}

await play({
  call,
  pipeline: (commands) => repliesOf(client.pipeline(), commands),
  transaction: (commands) => repliesOf(client.multi(), commands),
  subscribe: async (channel) => { await client.ssubscribe(channel); },
});
