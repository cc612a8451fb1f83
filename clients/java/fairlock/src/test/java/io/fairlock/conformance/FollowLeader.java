package io.fairlock.conformance;

import io.fairlock.FairlockClient;
import io.fairlock.FairlockException;
import io.fairlock.JedisBuilder;
import io.fairlock.LockOptions;
import io.lettuce.core.RedisURI;
import java.time.Duration;

/**
 * Takes a lock from the leader, which it finds through Sentinel, again and again. Prints the node
 * that leads, once for each change: it holds the key "leader". The word is `jedis`, or there is
 * none.
 */
final class FollowLeader {

  private static final Duration TIME_OUT = Duration.ofSeconds(1);
  private static final LockOptions AT_ONCE = LockOptions.waiting(Duration.ZERO);

  private FollowLeader() {}

  public static void main(String[] words) throws Exception {
    String password = System.getenv("PASSWORD");
    String sentinels = System.getenv("SENTINELS");
    FairlockClient fairlock = words.length > 0 && words[0].equals("jedis")
        ? OnJedis.client(sentinels, password) : OnLettuce.client(sentinels, password);
    Thread end = new Thread(() -> {
      try {
        System.in.readAllBytes();
      } catch (java.io.IOException e) {
        // It is over, too.
      }
      System.exit(0);
    });
    end.setDaemon(true);
    end.start();
    String last = "";
    while (true) {
      String leader = leader(fairlock);
      if (!leader.isEmpty() && !leader.equals(last)) {
        System.out.println(leader);
        last = leader;
      }
      Thread.sleep(10);
    }
  }

  /** Returns an empty text while no server answers. */
  private static String leader(FairlockClient fairlock) throws InterruptedException {
    try {
      fairlock.lock("leader", AT_ONCE).unlock();
      return "nobody";
    } catch (FairlockException.Denied e) {
      return e.explanation().holders().isEmpty() ? ""
          : e.explanation().holders().get(0).owner();
    } catch (FairlockException e) {
      return "";
    }
  }

  private static final class OnLettuce {

    static FairlockClient client(String sentinels, String password) {
      RedisURI.Builder made = RedisURI.builder().withSentinelMasterId("main").withTimeout(TIME_OUT);
      for (String it : sentinels.split(",")) {
        int colon = it.lastIndexOf(':');
        int port = Integer.parseInt(it.substring(colon + 1));
        if (password.isEmpty()) {
          made.withSentinel(it.substring(0, colon), port);
        } else {
          made.withSentinel(it.substring(0, colon), port, password);
        }
      }
      if (!password.isEmpty()) {
        made.withPassword(password.toCharArray());
      }
      return FairlockClient.builder().address(made.build()).build();
    }
  }

  private static final class OnJedis {

    static FairlockClient client(String sentinels, String password) {
      String login = password.isEmpty() ? "" : ":" + password + "@";
      JedisBuilder builder = FairlockClient.onJedis().timeout(TIME_OUT)
          .address("redis-sentinel://" + login + sentinels + "#main");
      return builder.build();
    }
  }
}
