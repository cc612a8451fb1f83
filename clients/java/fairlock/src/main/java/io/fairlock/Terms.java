package io.fairlock;

import java.util.ArrayList;
import java.util.List;

/**
 * The commands that ask for a lock, renew it and release it. Each is a list of words, of which the
 * first is the name.
 */
final class Terms {

  final List<String> keys;
  private final LockOptions options;

  Terms(List<String> keys, LockOptions options) {
    this.keys = keys;
    this.options = options;
  }

  /** Rounds up, because an end that is too early is worse than one that is too late. */
  static String milliseconds(long nanos) {
    return Long.toString(Math.max(1, (nanos + Clock.MILLISECOND - 1) / Clock.MILLISECOND));
  }

  /** Begins a command for one key, or the command for several. */
  private List<String> aboutKeys(String one, String many) {
    List<String> words = new ArrayList<>(16 + keys.size());
    if (keys.size() == 1) {
      words.add(one);
    } else {
      words.add(many);
      words.add(Integer.toString(keys.size()));
    }
    words.addAll(keys);
    return words;
  }

  /**
   * LOCK or MLOCK.
   *
   * @param wait nanoseconds; null has no end, 0 does not wait
   * @param channel a NOTIFY channel or null
   * @param explains the reply is then an explanation, otherwise a token or nil
   */
  List<String> lock(String owner, Long wait, String channel, boolean explains) {
    List<String> words = aboutKeys("LOCK", "MLOCK");
    add(words, owner, "PX", milliseconds(options.lease));
    if (explains) {
      words.add("EXPLAIN");
    }
    if (wait == null) {
      add(words, "WAIT", "FOREVER");
    } else if (wait > 0) {
      add(words, "WAIT", milliseconds(wait) + "ms");
    }
    if (channel != null) {
      add(words, "NOTIFY", channel);
    }
    addOptions(words);
    return words;
  }

  private void addOptions(List<String> words) {
    if (options.isShared) {
      words.add("SHARED");
    }
    if (options.limit != null) {
      add(words, "LIMIT", options.limit.toString());
    }
    if (options.waitersMax != null) {
      add(words, "MAXWAITERS", options.waitersMax.toString());
    }
    if (options.keep > 0) {
      add(words, "KEEP", milliseconds(options.keep) + "ms");
    }
    if (options.minHold > 0) {
      add(words, "MINHOLD", milliseconds(options.minHold) + "ms");
    }
    if (options.meta != null) {
      add(words, "META", options.meta);
    }
    if (options.label != null) {
      add(words, "LABEL", options.label);
    }
  }

  /**
   * RENEW or MRENEW; the reply is 1 if all keys are held. With GT, it never shortens a lease, even
   * if it arrives after a newer one.
   */
  List<String> renew(String owner, long token, long lease) {
    return add(aboutKeys("RENEW", "MRENEW"), owner, "PX", milliseconds(lease), "TOKEN",
        Long.toString(token), "GT");
  }

  /** UNLOCK or MUNLOCK of a hold or of a place in the queue. */
  List<String> giveUp(String owner) {
    return add(aboutKeys("UNLOCK", "MUNLOCK"), owner);
  }

  /** UNLOCK or MUNLOCK of one hold; the reply is how many keys it held. */
  List<String> unlock(String owner, long token) {
    return add(giveUp(owner), "TOKEN", Long.toString(token));
  }

  /** LOCKINFO of the first key. */
  List<String> info() {
    return List.of("LOCKINFO", keys.get(0));
  }

  /** POSITION in the queue of the first key; the reply is nil without a place. */
  List<String> position(String owner) {
    return List.of("POSITION", keys.get(0), owner);
  }

  /** TRANSFER; the reply is the new token, or nil. */
  List<String> transfer(String owner, long token, String newOwner, long lease) {
    return List.of("TRANSFER", keys.get(0), owner, newOwner, "PX", milliseconds(lease), "TOKEN",
        Long.toString(token));
  }

  private static List<String> add(List<String> words, String... more) {
    for (String word : more) {
      words.add(word);
    }
    return words;
  }
}
