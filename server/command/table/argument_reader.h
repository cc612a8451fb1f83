// Reads the arguments of a request from left to right, and remembers the first error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/arguments.h"
#include "protocol/reply_writer.h"
#include "server/command/table/duration_text.h"
#include "server/engine/api/glob.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

// After the first error, every read returns a harmless value. So a handler reads everything that it
// needs, and checks for errors once at the end:
//
//   ArgumentReader arguments(call.arguments);
//   const auto key = arguments.Key(db);
//   const auto owner = arguments.Owner("owner");
//   if (!arguments.Finish(call.reply)) return;
class ArgumentReader {
 public:
  // Skips the name of the command, or of the command and subcommand.
  explicit ArgumentReader(const protocol::Arguments& arguments, std::size_t names = 1)
      : arguments_(arguments), names_(names), next_(names) {}

  bool has_more() const { return next_ < arguments_.size() && !failed_; }
  // An upper-case `name` is an option whose value is read; a lower-case one is an argument.
  std::string_view Next(std::string_view name);
  std::string_view Peek() const { return arguments_[next_]; }

  // Reads a key in the database of `known`. The hash in `known` must be that of this key, or 0.
  engine::KeyName Key(const engine::KeyName& known);
  std::string_view Owner(std::string_view name);
  std::int64_t Integer(std::string_view name, std::int64_t min, std::int64_t max);
  engine::Token Token(std::string_view name);
  // Each reads a whole number of seconds or milliseconds, as given after EX and PX; the result must
  // be from 1 ms to 365 days.
  engine::DurationMs LeaseSeconds();
  engine::DurationMs LeaseMilliseconds();
  // Reads a number with one of kDurationUnits, or a number of milliseconds. DurationOrForever
  // also accepts FOREVER.
  engine::DurationMs Duration(std::string_view name);
  // Like Duration, but a duration above `max_ms` is an error. If `setting` is given, it names the
  // setting that determines `max_ms`.
  engine::DurationMs DurationUpTo(std::string_view name, engine::DurationMs max_ms,
                                  std::string_view setting = {});
  engine::DurationMs DurationOrForever(std::string_view name);
  // Reads a time: either in Unix milliseconds, or as an age before `now`, which is a number with
  // one of kDurationUnits. It may be before this process started: at least record::kLongAgo.
  engine::TimeMs Moment(std::string_view name, engine::TimeMs now, std::int64_t unix_now_ms);
  std::string_view Meta();
  std::string_view Label();
  // Reads the value of REASON, which is meant for people to read.
  std::string_view Reason();
  // Reads a glob that is the value of the named option; it may be empty.
  engine::Glob PatternOf(std::string_view name);
  // Reads a glob for keys, which must not be empty, and returns it as it was written.
  std::string_view Pattern();

  // Takes the next argument if it is the given word. Words are case-insensitive.
  bool Take(std::string_view option);
  // Like Take, but a repeated option is an error. `seen` has one bit per option already taken.
  bool TakeOnce(std::string_view option, std::uint32_t bit, std::uint32_t& seen);
  // Fails because the next argument is none of the options listed in `allowed`: "EX, PX or TOKEN".
  // `hint`, if given, says what to do instead; otherwise the nearest option is suggested.
  void FailUnknownOption(std::string_view allowed, std::string_view hint = {});
  void Fail(std::string text);

  bool failed() const { return failed_; }
  // The first duration that has no unit and looks like seconds.
  const BareDuration& bare_duration() const { return bare_duration_; }
  // Returns true if there was no error and no argument is left. Otherwise sends an error.
  bool Finish(protocol::ReplyWriter& reply);

 private:
  // Returns nullopt after an earlier error, or if no argument is left.
  std::optional<std::string_view> TakeValue();
  // Fails because the value is missing, or is not what `allowed` describes, such as "a whole number
  // from 1 to 64".
  void FailValue(std::string_view name, const std::optional<std::string_view>& value,
                 std::string_view allowed);
  std::int64_t Number(std::string_view name, std::int64_t min, std::int64_t max,
                      std::string_view kind, std::string_view remark);
  // Reads a value of `min` to `max` bytes.
  std::string_view Bytes(std::string_view name, std::size_t min, std::size_t max);
  engine::DurationMs ReadDuration(std::string_view name, bool may_be_forever);
  // Returns the command's name, including that of the subcommand.
  std::string CommandName() const;

  const protocol::Arguments& arguments_;
  std::size_t names_;
  std::size_t next_;
  bool failed_ = false;
  std::string error_;
  BareDuration bare_duration_;
};

}  // namespace fairlock::command
