// Drives node-redis's createCluster, as ../cluster/player.md describes. RESP is the version of the
// protocol.
import { createCluster } from "redis";
import { deliver, keyOf, nodes, play } from "./cluster_player.js";

const client = createCluster({
  rootNodes: nodes.map((socket) => ({ socket })), RESP: Number(process.env.RESP) });
client.on("error", () => {});
await client.connect();

// node-redis asks its user for the key that determines the node.
function fill(pipeline, commands) {
  for (const words of commands) pipeline.addCommand(keyOf(words), false, words);
  return pipeline;
}

await play({
  call: (words) => client.sendCommand(keyOf(words), false, words),
  pipeline: (commands) => fill(client.multi(), commands).execAsPipeline(),
  transaction: (commands) => fill(client.multi(), commands).exec(),
  subscribe: async (channel) => {
    await client.sSubscribe(channel, (message) => deliver(channel, message));
  },
});
