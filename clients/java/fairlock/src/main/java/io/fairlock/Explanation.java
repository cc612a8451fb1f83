package io.fairlock;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Why a lock was denied.
 *
 * @param status "denied", "timeout", or "queued" if a place in the queue is kept
 * @param reason "held", "shared", "line", "reserved", "cooling", "full", "drained" or "starting";
 *     null if there is none
 * @param ttl the time until the lease that ends first is over; null if there is none
 * @param position the place in the queue; 1 is next, 0 means that there is no place
 * @param waiters how many others wait
 * @param eta the estimated time until the lock is granted; null if it is not known
 * @param holders at most 16
 * @param key the first key that could not be obtained, if several were requested, or null
 */
public record Explanation(String status, String reason, Duration ttl, long position, long waiters,
    Duration eta, List<Holder> holders, String key) {

  /**
   * One of the owners that hold a key.
   *
   * @param owner its bytes that are not text as \xNN
   * @param token its fencing token
   * @param meta what it said about itself, or null
   * @param label the kind of lock, or null
   * @param heldFor since the grant
   * @param ttl the time until its lease ends; null if the lease has no end
   * @param mode "exclusive", "shared" or "semaphore"
   */
  public record Holder(String owner, long token, String meta, String label, Duration heldFor,
      Duration ttl, String mode) {}

  /** One line for people. */
  @Override
  public String toString() {
    List<String> parts = new ArrayList<>();
    if (key != null) {
      parts.add(Text.quoted(key) + " is taken");
    }
    if (reason != null && (holders.isEmpty() || !reason.equals("held"))) {
      parts.add(reason);
    }
    if (!holders.isEmpty()) {
      List<String> names = new ArrayList<>();
      for (Holder holder : holders) {
        names.add(Text.printable(holder.owner) + " for " + Text.rounded(holder.heldFor));
      }
      parts.add("held by " + String.join(", ", names));
    }
    if (position > 0) {
      parts.add("position " + position + " is kept");
    }
    if (waiters > 0) {
      parts.add(waiters + " waiting");
    }
    if (eta != null) {
      parts.add("free in about " + Text.rounded(eta));
    }
    return parts.isEmpty() ? String.valueOf(status) : String.join("; ", parts);
  }

  Explanation withStatus(String other) {
    return new Explanation(other, reason, ttl, position, waiters, eta, holders, key);
  }

  /** Reads the reply to LOCK or MLOCK with EXPLAIN. */
  static Explanation of(Object reply) {
    Fields fields = new Fields(reply);
    List<Holder> holders = new ArrayList<>();
    for (Fields it : fields.list("holders")) {
      holders.add(new Holder(it.text("owner"), it.number("token"), it.text("meta"),
          it.text("label"), it.time("held_ms"), it.time("ttl_ms"), it.text("mode")));
    }
    return new Explanation(fields.text("status"), fields.text("reason"), fields.time("ttl_ms"),
        fields.number("position"), fields.number("waiters"), fields.time("eta_ms"),
        List.copyOf(holders), fields.text("key"));
  }

  /**
   * Returns the token in the reply to LOCK, MLOCK or TRANSFER, with or without EXPLAIN, or null.
   */
  static Long tokenOf(Object reply) {
    return reply instanceof Long token ? token : (Long) new Fields(reply).get("token");
  }

  /**
   * Returns the token of this owner's hold in the reply to LOCKINFO if it is greater than this one,
   * or null.
   */
  static Long newerToken(String owner, long than, Object reply) {
    byte[] wanted = owner.getBytes(StandardCharsets.UTF_8);
    for (Fields it : new Fields(reply).list("holders")) {
      if (it.get("owner") instanceof byte[] found && Arrays.equals(found, wanted)
          && it.number("token") > than) {
        return it.number("token");
      }
    }
    return null;
  }

  /** The names and values that a reply has in a flat list. */
  private static final class Fields {

    private final Map<String, Object> values = new HashMap<>();

    Fields(Object reply) {
      if (reply instanceof List<?> list) {
        for (int i = 0; i + 1 < list.size(); i += 2) {
          values.put(Text.of(list.get(i)), list.get(i + 1));
        }
      }
    }

    Object get(String name) {
      return values.get(name);
    }

    String text(String name) {
      return Text.of(values.get(name));
    }

    long number(String name) {
      return values.get(name) instanceof Long number ? number : 0;
    }

    Duration time(String name) {
      return values.get(name) instanceof Long number ? Duration.ofMillis(number) : null;
    }

    List<Fields> list(String name) {
      List<Fields> found = new ArrayList<>();
      if (values.get(name) instanceof List<?> list) {
        list.forEach(it -> found.add(new Fields(it)));
      }
      return found;
    }
  }

  /** Bytes of the server, and times, as text for people. */
  static final class Text {

    private Text() {}

    /** Returns null if it is not bytes. Bytes that are not UTF-8 become \xNN. */
    static String of(Object reply) {
      if (!(reply instanceof byte[] bytes)) {
        return null;
      }
      try {
        return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
      } catch (CharacterCodingException e) {
        StringBuilder text = new StringBuilder();
        for (byte it : bytes) {
          text.append(it >= ' ' && it < 0x7f ? String.valueOf((char) it)
              : String.format("\\x%02x", it & 0xff));
        }
        return text.toString();
      }
    }

    static String quoted(List<String> keys) {
      return String.join(", ", keys.stream().map(Text::quoted).toList());
    }

    static String quoted(String text) {
      return '"' + escaped(text.replace("\\", "\\\\").replace("\"", "\\\"")) + '"';
    }

    /** Shows any text in one line. */
    static String printable(String text) {
      String shown = escaped(text);
      return shown.equals(text) ? text : '"' + shown + '"';
    }

    private static String escaped(String text) {
      StringBuilder shown = new StringBuilder();
      text.codePoints().forEach(it -> {
        if (Character.isISOControl(it) || !Character.isDefined(it)
            || Character.getType(it) == Character.FORMAT
            || Character.getType(it) == Character.LINE_SEPARATOR
            || Character.getType(it) == Character.PARAGRAPH_SEPARATOR) {
          shown.append(String.format("\\u%04x", it));
        } else {
          shown.appendCodePoint(it);
        }
      });
      return shown.toString();
    }

    /** At most three digits that matter to people. */
    static String rounded(Duration time) {
      if (time == null) {
        return "an unknown time";
      }
      long ms = time.toMillis();
      if (ms < 1000) {
        return ms + " ms";
      }
      if (ms < 60_000) {
        long tenths = Math.round(ms / 100.0);
        return tenths / 10 + (tenths % 10 == 0 ? "" : "." + tenths % 10) + " s";
      }
      long s = Math.round(ms / 1000.0);
      if (s < 3600) {
        return s / 60 + " min" + (s % 60 == 0 ? "" : " " + s % 60 + " s");
      }
      return s / 3600 + " h" + (s % 3600 / 60 == 0 ? "" : " " + s % 3600 / 60 + " min");
    }
  }
}
