// Reads the arguments of a request from the left; remembers the first that is wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/arguments.h"
#include "protocol/reply_writer.h"
#include "server/engine/types.h"

namespace fairlock::command {

// After the first error every read gives a harmless value, so a handler reads all it needs and then
// asks once:
//
//   ArgumentReader arguments(call.arguments);
//   const auto key = arguments.Key(db);
//   const auto owner = arguments.Owner("owner");
//   if (!arguments.Finish(call.reply)) return;
class ArgumentReader {
 public:
  // Skips the name of the command, or of command and subcommand.
  explicit ArgumentReader(const protocol::Arguments& arguments, std::size_t names = 1)
      : arguments_(arguments), next_(names) {}

  bool has_more() const { return next_ < arguments_.size() && !failed_; }
  std::string_view Next(std::string_view name);
  std::string_view Peek() const { return arguments_[next_]; }

  // `hash`: of this key in that database, if it is known.
  engine::KeyName Key(std::uint8_t db, std::uint64_t hash = 0);
  std::string_view Owner(std::string_view name);
  std::int64_t Integer(std::string_view name, std::int64_t min, std::int64_t max);
  engine::Token Token(std::string_view name);
  // Whole numbers of seconds or milliseconds, as behind EX and PX: 1 ms to 365 days.
  engine::DurationMs LeaseSeconds();
  engine::DurationMs LeaseMilliseconds();
  // Milliseconds, or a number with ms, s, m or h; FOREVER where allowed.
  engine::DurationMs Duration(std::string_view name);
  // As Duration, and an error above `max_ms`, the value of the option of that name.
  engine::DurationMs DurationUpTo(std::string_view name, engine::DurationMs max_ms,
                                  std::string_view option);
  engine::DurationMs DurationOrForever(std::string_view name);
  // Unix milliseconds, or how long before `now`: a number with ms, s, m or h.
  engine::TimeMs Moment(std::string_view name, engine::TimeMs now, std::int64_t unix_now_ms);
  std::string_view Meta();
  std::string_view Label();
  // What stands behind REASON: text for people.
  std::string_view Reason();
  // A glob of keys.
  std::string_view Pattern();

  // If the next argument is that word, takes it. Names are case-insensitive.
  bool Take(std::string_view option);
  // As Take, and an error if it was taken before: `seen` holds the bits of the options seen.
  bool TakeOnce(std::string_view option, std::uint32_t bit, std::uint32_t& seen);
  // The next argument is none of the options.
  void FailUnknownOption(std::string_view allowed);
  void Fail(std::string text);

  bool failed() const { return failed_; }
  // True: all was right and nothing is left. Else the error is answered.
  bool Finish(protocol::ReplyWriter& reply);

 private:
  engine::DurationMs ReadDuration(std::string_view name, bool may_be_forever);
  engine::DurationMs Lease(std::string_view name, engine::DurationMs unit_ms);

  const protocol::Arguments& arguments_;
  std::size_t next_;
  bool failed_ = false;
  std::string error_;
};

}  // namespace fairlock::command
