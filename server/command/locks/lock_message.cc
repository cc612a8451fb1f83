#include "server/command/locks/lock_message.h"

#include <utility>

#include "json/base64.h"
#include "json/json_text.h"
#include "server/command/locks/lock_replies.h"

namespace fairlock::command {

namespace {

void AppendNumber(std::string& out, std::string_view name, std::int64_t value) {
  out.append(",\"").append(name).append("\":").append(std::to_string(value));
}

void AppendKeys(std::string& out, std::span<const std::string_view> keys) {
  bool are_whole = true;
  char separator = '[';
  out.append(",\"keys\":");
  for (const std::string_view key : keys) {
    out += std::exchange(separator, ',');
    if (!json::AppendJsonText(out, key)) are_whole = false;
  }
  out += ']';
  if (are_whole) return;
  separator = '[';
  out.append(",\"keys_base64\":");
  for (const std::string_view key : keys) {
    out += std::exchange(separator, ',');
    out += '"';
    json::AppendBase64(out, key);
    out += '"';
  }
  out += ']';
}

}  // namespace

std::string_view EventName(engine::EventKind kind) {
  switch (kind) {
    case engine::EventKind::kGranted:
      return "granted";
    case engine::EventKind::kReacquired:
      return "reacquired";
    case engine::EventKind::kDenied:
      return "denied";
    case engine::EventKind::kQueued:
      return "queued";
    case engine::EventKind::kReleased:
      return "released";
    case engine::EventKind::kExpired:
      return "expired";
    case engine::EventKind::kDisconnected:
      return "disconnected";
    case engine::EventKind::kRenewed:
      return "renewed";
    case engine::EventKind::kBroken:
      return "broken";
    case engine::EventKind::kTransferred:
      return "transferred";
    case engine::EventKind::kUndone:
      return "undone";
    case engine::EventKind::kCancelled:
    case engine::EventKind::kReplaced:
      return "cancelled";
    case engine::EventKind::kTimedOut:
      return "timeout";
    case engine::EventKind::kLapsed:
      return "lapsed";
    case engine::EventKind::kRefused:
      return "refused";
    case engine::EventKind::kLeaving:
      return "leaving";
    case engine::EventKind::kVacated:
      break;
  }
  return "vacated";
}

std::string_view EventReason(engine::EventKind kind, engine::DenialReason reason) {
  return kind == engine::EventKind::kReplaced ? "replaced" : ReasonName(reason);
}

void AppendLockMessage(std::string& out, const LockMessage& message) {
  out.append("{\"event\":");
  json::AppendJsonText(out, message.event);
  AppendNumber(out, "db", message.key.db);
  out.append(",\"key\":");
  const bool is_key_whole = json::AppendJsonText(out, message.key.bytes);
  out.append(",\"owner\":");
  const bool is_owner_whole = json::AppendJsonText(out, message.owner);
  if (message.token == 0) {
    out.append(",\"token\":null");
  } else {
    AppendNumber(out, "token", static_cast<std::int64_t>(message.token));
  }
  AppendNumber(out, "at", message.at_unix_ms);
  AppendNumber(out, "waited_ms", message.waited_ms);
  AppendNumber(out, "held_ms", message.held_ms);
  out.append(",\"reason\":");
  if (message.reason.empty()) {
    out.append("null");
  } else {
    json::AppendJsonText(out, message.reason);
  }
  if (!is_key_whole) {
    out.append(",\"key_base64\":\"");
    json::AppendBase64(out, message.key.bytes);
    out += '"';
  }
  if (!is_owner_whole) {
    out.append(",\"owner_base64\":\"");
    json::AppendBase64(out, message.owner);
    out += '"';
  }
  if (message.grace_ms > 0) AppendNumber(out, "grace_ms", message.grace_ms);
  if (!message.keys.empty()) AppendKeys(out, message.keys);
  out += '}';
}

}  // namespace fairlock::command
