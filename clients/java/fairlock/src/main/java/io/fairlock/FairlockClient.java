package io.fairlock;

import io.fairlock.Server.Timers;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisURI;
import io.lettuce.core.resource.ClientResources;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Lock;

/**
 * Takes fair locks with fencing tokens from a fairlock server. It has connections of its own, on
 * Lettuce or Jedis: one for requests, and while something waits, one on which the server tells who
 * gets a lock. So make one client for a program, and close it after its last lock. All threads may
 * use it.
 *
 * <pre>{@code
 * try (FairlockClient fairlock = FairlockClient.create("redis://localhost:3247");
 *     Hold hold = fairlock.lock("order:42", LockOptions.waiting(Duration.ofSeconds(10)))) {
 *   charge(42, hold.token());
 * }
 * }</pre>
 */
public final class FairlockClient implements AutoCloseable {

  /** The version of this library. */
  public static final String VERSION = "0.1.0";

  private static final SecureRandom RANDOM = new SecureRandom();
  private static final String PROCESS = hostName() + ":" + ProcessHandle.current().pid() + ":";

  private final Transport transport;
  private final Executor executor;
  private final ScheduledThreadPoolExecutor clock;
  private final Timers timers;
  private final Server only; // null with several partitions
  private final Route.Fleet fleet; // null with one
  private final Channel channel;
  private final HeldHere held = new HeldHere();
  private final FairlockLock.Threads threads = new FairlockLock.Threads();

  /** The nodes of a fleet of several partitions, as host:port, or null for one server. */
  FairlockClient(Transport transport, List<String> nodes, Executor calls) {
    this.transport = transport;
    executor = orHere(calls);
    clock = new ScheduledThreadPoolExecutor(1, call -> {
      Thread thread = new Thread(call, "fairlock");
      thread.setDaemon(true);
      return thread;
    });
    clock.setRemoveOnCancelPolicy(true);
    // After the last timer, which may come after close, nothing is left of it.
    clock.setKeepAliveTime(1, TimeUnit.SECONDS);
    clock.allowCoreThreadTimeOut(true);
    timers = (nanos, call) -> clock.schedule(call, Math.max(0, nanos), TimeUnit.NANOSECONDS);
    only = nodes == null ? transport.server(timers) : null;
    fleet = nodes == null ? null
        : new Route.Fleet(nodes, address -> transport.node(address, timers));
    channel = new Channel(makeOwner(), timers);
  }

  /**
   * A client of one server, or of the fleet of its nodes: on Lettuce if it is on the class path,
   * otherwise on Jedis.
   *
   * @param address {@code redis://[user:password@]host:port[/database]}, {@code rediss://} for TLS,
   *     or {@code redis-sentinel://host:port,host:port#main}
   * @throws IllegalStateException if neither is on the class path
   */
  public static FairlockClient create(String address) {
    if (Transport.has("io.lettuce.core.RedisClient")) {
      return builder().address(Builder.read(address)).build();
    }
    if (Transport.has("redis.clients.jedis.Connection")) {
      return onJedis().address(address).build();
    }
    throw new IllegalStateException("fairlock: neither Lettuce nor Jedis is on the class path");
  }

  /** A client on Lettuce, with more settings. */
  public static Builder builder() {
    return new Builder();
  }

  /** A client on Jedis, with more settings. Needs no class of Lettuce. */
  public static JedisBuilder onJedis() {
    return new JedisBuilder();
  }

  /** Makes a client on Lettuce; for one thread. */
  public static final class Builder {

    private List<RedisURI> addresses = List.of();
    private boolean isCluster;
    private ClientOptions options = ClientOptions.create();
    private ClientResources resources;
    private Executor executor = ForkJoinPool.commonPool();

    private Builder() {}

    private static RedisURI read(String address) {
      return RedisURI.create(address);
    }

    /**
     * The server, any node of a fleet, or Sentinels that name the leader. Its time-out decides how
     * soon a server is noticed that has gone silently; the library uses at most 5 s of it.
     */
    public Builder address(RedisURI uri) {
      addresses = List.of(uri);
      isCluster = false;
      return this;
    }

    /**
     * Nodes of a fleet of several partitions. Others are found through them; the user, TLS and
     * time-outs of all nodes are those of the first.
     */
    public Builder cluster(RedisURI... nodes) {
      if (nodes.length == 0) {
        throw new IllegalArgumentException("fairlock: a cluster needs the address of a node");
      }
      addresses = List.of(nodes);
      isCluster = true;
      return this;
    }

