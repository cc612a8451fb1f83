package io.fairlock;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import redis.clients.jedis.HostAndPort;

/**
 * An address as Lettuce takes it, for Jedis: {@code redis://[[user]:password@]host[:port][/db]},
 * {@code rediss://} for TLS, or {@code redis-sentinel://host[:port],...[/db]#master}. The user and
 * the password are percent-encoded. What follows a question mark is not used.
 *
 * @param user null for the default user
 * @param password null without one
 * @param places the server, or the Sentinels
 * @param master null without Sentinels
 */
record JedisAddress(boolean isTls, String user, String password, List<HostAndPort> places,
    int database, String master) {

  private static final int PORT = 6379;
  private static final int SENTINEL_PORT = 26379;

  /** Throws IllegalArgumentException, whose text lacks the address: it may have a password. */
  static JedisAddress of(String text) {
    int colon = text.indexOf("://");
    String kind = colon < 0 ? "" : text.substring(0, colon);
    boolean isSentinel = kind.equals("redis-sentinel") || kind.equals("rediss-sentinel");
    if (!isSentinel && !kind.equals("redis") && !kind.equals("rediss")) {
      throw wrong("begins with redis://, rediss:// or redis-sentinel://");
    }
    String rest = text.substring(colon + 3);
    String master = after(rest, '#');
    if (isSentinel && master == null) {
      throw wrong("of Sentinels ends with # and the name of the master");
    }
    rest = before(before(rest, '#'), '?');
    String database = after(rest, '/');
    rest = before(rest, '/');
    int at = rest.lastIndexOf('@');
    String login = at < 0 ? null : rest.substring(0, at);
    String user = login == null || login.indexOf(':') <= 0 ? null : before(login, ':');
    String password = login == null || login.indexOf(':') < 0 ? login : after(login, ':');
    List<HostAndPort> places = new ArrayList<>();
    for (String it : rest.substring(at + 1).split(",")) {
      places.add(place(it, isSentinel ? SENTINEL_PORT : PORT));
    }
    return new JedisAddress(kind.startsWith("rediss"), decoded(user), decoded(password), places,
        database == null || database.isEmpty() ? 0 : number(database, "of a database"),
        isSentinel ? master : null);
  }

  /** Reads host:port. */
  static HostAndPort place(String text) {
    return place(text, PORT);
  }

  private static HostAndPort place(String text, int otherwise) {
    int colon = text.endsWith("]") ? -1 : text.lastIndexOf(':');
    String host = colon < 0 ? text : text.substring(0, colon);
    if (host.startsWith("[") && host.endsWith("]")) {
      host = host.substring(1, host.length() - 1);
    }
    if (host.isEmpty()) {
      throw wrong("names a host");
    }
    return new HostAndPort(host,
        colon < 0 ? otherwise : number(text.substring(colon + 1), "of a port"));
  }

  private static int number(String text, String what) {
    try {
      return Integer.parseInt(text);
    } catch (NumberFormatException e) {
      throw wrong("has the number " + what);
    }
  }

  private static IllegalArgumentException wrong(String text) {
    return new IllegalArgumentException("fairlock: an address " + text);
  }

  private static String before(String text, char mark) {
    int at = text.indexOf(mark);
    return at < 0 ? text : text.substring(0, at);
  }

  /** Returns null if the mark is not there. */
  private static String after(String text, char mark) {
    int at = text.indexOf(mark);
    return at < 0 ? null : text.substring(at + 1);
  }

  private static String decoded(String text) {
    if (text == null) {
      return null;
    }
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    ByteArrayOutputStream plain = new ByteArrayOutputStream(bytes.length);
    for (int i = 0; i < bytes.length; i++) {
      int high = bytes[i] == '%' && i + 2 < bytes.length ? Character.digit(bytes[i + 1], 16) : -1;
      int low = high < 0 ? -1 : Character.digit(bytes[i + 2], 16);
      if (low < 0) {
        plain.write(bytes[i]);
      } else {
        plain.write(16 * high + low);
        i += 2;
      }
    }
    return plain.toString(StandardCharsets.UTF_8);
  }
}
