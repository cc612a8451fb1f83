package io.fairlock.conformance;

import io.fairlock.FairlockClient;
import io.fairlock.JedisBuilder;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.commands.ProtocolCommand;

/** The driver's client on Jedis; nothing here needs a class of Lettuce. */
final class DriverOnJedis implements Driver.Library {

  private static final ProtocolCommand LOCK = () -> "LOCK".getBytes(StandardCharsets.UTF_8);
  private static final ProtocolCommand UNLOCK = () -> "UNLOCK".getBytes(StandardCharsets.UTF_8);

  private final Driver.Wish wish;

  DriverOnJedis(Driver.Wish wish) {
    this.wish = wish;
  }

  @Override
  public FairlockClient client() {
    JedisBuilder builder = FairlockClient.onJedis().address(wish.url()).timeout(wish.timeOut());
    if (wish.authorities() != null) {
      builder.trust(wish.authorities());
    }
    if (wish.sentinels() != null) {
      builder.address("redis-sentinel://" + wish.sentinels() + "#main");
    }
    if (wish.nodes() != null) {
      // Its host is one of the nodes; the user and TLS are those of the address.
      builder.cluster(wish.nodes().stream().map(this::node).toArray(String[]::new));
    }
    return builder.build();
  }

  private String node(String place) {
    int at = Math.max(wish.url().lastIndexOf('@'), wish.url().indexOf("://") + 2);
    return wish.url().substring(0, at + 1) + place;
  }

  /** Without TLS, as the case that measures needs it. */
  @Override
  public Driver.Raw raw() {
    Jedis jedis = new Jedis(URI.create(wish.url()));
    return new Driver.Raw() {
      @Override
      public long lock(String key, String owner) {
        return (Long) jedis.sendCommand(LOCK, key, owner, "PX", "30000");
      }

      @Override
      public void unlock(String key, String owner, long token) {
        jedis.sendCommand(UNLOCK, key, owner, "TOKEN", Long.toString(token));
      }

      @Override
      public void close() {
        jedis.close();
      }
    };
  }
}