    /** Lettuce's options for TLS and sockets. The library decides itself about reconnecting. */
    public Builder options(ClientOptions lettuceOptions) {
      options = lettuceOptions;
      return this;
    }

    /** Threads of Lettuce that the program has already. Closing the client does not end them. */
    public Builder resources(ClientResources lettuceResources) {
      resources = lettuceResources;
      return this;
    }

    /**
     * Calls {@link LockOptions#onLost}, and what is chained to futures. By default the common pool.
     */
    public Builder executor(Executor calls) {
      executor = calls;
      return this;
    }

    /** Connects to nothing yet. */
    public FairlockClient build() {
      if (addresses.isEmpty()) {
        throw new IllegalArgumentException("fairlock: the client needs an address");
      }
      Transport transport = new LettuceTransport(addresses.get(0), options, resources);
      return new FairlockClient(transport, isCluster ? addresses.stream()
          .map(it -> it.getHost() + ":" + it.getPort()).toList() : null, executor);
    }
  }

  /** {@link #lock(String, LockOptions)} with {@link LockOptions#defaults}. */
  public Hold lock(String key) throws InterruptedException {
    return lock(key, LockOptions.defaults());
  }

  /**
   * Takes a lock; waits until it is granted, or the time of {@link LockOptions#waitAtMost} is over.
   * If the thread is interrupted, the place in the queue is given up before the exception is
   * thrown; if the server is silent then, this takes up to two requests of 5 s.
   *
   * @throws FairlockException.Denied if it is not granted in time
   * @throws FairlockException.Deadlock if the wait would never end: also if this thread holds the
   *     key itself by another call, unless an owner is named; {@link #asLock} is reentrant instead
   * @throws FairlockException for other reasons
   * @throws InterruptedException if the thread is interrupted; then it holds nothing
   */
  public Hold lock(String key, LockOptions options) throws InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
    Acquisition asked = acquisition(key, options);
    held.refuse(asked);
    CompletableFuture<Acquisition.Grant> grant = Blocking.call(asked::run);
    try {
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
      return note(granted(asked, grant.get()));
    } catch (ExecutionException e) {
      throw Hold.thrown(e);
    } catch (InterruptedException e) {
      asked.cancel();
      end(asked, grant);
      throw e;
    }
  }

  /**
   * Takes a lock if it is free. Does not wait, and cannot be interrupted.
   *
   * @return empty if the lock is not granted at once
   * @throws FairlockException if the server cannot be asked
   */
  public Optional<Hold> tryLock(String key, LockOptions options) {
    Acquisition asked = acquisition(key, options.waitAtMost(Duration.ZERO));
    try {
      return Optional.of(note(granted(asked, Blocking.call(asked::run).join())));
    } catch (CompletionException e) {
      RuntimeException failure = Hold.thrown(e);
      if (failure instanceof FairlockException.Denied) {
        return Optional.empty();
      }
      throw failure;
    }
  }

  /** {@link #tryLock(String, LockOptions)} with {@link LockOptions#defaults}. */
  public Optional<Hold> tryLock(String key) {
    return tryLock(key, LockOptions.defaults());
  }

  /**
   * {@link #lock(String, LockOptions)} as a future, which ends in the executor of the client. To
   * cancel it gives up the place in the queue, or releases the lock, a moment later. A future has
   * no thread, so nested locks are not noticed.
   */
  public CompletableFuture<Hold> lockAsync(String key, LockOptions options) {
    Acquisition asked = acquisition(key, options);
    CompletableFuture<Hold> future = new CompletableFuture<>();
    future.whenComplete((hold, failure) -> {
      if (future.isCancelled()) {
        asked.cancel();
      }
    });
    asked.run().whenComplete((grant, failure) -> complete(future, asked, grant, failure));
    return future;
  }

  private void complete(CompletableFuture<Hold> future, Acquisition asked,
      Acquisition.Grant grant, Throwable failure) {
    Hold hold = failure == null ? granted(asked, grant) : null;
    executor.execute(() -> {
      boolean isTaken = failure == null ? future.complete(hold)
          : future.completeExceptionally(Failures.bare(failure));
      if (!isTaken && hold != null) {
        hold.unlockAsync();
      }
    });
  }

  /**
   * A view for programs written for {@link Lock}: it belongs to a thread, and is reentrant, also
   * through another view of the same keys of this client.
   */
  public FairlockLock asLock(String key, LockOptions options) {
    return new FairlockLock(this, threads, acquisition(key, options).terms.keys, options);
  }

  /** {@link #asLock(String, LockOptions)} with {@link LockOptions#defaults}. */
  public FairlockLock asLock(String key) {
    return asLock(key, LockOptions.defaults());
  }

  /** Asks the server for a sign of life. */
  public CompletableFuture<Void> ping() {
    return route("").ask(List.of("PING")).<Void>thenApply(it -> null)
        .whenCompleteAsync((it, failure) -> {}, executor);
  }

  /**
   * Closes the connections. Waits that are still under way fail; holds that are not released are
   * not renewed any more, and end with their leases.
   */
  @Override
  public void close() {
    channel.close();
    try {
      (fleet == null ? only.close() : fleet.close()).get(2, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException | TimeoutException e) {
      // The transport closes what is left.
    }
    transport.close();
  }

  CompletableFuture<Server.Answer> ask(List<String> words) {
    return route(words.get(words.size() > 1 ? 1 : 0)).ask(words);
  }

  /** Without interruption, for {@link Lock#lock}. */
  Hold lockUninterruptibly(List<String> keys, LockOptions options) {
    Acquisition asked = acquisition(keys, options);
    held.refuse(asked);
    return note(granted(asked, Hold.await(asked::run)));
  }

  private Hold granted(Acquisition asked, Acquisition.Grant grant) {
    return new Holding(asked, grant, executor).hold();
  }

  private Hold note(Hold hold) {
    held.add(hold.holding());
    return hold;
  }

  /** After cancel, nothing is granted unless it was before. */
  private void end(Acquisition asked, CompletableFuture<Acquisition.Grant> grant) {
    try {
      Hold.await(granted(asked, grant.join()).holding()::release);
    } catch (RuntimeException e) {
      // It was cancelled, or is lost: it holds nothing.
    }
  }

  private Acquisition acquisition(String key, LockOptions options) {
    List<String> keys = new ArrayList<>();
    keys.add(key);
    keys.addAll(options.moreKeys);
    return acquisition(List.copyOf(keys), options);
  }

  private Acquisition acquisition(List<String> keys, LockOptions options) {
    return new Acquisition(options, keys, makeOwner(), route(keys.get(0)), channel, timers);
  }

  private Route route(String key) {
    return fleet == null ? new Route.Plain(only)
        : new Route.Partitioned(fleet, key, Route.Slots.of(key));
  }

  /** An executor of the program may have been shut down before the client is closed. */
  private static Executor orHere(Executor executor) {
    return call -> {
      try {
        executor.execute(call);
      } catch (RejectedExecutionException e) {
        call.run();
      }
    };
  }

  /** Names one execution: the host, the process and a random part. */
  private static String makeOwner() {
    byte[] random = new byte[8];
    RANDOM.nextBytes(random);
    return PROCESS + HexFormat.of().formatHex(random);
  }

  private static String hostName() {
    try {
      return InetAddress.getLocalHost().getHostName();
    } catch (UnknownHostException e) {
      return "unknown";
    }
  }

  /** What each thread holds by blocking calls: a wait of the thread for one of these never ends. */
  private static final class HeldHere {

    private final ThreadLocal<List<Holding>> ofThread = ThreadLocal.withInitial(ArrayList::new);

    void add(Holding it) {
      List<Holding> all = ofThread.get();
      all.removeIf(other -> !other.isHeld());
      all.add(it);
    }

    void refuse(Acquisition asked) {
      if (asked.options.owner != null || !asked.options.mayWait()) {
        return;
      }
      List<Holding> all = ofThread.get();
      if (all.isEmpty()) {
        return;
      }
      all.removeIf(other -> !other.isHeld());
      for (String key : asked.terms.keys) {
        List<Holding> mine = all.stream().filter(it -> it.keys.contains(key)).toList();
        for (Holding it : mine) {
          if (excludes(it.options, asked.options, mine.size())) {
            throw new FairlockException.Deadlock(asked.terms.keys,
                "this thread holds it already, as " + Explanation.Text.printable(it.owner)
                    + ": the wait would never end. If another thread releases it, give each "
                    + "acquisition an owner; asLock() is reentrant");
          }
        }
      }
    }

    private static boolean excludes(LockOptions mine, LockOptions wanted, int count) {
      if (mine.isShared || wanted.isShared) {
        return !(mine.isShared && wanted.isShared);
      }
      return mine.limit == null || wanted.limit == null
          || count >= Math.min(mine.limit, wanted.limit);
    }
  }
}
