package io.fairlock;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/** Leads to the server of a key. All threads may call it. */
interface Route {

  int EVERY_SLOT = -1;
  int REDIRECTIONS_MAX = 5;

  /** The hash slot of the key; EVERY_SLOT if one server has all keys. */
  int slot();

  CompletableFuture<Server> server();

  /**
   * Takes note of an error; returns whether the request, which was not executed, can be repeated.
   */
  boolean failed(Server server, Throwable failure);

  /** Returns the error to report for an error of a server. */
  Throwable reason(Throwable failure);

  /** The name of the NOTIFY channel for the key. */
  String channelName(String id);

  /** Sends a command once to the server of the key. */
  default CompletableFuture<Server.Answer> ask(List<String> words) {
    return ask(words, 0);
  }

  private CompletableFuture<Server.Answer> ask(List<String> words, int redirections) {
    return server().thenCompose(server -> server.ask(words).handle((answer, failure) -> {
      if (failure == null) {
        return CompletableFuture.completedFuture(answer);
      }
      return failed(server, failure) && redirections < REDIRECTIONS_MAX
          ? ask(words, redirections + 1)
          : CompletableFuture.<Server.Answer>failedFuture(reason(failure));
    }).thenCompose(Function.identity()));
  }

  /** Leads to the one server of a client. */
  record Plain(Server only) implements Route {

    @Override
    public int slot() {
      return EVERY_SLOT;
    }

    @Override
    public CompletableFuture<Server> server() {
      return CompletableFuture.completedFuture(only);
    }

    @Override
    public CompletableFuture<Server.Answer> ask(List<String> words) {
      return only.ask(words).exceptionallyCompose(failure -> {
        failed(only, failure);
        return CompletableFuture.failedFuture(reason(failure));
      });
    }

    @Override
    public boolean failed(Server server, Throwable failure) {
      if (Failures.isTemporary(failure)) {
        server.doubt(failure);
      }
      return false;
    }

    @Override
    public Throwable reason(Throwable failure) {
      return Failures.isMoved(failure)
          ? new FairlockException.NeedsCluster(Failures.bare(failure)) : Failures.bare(failure);
    }

    @Override
    public String channelName(String id) {
      return id;
    }
  }

  /** Leads to the leader of the partition of a key. */
  record Partitioned(Fleet fleet, String key, int slot) implements Route {

    @Override
    public CompletableFuture<Server> server() {
      Server leader = fleet.trustedLeader(slot);
      return leader != null ? CompletableFuture.completedFuture(leader) : fleet.findLeader(slot);
    }

    @Override
    public boolean failed(Server server, Throwable failure) {
      if (Failures.isMoved(failure)) {
        String text = Failures.replyOf(failure);
        fleet.move(slot, text.substring(text.lastIndexOf(' ') + 1));
        return true;
      }
      if (Failures.isTemporary(failure)) {
        fleet.doubt(slot, server);
      }
      return false;
    }

    @Override
    public Throwable reason(Throwable failure) {
      return Failures.isMoved(failure)
          ? new Failures.Again("the leader of the partition is changing: "
              + Failures.replyOf(failure))
          : Failures.bare(failure);
    }

    @Override
    public String channelName(String id) {
      return Slots.nameInSlot(id, key);
    }
  }

  /** The nodes of a fleet of several partitions, and which of them leads which partition. */
  final class Fleet {

    // A leader that was lost is looked for at most this often, however many requests wait for it.
    private static final long READ_PAUSE = 50 * Clock.MILLISECOND;

    private static final class Partition {
      final int first;
      final int last;
      String address;
      boolean isDoubted;

      Partition(int first, int last, String address) {
        this.first = first;
        this.last = last;
        this.address = address;
      }
    }

    private final Function<String, Server> connect;
    private final Map<String, Server> nodes = new LinkedHashMap<>(); // the nodes by address
    private List<Partition> partitions = List.of();
    private long readAt = Clock.now() - READ_PAUSE;
    private CompletableFuture<Void> reading;

    /** The function makes the server of an address, host:port. */
    Fleet(List<String> seeds, Function<String, Server> connect) {
      this.connect = connect;
      seeds.forEach(this::at);
    }

    synchronized CompletableFuture<Void> close() {
      return CompletableFuture.allOf(
          nodes.values().stream().map(Server::close).toArray(CompletableFuture<?>[]::new));
    }

    private synchronized Server at(String address) {
      return nodes.computeIfAbsent(address, connect);
    }

    private Partition partition(int slot) {
      for (Partition it : partitions) {
        if (it.first <= slot && slot <= it.last) {
          return it;
        }
      }
      return null;
    }

