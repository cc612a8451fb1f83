package io.fairlock;

import java.time.Duration;

/** What a client connects with: Lettuce or Jedis. All threads may call it. */
interface Transport {

  // The server answers each request at once. A longer time-out of a program is for other commands.
  Duration REQUEST_MAX = Duration.ofSeconds(5);

  /** The server of a client without partitions. Connects to nothing yet. */
  Server server(Server.Timers timers);

  /** A node of a fleet of several partitions, at host:port. Connects to nothing yet. */
  Server node(String address, Server.Timers timers);

  /** Ends what all servers share, after these were closed. */
  void close();

  /** Returns in nanoseconds how long an answer is waited for; a time-out of 0 is none. */
  static long patience(Duration timeOut) {
    boolean isUsed = timeOut.toMillis() > 0 && timeOut.compareTo(REQUEST_MAX) < 0;
    return (isUsed ? timeOut : REQUEST_MAX).toNanos();
  }

  /** Whether the library of a transport is on the class path. */
  static boolean has(String className) {
    try {
      Class.forName(className, false, Transport.class.getClassLoader());
      return true;
    } catch (ClassNotFoundException | LinkageError e) {
      return false;
    }
  }
}
