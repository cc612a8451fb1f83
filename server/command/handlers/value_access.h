// How the commands for small values find, create and change them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "server/command/server_parts.h"
#include "server/command/table/invocation.h"
#include "server/engine/api/types.h"
#include "server/values/value_store.h"

namespace fairlock::command {

// What a command finds under a key. If `is_refused` is set, an error has been sent: the key is
// invalid, or it is that of a lock or of a value of another type. If `value` is null, it is free.
template <typename Content>
struct Opened {
  engine::KeyName key;
  values::Value* value = nullptr;
  bool is_refused = false;

  Content& content() const { return std::get<Content>(value->content); }
};

// Returns the value with that key; null if there is none. If the key is invalid or that of a lock,
// sends an error and sets `is_refused`.
values::Value* FindValue(Invocation& call, const engine::KeyName& key, bool& is_refused);

template <typename Content>
Opened<Content> OpenValue(Invocation& call, std::size_t position);
extern template Opened<values::Hash> OpenValue(Invocation&, std::size_t);
extern template Opened<values::List> OpenValue(Invocation&, std::size_t);
extern template Opened<values::SortedSet> OpenValue(Invocation&, std::size_t);
extern template Opened<values::Set> OpenValue(Invocation&, std::size_t);

// The work of copying one element of a value, in the unit of WorkMeter.
inline constexpr std::uint64_t kCopyWork = 200;

// By how much a command may make a value larger, at most.
struct Growth {
  std::size_t elements = 0;
  std::size_t bytes = 0;  // of the elements themselves

  void Add(std::size_t element_bytes) {
    ++elements;
    bytes += element_bytes;
  }
};

struct Size {
  std::size_t elements = 0;
  std::size_t bytes = 0;
};

template <typename Content>
Size SizeOf(const Content& content) {
  return {content.size(), content.bytes()};
}

// Whether a value may not grow to that size; if so, sends the error. A value that exceeds a bound,
// because the bound has been lowered, may still change, but not grow.
bool RefusesSize(Invocation& call, std::string_view key, const Size& before, const Size& after);
// Whether no value may grow now, or, if `is_new` is set, none may be created; if so, sends the
// error.
bool RefusesGrowth(Invocation& call, bool is_new);

// Applies `change` to the content of the value, which is created if the key is free. Returns the
// value, on which the caller calls Values::NoticeChange. Returns null after sending an error, with
// nothing changed, if the value would exceed a bound; and also if the key was free and the change
// has added nothing: `is_refused` tells the two apart.
template <typename Content, typename Change>
values::Value* GrowValue(Invocation& call, Opened<Content>& opened, const Growth& growth,
                         Change change) {
  opened.is_refused = RefusesGrowth(call, opened.value == nullptr);
  if (opened.is_refused) return nullptr;
  const values::ValueLimits& limits = call.server.values.limits();
  if (opened.value != nullptr) {
    Content& content = opened.content();
    const std::size_t bytes_max =
        content.bytes() + growth.bytes + growth.elements * values::kElementBytes;
    if (content.size() + growth.elements <= limits.elements_max && bytes_max <= limits.bytes_max) {
      change(content);
      return opened.value;
    }
  }
  Content changed = opened.value != nullptr ? opened.content() : Content();
  call.server.work.Charge(changed.size() * kCopyWork);
  change(changed);
  const Size before = opened.value != nullptr ? SizeOf(opened.content()) : Size{};
  opened.is_refused = RefusesSize(call, opened.key.bytes, before, SizeOf(changed));
  if (opened.is_refused) return nullptr;
  if (opened.value != nullptr) {
    opened.content() = std::move(changed);
  } else if (changed.size() > 0) {
    opened.value = &call.server.values.store().Create(opened.key, std::move(changed));
  }
  return opened.value;
}

// Redis' forms of arguments. Each returns nullopt, the first two after sending an error.
std::optional<std::int64_t> ReadCount(Invocation& call, std::string_view text);
std::optional<double> ReadScore(Invocation& call, std::string_view text, std::string_view error);
// A number with more range and precision than a score has.
std::optional<long double> ParseLongDouble(std::string_view text);
// A number as Redis shows scores.
std::string FormatDouble(double number);
// A finite number as INCRBYFLOAT shows it: up to 17 decimals, and up to 5 KB.
std::string FormatLongDouble(long double number);
// Writes a score as its reply.
void WriteScore(Invocation& call, double score);

// The elements from `first` to before `end` that negative and excessive indexes select, as in
// LRANGE.
struct IndexRange {
  std::size_t first = 0;
  std::size_t end = 0;

  std::size_t size() const { return end - first; }
};
IndexRange RangeOf(std::int64_t first, std::int64_t last, std::size_t size);

// The options of HSCAN, SSCAN and ZSCAN, of which only MATCH has an effect. Returns nullopt after
// sending an error.
std::optional<engine::Glob> ReadElementScan(Invocation& call);
// Writes the one page of a scan: cursor 0, and each element that matches, as `write` writes it into
// `parts_each` replies.
void BeginElementPage(Invocation& call, std::size_t replies);

}  // namespace fairlock::command