    synchronized Server trustedLeader(int slot) {
      Partition it = partition(slot);
      return it == null || it.isDoubted ? null : at(it.address);
    }

    synchronized void doubt(int slot, Server leader) {
      Partition it = partition(slot);
      if (it != null && nodes.get(it.address) == leader) {
        it.isDoubted = true;
      }
    }

    /** Takes note of the address in a redirection. */
    synchronized void move(int slot, String address) {
      Partition it = partition(slot);
      if (it != null) {
        it.address = address;
        it.isDoubted = false;
      }
    }

    /** Asks the fleet who leads the partition of a slot. */
    CompletableFuture<Server> findLeader(int slot) {
      return readIfOld().thenApply(it -> {
        synchronized (this) {
          Partition found = partition(slot);
          if (found == null) {
            throw new Failures.Again("no node leads the partition of the key");
          }
          return at(found.address);
        }
      });
    }

    private synchronized CompletableFuture<Void> readIfOld() {
      if (reading != null && !reading.isDone()) {
        return reading;
      }
      if (Clock.now() - readAt < READ_PAUSE) {
        return CompletableFuture.completedFuture(null);
      }
      reading = read(inOrderOfTrust(), 0, null);
      return reading;
    }

    private CompletableFuture<Void> read(List<String> order, int next, Throwable failure) {
      if (next == order.size()) {
        return CompletableFuture.failedFuture(
            failure != null ? failure : new Failures.Again("no node is known"));
      }
      String address = order.get(next);
      return at(address).ask(List.of("CLUSTER", "SLOTS")).handle((answer, why) -> {
        if (why != null) {
          return read(order, next + 1, Failures.bare(why));
        }
        synchronized (this) {
          partitions = partitionsOf(answer.reply(), address);
          readAt = answer.sentAt();
        }
        return CompletableFuture.<Void>completedFuture(null);
      }).thenCompose(Function.identity());
    }

    /** Returns the leaders that have answered first, and those that have not answered last. */
    private synchronized List<String> inOrderOfTrust() {
      List<String> order = new ArrayList<>();
      List<String> others = new ArrayList<>(nodes.keySet());
      List<String> doubted = new ArrayList<>();
      for (Partition it : partitions) {
        if (others.remove(it.address)) {
          (it.isDoubted ? doubted : order).add(it.address);
        }
      }
      order.addAll(others);
      order.addAll(doubted);
      return order;
    }

    /**
     * CLUSTER SLOTS lists the leader of each range first. A node without an address is the one that
     * was asked.
     */
    private static List<Partition> partitionsOf(Object reply, String asked) {
      List<Partition> found = new ArrayList<>();
      for (Object range : listOf(reply)) {
        List<?> words = listOf(range);
        List<?> leader = words.size() < 3 ? List.of() : listOf(words.get(2));
        if (leader.size() >= 2 && words.get(0) instanceof Long first
            && words.get(1) instanceof Long last && leader.get(1) instanceof Long port) {
          String host = Explanation.Text.of(leader.get(0));
          if (host == null || host.isEmpty()) {
            host = asked.substring(0, asked.lastIndexOf(':'));
          }
          found.add(new Partition(first.intValue(), last.intValue(), host + ":" + port));
        }
      }
      return found;
    }

    private static List<?> listOf(Object reply) {
      return reply instanceof List<?> list ? list : List.of();
    }
  }

  /** Hash slots, as Redis Cluster computes them. */
  final class Slots {

    private static final int COUNT = 16384;
    private static final int TAG_MAX = 100; // keeps channel names short

    private Slots() {}

    /** CRC-16/XMODEM of the tag. */
    static int of(String key) {
      int sum = 0;
      for (byte it : hashTag(key).getBytes(StandardCharsets.UTF_8)) {
        sum ^= (it & 0xff) << 8;
        for (int bit = 0; bit < 8; bit++) {
          sum = (sum & 0x8000) == 0 ? sum << 1 : sum << 1 ^ 0x1021;
        }
        sum &= 0xffff;
      }
      return sum % COUNT;
    }

    /** The text in the first braces if there is one, otherwise the whole key. */
    static String hashTag(String key) {
      int open = key.indexOf('{');
      int close = open < 0 ? -1 : key.indexOf('}', open);
      return close > open + 1 ? key.substring(open + 1, close) : key;
    }

    /** A channel name with the slot of a key. The prefix contains no braces. */
    static String nameInSlot(String prefix, String key) {
      String tag = hashTag(key);
      for (int n = 0; tag.length() > TAG_MAX || !hashTag("{" + tag + "}").equals(tag)
          || of(tag) != of(key); n++) {
        tag = Integer.toString(n);
      }
      return prefix + ":{" + tag + "}";
    }
  }
}
