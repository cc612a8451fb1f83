#include "cli/views/history_file.h"

#include <fnmatch.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include "cli/connection/reply_fields.h"
#include "cli/output/printable.h"
#include "json/base64.h"

namespace fairlock::cli {

namespace {

constexpr std::string_view kExactBytes = "_base64";

protocol::Reply TextReply(std::string_view text) {
  return {.type = protocol::ReplyType::kBulk, .text = std::string(text)};
}

void SetField(protocol::Reply& map, std::string_view name, protocol::Reply value) {
  for (std::size_t i = 0; i + 1 < map.elements.size(); i += 2) {
    if (map.elements[i].text != name) continue;
    map.elements[i + 1] = std::move(value);
    return;
  }
  map.elements.push_back(TextReply(name));
  map.elements.push_back(std::move(value));
}

// nullopt: the line is no event of a lock.
std::optional<protocol::Reply> ParseEvent(std::string_view line) {
  boost::system::error_code error;
  const boost::json::value parsed = boost::json::parse(line, error);
  if (error || !parsed.is_object()) return std::nullopt;
  protocol::Reply map{.type = protocol::ReplyType::kMap};
  for (const auto& field : parsed.get_object()) {
    const std::string_view name = field.key();
    const boost::json::value& value = field.value();
    if (name == "time") continue;
    if (value.is_int64()) {
      SetField(map, name, {.type = protocol::ReplyType::kInteger, .integer = value.get_int64()});
    } else if (value.is_string() && name.ends_with(kExactBytes)) {
      const auto bytes = json::DecodeBase64(std::string_view(value.get_string()));
      SetField(map, name.substr(0, name.size() - kExactBytes.size()),
               TextReply(bytes.value_or("")));
    } else if (value.is_string()) {
      SetField(map, name, TextReply(std::string_view(value.get_string())));
    }
  }
  if (FindField(map, "key") == nullptr || !IntegerField(map, "at")) return std::nullopt;
  return map;
}

std::vector<std::string> OldestFirst(const std::string& path) {
  std::vector<std::string> paths = {path};
  std::error_code ignored;
  for (int number = 1;; ++number) {
    std::string older = path + "." + std::to_string(number);
    if (!std::filesystem::exists(older, ignored)) break;
    paths.push_back(std::move(older));
  }
  std::ranges::reverse(paths);
  return paths;
}

}  // namespace

bool Passes(const HistoryFilter& filter, const protocol::Reply& event) {
  const std::int64_t at = IntegerField(event, "at").value_or(0);
  const std::string key = TextField(event, "key");
  const bool is_of_key =
      filter.is_glob ? fnmatch(filter.key.c_str(), key.c_str(), 0) == 0 : key == filter.key;
  const bool is_of_kind =
      filter.events.empty() ||
      std::ranges::find(filter.events, TextField(event, "event")) != filter.events.end();
  return is_of_key && is_of_kind && at >= filter.since && at <= filter.until &&
         IntegerField(event, "db").value_or(0) == filter.database &&
         (!filter.owner || TextField(event, "owner") == *filter.owner);
}

Result<std::vector<protocol::Reply>> ReadHistoryFiles(const std::string& path,
                                                      const HistoryFilter& filter,
                                                      std::int64_t count) {
  std::deque<protocol::Reply> events;
  for (const std::string& each : OldestFirst(path)) {
    std::ifstream file(each, std::ios::binary);
    // A renamed file may be removed while others are read.
    if (!file.is_open() && each != path) continue;
    if (!file.is_open()) {
      return Failure{kExitRefused, "cannot read " + Quoted(each) + ": " + std::strerror(errno)};
    }
    std::string line;
    while (std::getline(file, line)) {
      std::optional<protocol::Reply> event = ParseEvent(line);
      if (!event || !Passes(filter, *event)) continue;
      events.push_back(*std::move(event));
      if (static_cast<std::int64_t>(events.size()) > count) events.pop_front();
    }
  }
  return std::vector<protocol::Reply>(std::make_move_iterator(events.rbegin()),
                                      std::make_move_iterator(events.rend()));
}

}  // namespace fairlock::cli
