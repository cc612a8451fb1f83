#include "server/http/inputs.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <optional>

#include "json/base64.h"
#include "server/command/table/text.h"
#include "server/engine/api/types.h"

namespace fairlock::http {

namespace {

constexpr std::string_view kBase64Suffix = "_base64";

// Returns the name between the braces; empty if the segment is literal.
std::string_view PlaceholderOf(std::string_view segment) {
  if (!segment.starts_with('{')) return {};
  return segment.substr(1, segment.size() - 2);
}

std::vector<std::string_view> SegmentsOf(std::string_view path) {
  std::vector<std::string_view> segments;
  while (path.starts_with('/')) {
    path.remove_prefix(1);
    const std::size_t end = std::min(path.find('/'), path.size());
    segments.push_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return segments;
}

// Returns a JSON value as text; nullopt if it is not a string, number or boolean.
std::optional<std::string> TextOf(const boost::json::value& value) {
  if (const auto* text = value.if_string()) return std::string(text->data(), text->size());
  if (value.is_bool() || value.is_int64() || value.is_uint64())
    return boost::json::serialize(value);
  return std::nullopt;
}

std::string_view WhatFits(ValueType type) {
  switch (type) {
    case ValueType::kNumber:
      return "a whole number";
    case ValueType::kFlag:
      return "true or false";
    case ValueType::kDatabase:
      return "0 to 15";
    case ValueType::kDatabases:
      return "0 to 15, or * for all";
    case ValueType::kDuration:
      return "a duration such as 250, 10s or 5m";
    case ValueType::kText:
      break;
  }
  return "text";
}

bool Fits(ValueType type, std::string_view value) {
  switch (type) {
    case ValueType::kNumber:
      return command::ParseInteger(value).has_value();
    case ValueType::kFlag:
      return value == "true" || value == "false";
    case ValueType::kDatabases:
      if (value == "*") return true;
      [[fallthrough]];
    case ValueType::kDatabase: {
      const std::optional<std::int64_t> db = command::ParseInteger(value);
      return db && *db >= 0 && *db < engine::kDatabases;
    }
    case ValueType::kDuration:
      // Otherwise the command could mistake the value for an option. The command itself reports a
      // wrong unit more precisely.
      return !value.empty() && value.front() >= '0' && value.front() <= '9';
    case ValueType::kText:
      break;
  }
  return true;
}

}  // namespace

bool FitsPath(const Route& route, const Target& target) {
  const std::vector<std::string_view> wanted = SegmentsOf(route.path);
  return std::equal(wanted.begin(), wanted.end(), target.segments.begin(), target.segments.end(),
                    [](std::string_view want, const std::string& given) {
                      return PlaceholderOf(want).empty() ? want == given : !given.empty();
                    });
}

Inputs Inputs::Read(const Route& route, const Target& target, std::string_view body) {
  Inputs inputs(route);
  inputs.TakePath(target);
  for (const auto& [name, value] : target.parameters) inputs.Take(name, value);
  if (route.verb == Verb::kPost && !route.takes_any_body) inputs.TakeBody(body);
  inputs.CheckRequired();
  return inputs;
}

void Inputs::TakePath(const Target& target) {
  const std::vector<std::string_view> segments = SegmentsOf(route_.path);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const std::string_view name = PlaceholderOf(segments[i]);
    if (!name.empty()) Take(name, target.segments[i]);
  }
}

void Inputs::TakeBody(std::string_view body) {
  boost::system::error_code error;
  const boost::json::value value = boost::json::parse({body.data(), body.size()}, error);
  const boost::json::object* object = value.if_object();
  if (error || object == nullptr) return Fail("the body is not a JSON object");
  for (const auto& [key, member] : *object) {
    const std::string_view name(key.data(), key.size());
    if (member.is_null()) continue;
    std::optional<std::string> text = TextOf(member);
    if (!text) return Fail(std::string(name) + " must be a string, a number or a boolean");
    if (!name.ends_with(kBase64Suffix) || FindParameter(name) != nullptr) {
      Take(name, *std::move(text));
      continue;
    }
    text = json::DecodeBase64(*text);
    if (!text) return Fail(std::string(name) + " is not base64 with padding");
    Take(name.substr(0, name.size() - kBase64Suffix.size()), *std::move(text));
  }
}

void Inputs::Take(std::string_view name, std::string value) {
  const Parameter* parameter = FindParameter(name);
  if (parameter == nullptr) {
    return Fail("unknown parameter " + command::Quoted(name, 64) + "; " + KnownNames());
  }
  if (!Fits(parameter->type, value)) {
    return Fail(std::string(name) + " must be " + std::string(WhatFits(parameter->type)) +
                ", got " + command::Quoted(value, 64));
  }
  if (Find(name) != nullptr) return Fail(std::string(name) + " is given twice");
  values_.emplace_back(parameter, std::move(value));
}

void Inputs::CheckRequired() {
  for (const Parameter& parameter : route_.parameters) {
    if (parameter.is_required && Find(parameter.name) == nullptr) {
      Fail(std::string(parameter.name) + " is missing: " + std::string(parameter.description));
    }
  }
}

void Inputs::Fail(std::string error) {
  if (error_.empty()) error_ = std::move(error);
}

std::string Inputs::KnownNames() const {
  if (route_.parameters.empty()) return "this route takes none";
  std::string names;
  for (const Parameter& parameter : route_.parameters) {
    names += names.empty() ? "" : ", ";
    names += parameter.name;
  }
  return "this route takes " + names;
}

const Parameter* Inputs::FindParameter(std::string_view name) const {
  const auto found = std::find_if(route_.parameters.begin(), route_.parameters.end(),
                                  [name](const Parameter& one) { return one.name == name; });
  return found == route_.parameters.end() ? nullptr : &*found;
}

const std::string* Inputs::Find(std::string_view name) const {
  const auto found = std::find_if(values_.begin(), values_.end(),
                                  [name](const auto& one) { return one.first->name == name; });
  return found == values_.end() ? nullptr : &found->second;
}

std::string_view Inputs::Text(std::string_view name, std::string_view otherwise) const {
  const std::string* value = Find(name);
  return value == nullptr ? otherwise : std::string_view(*value);
}

std::int64_t Inputs::Number(std::string_view name, std::int64_t otherwise) const {
  return command::ParseInteger(Text(name)).value_or(otherwise);
}

void Inputs::AppendOptions(std::vector<std::string_view>& arguments) const {
  for (const auto& [parameter, value] : values_) {
    if (parameter->word.empty()) continue;
    if (parameter->type != ValueType::kFlag) {
      arguments.insert(arguments.end(), {parameter->word, value});
    } else if (value == "true") {
      arguments.push_back(parameter->word);
    }
  }
}

}  // namespace fairlock::http
