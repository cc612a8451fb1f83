package io.fairlock.conformance;

import io.fairlock.FairlockClient;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SslOptions;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.IntegerOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import java.nio.charset.StandardCharsets;

/** The driver's client on Lettuce. */
final class DriverOnLettuce implements Driver.Library {

  private final Driver.Wish wish;
  private final RedisURI address;
  private final ClientOptions options;

  DriverOnLettuce(Driver.Wish wish) {
    this.wish = wish;
    address = RedisURI.create(wish.url());
    address.setTimeout(wish.timeOut());
    ClientOptions.Builder made = ClientOptions.builder();
    if (wish.authorities() != null) {
      made.sslOptions(SslOptions.builder().trustManager(wish.authorities()).build());
    }
    options = made.build();
  }

  @Override
  public FairlockClient client() {
    FairlockClient.Builder builder = FairlockClient.builder().options(options).address(address);
    if (wish.sentinels() != null) {
      RedisURI uri = RedisURI.create("redis-sentinel://" + wish.sentinels() + "#main");
      uri.setTimeout(wish.timeOut());
      builder.address(uri);
    }
    if (wish.nodes() != null) {
      builder.cluster(wish.nodes().stream().map(this::node).toArray(RedisURI[]::new));
    }
    return builder.build();
  }

  private RedisURI node(String place) {
    int colon = place.lastIndexOf(':');
    return RedisURI.builder(address).withHost(place.substring(0, colon))
        .withPort(Integer.parseInt(place.substring(colon + 1))).build();
  }

  @Override
  public Driver.Raw raw() {
    RedisClient client = RedisClient.create(address);
    client.setOptions(options);
    StatefulRedisConnection<String, String> connection = client.connect();
    return new Driver.Raw() {
      @Override
      public long lock(String key, String owner) {
        return ask("LOCK", key, owner, "PX", "30000");
      }

      @Override
      public void unlock(String key, String owner, long token) {
        ask("UNLOCK", key, owner, "TOKEN", Long.toString(token));
      }

      private long ask(String name, String... words) {
        CommandArgs<String, String> all = new CommandArgs<>(StringCodec.UTF8);
        for (String word : words) {
          all.add(word);
        }
        return connection.sync().dispatch(new Word(name), new IntegerOutput<>(StringCodec.UTF8),
            all);
      }

      @Override
      public void close() {
        connection.close();
        client.shutdownAsync();
      }
    };
  }

  private record Word(String name) implements ProtocolKeyword {

    @Override
    public byte[] getBytes() {
      return name.getBytes(StandardCharsets.UTF_8);
    }

    @Override
    @SuppressWarnings("deprecation") // Lettuce 6 needs it.
    public String name() {
      return name;
    }
  }
}
