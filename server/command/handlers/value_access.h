// How the commands for small values find, create and change them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "server/command/server_parts.h"
#include "server/command/table/glob_walk.h"
#include "server/command/table/invocation.h"
#include "server/engine/api/redis_requests.h"
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

// By how much a command may make a value larger, at most.
struct Growth {
  std::size_t elements = 0;
  std::size_t bytes = 0;  // of the elements themselves
  std::size_t longest = elements == 1 ? bytes : 0;

  void Add(std::size_t element_bytes) {
    ++elements;
    bytes += element_bytes;
    longest = std::max(longest, element_bytes);
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
// Whether a request of a transaction, whose command may take a lock or make a value larger, meets a
// bound that has been reached already; if so, sends the error.
bool RefusesFull(Invocation& call, const CommandSpec& spec, const protocol::Arguments& arguments,
                 std::uint8_t db, protocol::ReplyWriter& reply);

// Whether an element is too long to be stored; if so, sends the error.
bool RefusesElement(Invocation& call, const Growth& growth);
// Whether a value of that size, after that growth, may exceed a bound.
bool MayExceed(Invocation& call, const Size& before, const Growth& growth);

// Applies `change` to the content of the value, which is created if the key is free. Returns the
// value, on which the caller calls Values::NoticeChange. Returns null after sending an error, with
// nothing changed, if the value would exceed a bound; and also if the key was free and the change
// has added nothing: `is_refused` tells the two apart. `growth` is the most that the change may
// add; `measure(content)`, which is called if that might exceed a bound, returns the size
// afterwards.
template <typename Content, typename Change, typename Measure>
values::Value* GrowValue(Invocation& call, Opened<Content>& opened, const Growth& growth,
                         Change change, Measure measure) {
  opened.is_refused = RefusesGrowth(call, opened.value == nullptr) || RefusesElement(call, growth);
  if (opened.is_refused) return nullptr;
  if (opened.value != nullptr) {
    Content& content = opened.content();
    const Size before = SizeOf(content);
    opened.is_refused = MayExceed(call, before, growth) &&
                        RefusesSize(call, opened.key.bytes, before, measure(content));
    if (opened.is_refused) return nullptr;
    change(content);
    return opened.value;
  }
  Content made;
  change(made);
  opened.is_refused = RefusesSize(call, opened.key.bytes, {}, SizeOf(made));
  if (opened.is_refused || made.size() == 0) return nullptr;
  opened.value = &call.server.values.store().Create(opened.key, std::move(made));
  return opened.value;
}

// The same if the growth is exact.
template <typename Content, typename Change>
values::Value* GrowValue(Invocation& call, Opened<Content>& opened, const Growth& growth,
                         Change change) {
  return GrowValue(call, opened, growth, change, [&](const Content& content) {
    return Size{content.size() + growth.elements,
                content.bytes() + growth.bytes + growth.elements * values::kElementBytes};
  });
}

// The size of a set or sorted set after these members have been added, and of a hash after these
// fields have been set; names and values alternate.
Size SizeWith(const values::Set& set, std::span<const std::string_view> members);
Size SizeWith(const values::SortedSet& set, std::span<const std::string_view> members);
Size SizeWith(const values::Hash& hash, std::span<const std::string_view> names_and_values);

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

// If a reply with these elements would be too long or too much work, sends the error and returns
// true; otherwise charges the client for the work.
bool RefusesElements(Invocation& call, std::size_t elements, std::size_t bytes);
// What that number of elements have together, unless they are much longer than most.
template <typename Content>
std::size_t LikelyBytes(const Content& content, std::size_t elements) {
  constexpr std::size_t kTimesAverage = 4;
  return std::min(content.bytes(),
                  kTimesAverage * elements * (content.bytes() / content.size() + 1));
}
// If a command would erase too many elements in one step, sends the error and returns true;
// otherwise charges the client for the work.
bool RefusesErasure(Invocation& call, std::size_t elements);
// RefusesElements for the elements of a value in that range. `bytes_of(index)` returns the bytes of
// one; they are counted only if all of the value might be too long.
template <typename Content, typename BytesOf>
bool RefusesRange(Invocation& call, const Content& content, const IndexRange& range,
                  BytesOf bytes_of) {
  constexpr std::size_t kCountedBytesMin = 256 * 1024;
  constexpr std::size_t kCountedElementsMax = 200'000;  // more are refused anyway
  std::size_t bytes = content.bytes();
  if (bytes > kCountedBytesMin && range.size() <= kCountedElementsMax) {
    bytes = 0;
    for (std::size_t i = range.first; i < range.end; ++i) bytes += bytes_of(i);
  }
  return RefusesElements(call, range.size(), bytes);
}

// The cursor and the options of HSCAN, SSCAN and ZSCAN.
struct ElementScan {
  std::uint64_t cursor = 0;
  std::size_t count = 10;
  engine::Glob glob = engine::Glob("*");
};
// Returns nullopt after sending an error.
std::optional<ElementScan> ReadElementScan(Invocation& call);
// Writes the page of a scan whose elements take `replies` replies.
void BeginElementPage(Invocation& call, std::size_t replies, std::uint64_t next_cursor = 0);

// Visits the elements of one page, and returns the next cursor. A value with few and short elements
// has one page, in its order. Otherwise a page has about COUNT elements, and what is there during
// the whole scan is visited at least once. `name_of(element)` is matched; `visit(element)` is
// called for each match, and returns its bytes.
template <typename Range, typename Content, typename NameOf, typename Visit>
std::uint64_t VisitPage(Invocation& call, const Range& in_order, const Content& content,
                        const ElementScan& scan, NameOf name_of, Visit visit) {
  constexpr std::size_t kOnePageBytes = 64 * 1024;
  constexpr std::size_t kPageBytes = 256 * 1024;
  GlobWalk walk(call.server.work, GlobWalk::kPageWorkMax);
  std::size_t bytes = 0;
  const auto look = [&](const auto& element) {
    walk.ChargeLook();
    if (scan.glob.Matches(name_of(element), walk.compared())) bytes += visit(element);
  };
  if (content.is_ordered() && content.bytes() <= kOnePageBytes) {
    for (const auto& element : in_order) look(element);
    return 0;
  }
  std::uint64_t cursor = scan.cursor;
  std::size_t seen = 0;
  do {
    cursor = values::VisitBackwards(content.size(), cursor, 1,
                                    [&](std::size_t at) { look(content.ByPosition(at)); });
  } while (cursor != 0 && ++seen < scan.count && bytes < kPageBytes && !walk.is_spent());
  return cursor;
}

// Walks visit the locks first and then the values. In a cursor, this bit marks the values; the
// cursors of both tables are below it, and no client takes it for a negative or inexact number.
inline constexpr std::uint64_t kValuesCursorBit = std::uint64_t{1} << 46;

// The type of a value as TYPE and SCAN name it.
std::string_view NameOfType(values::ValueType type);

// The value with that key, or null.
values::Value* ValueOf(const Invocation& call, const engine::KeyName& key);

// If there is a value under that key, sends the error and returns true.
bool RefusesValue(Invocation& call, const engine::KeyName& key);

// EXPIRE and similar commands, and PERSIST. Returns whether the end has changed, or the value has
// been deleted because its time is over.
bool ExpireValue(const Invocation& call, values::Value& value,
                 const engine::ExpiryRequest& request);

}  // namespace fairlock::command
