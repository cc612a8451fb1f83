package io.fairlock;

import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * A message on a NOTIFY channel: one flat JSON object.
 *
 * @param event "granted", "timeout", "cancelled", "superseded" or "lost"; or "subscribed", which
 *     the channel itself delivers when it has a connection again
 */
record Message(String event, String key, String owner, long token, String reason) {

  static final Message SUBSCRIBED = new Message("subscribed", "", "", 0, "");

  /** Throws IllegalArgumentException for other texts, because any client may publish. */
  static Message of(String text) {
    Map<String, Object> it = new Reader(text).object();
    return new Message(text(it, "event"), exact(it, "key"), exact(it, "owner"),
        it.get("token") instanceof Long token ? token : 0, text(it, "reason"));
  }

  private static String text(Map<String, Object> fields, String name) {
    return fields.get(name) instanceof String text ? text : "";
  }

  /** Prefers the form for bytes that are not text. */
  private static String exact(Map<String, Object> fields, String name) {
    return fields.get(name + "_base64") instanceof String encoded
        ? new String(Base64.getDecoder().decode(encoded), StandardCharsets.UTF_8)
        : text(fields, name);
  }

  /** Reads JSON objects, and drops what is nested in them. */
  private static final class Reader {

    private final String text;
    private int at;

    Reader(String text) {
      this.text = text;
    }

    Map<String, Object> object() {
      Map<String, Object> fields = new HashMap<>();
      expect('{');
      while (!skip('}')) {
        if (!fields.isEmpty()) {
          expect(',');
        }
        String name = string();
        expect(':');
        fields.put(name, value());
      }
      return fields;
    }

    private Object value() {
      char first = peek();
      if (first == '"') {
        return string();
      }
      if (first == '{') {
        object();
        return null;
      }
      if (first == '[') {
        for (at++; !skip(']'); skip(',')) {
          value();
        }
        return null;
      }
      int begin = at;
      while (at < text.length() && ",]} \t\r\n".indexOf(text.charAt(at)) < 0) {
        at++;
      }
      String word = text.substring(begin, at);
      if (word.isEmpty()) {
        throw wrong();
      }
      return word.matches("-?\\d{1,18}") ? (Object) Long.parseLong(word)
          : word.matches("-?\\d{19}") ? parsed(word) : null;
    }

    private static Object parsed(String number) {
      try {
        return Long.parseLong(number);
      } catch (NumberFormatException e) {
        return null;
      }
    }

    private String string() {
      expect('"');
      StringBuilder found = new StringBuilder();
      while (at < text.length()) {
        char it = text.charAt(at++);
        if (it == '"') {
          return found.toString();
        }
        found.append(it == '\\' ? escape() : it);
      }
      throw wrong();
    }

    private char escape() {
      if (at >= text.length()) {
        throw wrong();
      }
      char it = text.charAt(at++);
      int plain = "\"\\/bfnrt".indexOf(it);
      if (plain >= 0) {
        return "\"\\/\b\f\n\r\t".charAt(plain);
      }
      if (it != 'u' || at + 4 > text.length()) {
        throw wrong();
      }
      at += 4;
      return (char) Integer.parseInt(text.substring(at - 4, at), 16);
    }

    private char peek() {
      while (at < text.length() && Character.isWhitespace(text.charAt(at))) {
        at++;
      }
      if (at == text.length()) {
        throw wrong();
      }
      return text.charAt(at);
    }

    private boolean skip(char wanted) {
      boolean isThere = peek() == wanted;
      at += isThere ? 1 : 0;
      return isThere;
    }

    private void expect(char wanted) {
      if (!skip(wanted)) {
        throw wrong();
      }
    }

    private IllegalArgumentException wrong() {
      return new IllegalArgumentException("not JSON at " + at + ": " + text);
    }
  }

  /** An unbounded queue of messages for one reader. */
  static final class Mailbox {

    private final ArrayDeque<Message> messages = new ArrayDeque<>();
    private CompletableFuture<Message> reader;

    void put(Message it) {
      CompletableFuture<Message> waiting;
      synchronized (this) {
        waiting = reader;
        reader = null;
        if (waiting == null) {
          messages.add(it);
          return;
        }
      }
      if (!waiting.complete(it)) {
        put(it); // The acquisition does not wait any more.
      }
    }

    synchronized List<Message> takeAll() {
      List<Message> all = List.copyOf(messages);
      messages.clear();
      return all;
    }

    synchronized CompletableFuture<Message> next() {
      Message first = messages.poll();
      if (first != null) {
        return CompletableFuture.completedFuture(first);
      }
      reader = new CompletableFuture<>();
      return reader;
    }
  }
}
