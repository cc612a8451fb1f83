#include "resp.h"

#include <algorithm>
#include <boost/property_tree/json_parser.hpp>
#include <boost/property_tree/ptree.hpp>
#include <charconv>
#include <sstream>

namespace fairlock::client {
namespace {

constexpr std::int64_t kBytesMax = std::int64_t{64} << 20;
// For how many of the items that a list announces memory is reserved; for more, it is taken as they
// arrive.
constexpr std::int64_t kReservedMax = 64;

// Reads from the front of a buffer; every function returns none if the buffer ends too early.
class Reader {
 public:
  explicit Reader(std::string_view input) : rest_(input) {}

  std::string_view rest() const { return rest_; }

  std::optional<Value> Read() {
    const auto line = Line();
    if (!line) return std::nullopt;
    if (line->empty()) throw ConnectionFailed("the reply is not RESP");
    const std::string_view text = line->substr(1);
    switch (line->front()) {
      case '+':
      case ',':
      case '(':
        return Value{Value::Kind::kText, 0, std::string(text), {}};
      case '-':
        return Value{Value::Kind::kError, 0, std::string(text), {}};
      case ':':
        return Value{Value::Kind::kInteger, Number(text), {}, {}};
      case '#':
        return Value{Value::Kind::kInteger, text == "t" ? 1 : 0, {}, {}};
      case '_':
        return Value{};
      case '$':
      case '=':
        return Bytes(Number(text));
      case '*':
      case '~':
        return List(Value::Kind::kList, Number(text));
      case '%':
        return List(Value::Kind::kList, 2 * Number(text));
      case '>':
        return List(Value::Kind::kPush, Number(text));
      default:
        throw ConnectionFailed("the reply is not RESP");
    }
  }

 private:
  std::optional<std::string_view> Line() {
    const auto end = rest_.find("\r\n");
    if (end == std::string_view::npos) return std::nullopt;
    const auto line = rest_.substr(0, end);
    rest_.remove_prefix(end + 2);
    return line;
  }

  static std::int64_t Number(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) {
      throw ConnectionFailed("the reply is not RESP");
    }
    return number;
  }

  std::optional<Value> Bytes(std::int64_t size) {
    if (size < 0) return Value{};
    if (size > kBytesMax) throw ConnectionFailed("the reply is too long");
    const auto length = static_cast<std::size_t>(size);
    if (rest_.size() < length + 2) return std::nullopt;
    Value value{Value::Kind::kText, 0, std::string(rest_.substr(0, length)), {}};
    rest_.remove_prefix(length + 2);
    return value;
  }

  std::optional<Value> List(Value::Kind kind, std::int64_t count) {
    if (count < 0) return Value{};
    Value value{kind, 0, {}, {}};
    value.items.reserve(static_cast<std::size_t>(std::min(count, kReservedMax)));
    for (std::int64_t i = 0; i < count; ++i) {
      auto item = Read();
      if (!item) return std::nullopt;
      value.items.push_back(std::move(*item));
    }
    return value;
  }

  std::string_view rest_;
};

// A field that the server did not send is nil. There are about ten, too few for an index.
const Value& Field(const Value& map, std::string_view name) {
  static const Value nil;
  for (std::size_t i = 0; i + 1 < map.items.size(); i += 2) {
    if (map.items[i].text == name) return map.items[i + 1];
  }
  return nil;
}

std::optional<Duration> TimeOf(const Value& value) {
  const auto number = value.Integer();
  return number ? std::optional(Duration(*number)) : std::nullopt;
}

Holder ParseHolder(const Value& reply) {
  return {.owner = Field(reply, "owner").text,
          .token = Field(reply, "token").integer,
          .meta = Field(reply, "meta").Text(),
          .label = Field(reply, "label").Text(),
          .held_for = Duration(Field(reply, "held_ms").integer),
          .ttl = TimeOf(Field(reply, "ttl_ms")),
          .mode = Field(reply, "mode").text};
}

std::string DecodeBase64(std::string_view text) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned pending = 0;
  int bits = 0;
  for (const char digit : text) {
    const auto value = kDigits.find(digit);
    if (value == std::string_view::npos) break;  // padding
    pending = (pending << 6U) | static_cast<unsigned>(value);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes.push_back(static_cast<char>((pending >> static_cast<unsigned>(bits)) & 0xFFU));
    }
  }
  return bytes;
}

// Boost.JSON would have to be compiled here, or linked, and so would collide with that of the
// application.
using Json = boost::property_tree::ptree;

std::string TextOf(const Json& object, const std::string& name) {
  return object.get<std::string>(name, {});
}

// The server adds the exact bytes if they are not UTF-8.
std::string BytesOf(const Json& object, const std::string& name) {
  const auto encoded = TextOf(object, name + "_base64");
  return encoded.empty() ? TextOf(object, name) : DecodeBase64(encoded);
}

}  // namespace

std::optional<std::int64_t> Value::Integer() const {
  return kind == Kind::kInteger ? std::optional(integer) : std::nullopt;
}

std::optional<std::string> Value::Text() const {
  return kind == Kind::kText ? std::optional(text) : std::nullopt;
}

void AppendRequest(const Command& command, std::string& out) {
  // g++ 12 warns of "*" + std::to_string(...), without a reason.
  out.append("*").append(std::to_string(command.size())).append("\r\n");
  for (const auto& word : command) {
    out.append("$").append(std::to_string(word.size())).append("\r\n");
    out.append(word).append("\r\n");
  }
}

std::optional<Value> TakeValue(std::string& input) {
  Reader reader(input);
  auto value = reader.Read();
  if (value) input.erase(0, input.size() - reader.rest().size());
  return value;
}

Explanation ParseExplanation(const Value& reply) {
  Explanation explanation{.status = Field(reply, "status").text,
                          .reason = Field(reply, "reason").text,
                          .token = Field(reply, "token").Integer(),
                          .ttl = TimeOf(Field(reply, "ttl_ms")),
                          .position = Field(reply, "position").Integer(),
                          .waiters = Field(reply, "waiters").integer,
                          .eta = TimeOf(Field(reply, "eta_ms")),
                          .holders = {},
                          .key = Field(reply, "key").text};
  for (const auto& holder : Field(reply, "holders").items) {
    explanation.holders.push_back(ParseHolder(holder));
  }
  return explanation;
}

std::optional<std::int64_t> NewerToken(const std::string& owner, std::int64_t than,
                                       const Value& info) {
  for (const auto& item : Field(info, "holders").items) {
    const auto holder = ParseHolder(item);
    if (holder.owner == owner && holder.token > than) return holder.token;
  }
  return std::nullopt;
}

std::string Explanation::Text() const {
  std::string text = key.empty() ? status : key + ": " + status;
  if (!reason.empty()) text += ", " + reason;
  for (std::size_t i = 0; i < holders.size(); ++i) {
    text += (i == 0 ? ", held by " : ", ") + holders[i].owner;
  }
  if (position) text += ", position " + std::to_string(*position);
  if (eta) text += ", about " + std::to_string(eta->count()) + " ms";
  return text;
}

Message ParseMessage(std::string_view json) {
  Json object;
  try {
    std::istringstream input{std::string(json)};
    boost::property_tree::read_json(input, object);
  } catch (const boost::property_tree::json_parser_error&) {
    return {};
  }
  const auto token = object.get_optional<std::int64_t>("token");
  return {.event = TextOf(object, "event"),
          .key = BytesOf(object, "key"),
          .owner = BytesOf(object, "owner"),
          .token = token ? std::optional(*token) : std::nullopt,
          .reason = TextOf(object, "reason")};
}

}  // namespace fairlock::client
