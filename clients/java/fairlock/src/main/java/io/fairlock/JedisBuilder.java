package io.fairlock;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.ForkJoinPool;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManagerFactory;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;

/** Makes a client on Jedis 6 or newer; see {@link FairlockClient#onJedis}. For one thread. */
public final class JedisBuilder {

  private List<String> addresses = List.of();
  private boolean isCluster;
  private Duration timeOut = Transport.REQUEST_MAX;
  private File authorities;
  private JedisClientConfig config;
  private JedisClientConfig sentinelConfig;
  private Executor executor = ForkJoinPool.commonPool();

  JedisBuilder() {}

  /**
   * The server, any node of a fleet, or Sentinels that name the leader:
   * {@code redis://[[user]:password@]host:port[/database]}, {@code rediss://} for TLS, or
   * {@code redis-sentinel://host:port,host:port#main}.
   */
  public JedisBuilder address(String address) {
    addresses = List.of(address);
    isCluster = false;
    return this;
  }

  /**
   * Nodes of a fleet of several partitions. Others are found through them; the user and TLS of all
   * nodes are those of the first.
   */
  public JedisBuilder cluster(String... nodes) {
    if (nodes.length == 0) {
      throw new IllegalArgumentException("fairlock: a cluster needs the address of a node");
    }
    addresses = List.of(nodes);
    isCluster = true;
    return this;
  }

  /** How soon a server is noticed that has gone silently; the library uses at most 5 s of it. */
  public JedisBuilder timeout(Duration time) {
    timeOut = Duration.ofNanos(LockOptions.checked("the time-out", time, true));
    return this;
  }

  /** For TLS: certificates of the authorities to trust, as PEM. By default, those of Java. */
  public JedisBuilder trust(File pem) {
    authorities = pem;
    return this;
  }

  /**
   * All of Jedis's own settings. The user, the password, TLS and the database are then those of the
   * settings instead of the address, and so is the time-out. The library decides itself about the
   * version of the protocol.
   */
  public JedisBuilder config(JedisClientConfig settings) {
    config = settings;
    return this;
  }

  /** For the Sentinels; without these, the same user logs in there, without TLS. */
  public JedisBuilder sentinelConfig(JedisClientConfig settings) {
    sentinelConfig = settings;
    return this;
  }

  /**
   * Calls {@link LockOptions#onLost}, and what is chained to futures. By default the common pool.
   */
  public JedisBuilder executor(Executor calls) {
    executor = calls;
    return this;
  }

  /** Connects to nothing yet. Throws IllegalArgumentException for a wrong address. */
  public FairlockClient build() {
    if (addresses.isEmpty()) {
      throw new IllegalArgumentException("fairlock: the client needs an address");
    }
    List<JedisAddress> read = addresses.stream().map(JedisAddress::of).toList();
    JedisAddress first = read.get(0);
    List<HostAndPort> places = read.stream().flatMap(it -> it.places().stream()).toList();
    JedisTransport transport = new JedisTransport(places, first.master(),
        config != null ? config : settings(first), sentinelConfig);
    List<String> nodes = isCluster
        ? places.stream().map(it -> it.getHost() + ":" + it.getPort()).toList() : null;
    return new FairlockClient(transport, nodes, executor);
  }

  private JedisClientConfig settings(JedisAddress address) {
    DefaultJedisClientConfig.Builder made = DefaultJedisClientConfig.builder()
        .user(address.user()).password(address.password()).database(address.database())
        .connectionTimeoutMillis((int) Transport.REQUEST_MAX.toMillis())
        .socketTimeoutMillis((int) Math.min(timeOut.toMillis(), Transport.REQUEST_MAX.toMillis()));
    if (address.isTls()) {
      SSLParameters names = new SSLParameters();
      names.setEndpointIdentificationAlgorithm("HTTPS"); // Jedis 6 would not compare names.
      made.ssl(true).sslParameters(names);
      if (authorities != null) {
        made.sslSocketFactory(trusting(authorities));
      }
    }
    return made.build();
  }

  private static SSLSocketFactory trusting(File pem) {
    try (InputStream bytes = new FileInputStream(pem)) {
      KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
      store.load(null, null);
      List<Certificate> all = new ArrayList<>(
          CertificateFactory.getInstance("X.509").generateCertificates(bytes));
      for (int i = 0; i < all.size(); i++) {
        store.setCertificateEntry(Integer.toString(i), all.get(i));
      }
      TrustManagerFactory trust =
          TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      trust.init(store);
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(null, trust.getTrustManagers(), null);
      return context.getSocketFactory();
    } catch (IOException | GeneralSecurityException e) {
      throw new IllegalArgumentException("fairlock: cannot read the authorities in " + pem, e);
    }
  }
}
