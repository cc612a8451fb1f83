package io.fairlock.conformance;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** One JSON value per line: maps, lists, text, Double, Boolean and null. */
final class Json {

  private final String text;
  private int at;

  private Json(String text) {
    this.text = text;
  }

  static Object read(String text) {
    return new Json(text).value();
  }

  private Object value() {
    char first = peek();
    if (first == '{') {
      Map<String, Object> found = new LinkedHashMap<>();
      for (at++; !skip('}'); skip(',')) {
        String name = string();
        skip(':');
        found.put(name, value());
      }
      return found;
    }
    if (first == '[') {
      List<Object> found = new ArrayList<>();
      for (at++; !skip(']'); skip(',')) {
        found.add(value());
      }
      return found;
    }
    if (first == '"') {
      return string();
    }
    int begin = at;
    while (at < text.length() && ",]} ".indexOf(text.charAt(at)) < 0) {
      at++;
    }
    String word = text.substring(begin, at);
    return switch (word) {
      case "true" -> true;
      case "false" -> false;
      case "null" -> null;
      default -> Double.valueOf(word);
    };
  }

  private String string() {
    skip('"');
    StringBuilder found = new StringBuilder();
    while (text.charAt(at) != '"') {
      char it = text.charAt(at++);
      if (it == '\\') {
        it = text.charAt(at++);
        if (it == 'u') {
          it = (char) Integer.parseInt(text.substring(at, at += 4), 16);
        } else if (it == 'n') {
          it = '\n';
        }
      }
      found.append(it);
    }
    at++;
    return found.toString();
  }

  private char peek() {
    while (text.charAt(at) == ' ') {
      at++;
    }
    return text.charAt(at);
  }

  private boolean skip(char wanted) {
    boolean isThere = peek() == wanted;
    at += isThere ? 1 : 0;
    return isThere;
  }

  static String write(Object value) {
    if (value instanceof Map<?, ?> map) {
      List<String> parts = new ArrayList<>();
      map.forEach((name, it) -> parts.add(write(name) + ": " + write(it)));
      return "{" + String.join(", ", parts) + "}";
    }
    if (value instanceof List<?> list) {
      return "[" + String.join(", ", list.stream().map(Json::write).toList()) + "]";
    }
    if (value instanceof String text) {
      StringBuilder found = new StringBuilder("\"");
      text.chars().forEach(it -> found.append(it < ' ' || it == '"' || it == '\\' || it > 0x7e
          ? String.format("\\u%04x", it) : String.valueOf((char) it)));
      return found.append('"').toString();
    }
    return String.valueOf(value);
  }
}
