package io.fairlock.conformance;

import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.sync.BaseRedisCommands;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.NestedMultiOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisCluster;
import redis.clients.jedis.commands.ProtocolCommand;

/**
 * Drives the cluster mode of Lettuce, or with the word `jedis` of Jedis, as
 * tests/clients/cluster/player.md describes. It has calls only.
 */
final class ClusterPlayer {

  // Longer than the waits of the tests.
  private static final Duration TIME_OUT = Duration.ofSeconds(5);
  private static final int ATTEMPTS = 50;

  private ClusterPlayer() {}

  private interface Library {

    Object call(List<String> words);
  }

  public static void main(String[] words) throws Exception {
    List<String> nodes = List.of(System.getenv("NODES").split(","));
    Library library = words.length > 0 && words[0].equals("jedis") ? new OnJedis(nodes)
        : new OnLettuce(nodes);
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      Map<String, Object> result = new HashMap<>();
      try {
        List<?> call = (List<?>) ((Map<?, ?>) Json.read(line)).get("call");
        result.put("reply", library.call(call.stream().map(String::valueOf).toList()));
      } catch (RuntimeException e) {
        result.put("error", e.toString());
      }
      System.out.println(Json.write(result));
    }
    System.exit(0);
  }

  /** The place of the first key. */
  private static int keyAt(List<String> words) {
    return switch (words.get(0)) {
      case "EVAL" -> 3;
      case "MLOCK", "MUNLOCK", "MRENEW" -> 2;
      default -> 1;
    };
  }

  private static Object plain(Object reply) {
    return reply instanceof byte[] bytes ? new String(bytes, StandardCharsets.UTF_8)
        : reply instanceof List<?> list ? list.stream().map(ClusterPlayer::plain).toList() : reply;
  }

  private static final class OnLettuce implements Library {

    private record Name(String name) implements ProtocolKeyword {

      @Override
      public byte[] getBytes() {
        return name.getBytes(StandardCharsets.UTF_8);
      }

      @Override
      public String toString() {
        return name;
      }
    }

    private final BaseRedisCommands<String, String> commands;

    OnLettuce(List<String> nodes) {
      List<RedisURI> seeds = nodes.stream().map(it -> RedisURI.create("redis://" + it)).toList();
      seeds.forEach(it -> it.setTimeout(TIME_OUT));
      RedisClusterClient client = RedisClusterClient.create(seeds);
      client.setOptions(ClusterClientOptions.builder()
          .topologyRefreshOptions(ClusterTopologyRefreshOptions.builder()
              .enableAllAdaptiveRefreshTriggers()
              .adaptiveRefreshTriggersTimeout(Duration.ofMillis(100))
              .enablePeriodicRefresh(Duration.ofSeconds(1)).build())
          .disconnectedBehavior(ClientOptions.DisconnectedBehavior.REJECT_COMMANDS)
          .validateClusterNodeMembership(false).build());
      commands = client.connect().sync();
    }

    /** The first of the replies, of which an output for any kind has a list. */
    @Override
    public Object call(List<String> words) {
      CommandArgs<String, String> all = new CommandArgs<>(StringCodec.UTF8);
      for (int i = 1; i < words.size(); i++) {
        if (i == keyAt(words)) {
          all.addKey(words.get(i));
        } else {
          all.add(words.get(i));
        }
      }
      List<Object> reply = commands.dispatch(new Name(words.get(0)),
          new NestedMultiOutput<>(StringCodec.UTF8), all);
      return reply == null || reply.isEmpty() ? null : reply.get(0);
    }
  }

  private static final class OnJedis implements Library {

    private final JedisCluster cluster;

    OnJedis(List<String> nodes) {
      Set<HostAndPort> seeds = nodes.stream().map(HostAndPort::from).collect(Collectors.toSet());
      int timeOut = (int) TIME_OUT.toMillis();
      cluster = new JedisCluster(seeds, DefaultJedisClientConfig.builder()
          .timeoutMillis(timeOut).build(), ATTEMPTS, TIME_OUT);
    }

    @Override
    public Object call(List<String> words) {
      ProtocolCommand name = () -> words.get(0).getBytes(StandardCharsets.UTF_8);
      String[] rest = words.subList(1, words.size()).toArray(String[]::new);
      return plain(cluster.sendCommand(words.get(keyAt(words)), name, rest));
    }
  }
}
