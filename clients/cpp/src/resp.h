// Reads and writes RESP 3, the maps of EXPLAIN, and the messages of a NOTIFY channel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fairlock/client/errors.h"
#include "slots.h"

namespace fairlock::client {

using Command = std::vector<std::string>;

// A reply. A map is a flat list of names and values.
struct Value {
  enum class Kind { kNil, kInteger, kText, kError, kList, kPush };

  Kind kind = Kind::kNil;
  std::int64_t integer = 0;
  std::string text;
  std::vector<Value> items;

  [[nodiscard]] std::optional<std::int64_t> Integer() const;
  [[nodiscard]] std::optional<std::string> Text() const;
};

// Adds a request to the bytes to be sent.
void AppendRequest(const Command& command, std::string& out);

// Removes a value from the front of the input; none if it is not complete. Throws ConnectionFailed
// if the input is not RESP.
std::optional<Value> TakeValue(std::string& input);

Explanation ParseExplanation(const Value& reply);

// The token of this owner's hold in the reply to LOCKINFO, if it is greater than this one.
std::optional<std::int64_t> NewerToken(const std::string& owner, std::int64_t than,
                                       const Value& info);

struct Message {
  std::string event;  // "subscribed" is ours: the channel has a connection again
  std::string key;
  std::string owner;
  std::optional<std::int64_t> token;
  std::string reason;
  SlotRange slots{};  // the slots of the keys that are served over that connection
};

Message ParseMessage(std::string_view json);

}  // namespace fairlock::client
