// For any arguments of a request, the reader returns either values within their bounds or exactly
// one error, and keys are found only among the arguments. In the first line, each letter chooses
// how an argument is read; every other line is an argument.

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/reply_scanner.h"
#include "server/command/handlers/command_families.h"
#include "server/command/table/argument_reader.h"
#include "server/command/table/command_docs.h"
#include "server/command/table/command_syntax.h"
#include "server/command/table/command_table.h"
#include "server/engine/api/types.h"
#include "server/record/history_record.h"
#include "tests/fuzz/play.h"

namespace {

using namespace fairlock::command;  // NOLINT(google-build-using-namespace)
namespace engine = fairlock::engine;

constexpr engine::TimeMs kNow = 1'000'000;
constexpr std::int64_t kUnixNowMs = 1'700'000'000'000;

bool IsIn(std::int64_t value, std::int64_t min, std::int64_t max) {
  return value >= min && value <= max;
}

// Returns false if the value is out of bounds.
bool ReadsWell(char how, ArgumentReader& reader) {
  const auto fits = [&](std::string_view text, std::size_t bytes_max, std::size_t bytes_min = 0) {
    return reader.failed() || (text.size() >= bytes_min && text.size() <= bytes_max);
  };
  switch (how) {
    case 'k':
      return fits(reader.Key({.db = 1}).bytes, engine::kKeyBytesMax, 1);
    case 'o':
      return fits(reader.Owner("owner"), engine::kOwnerBytesMax, 1);
    case 'i':
      return IsIn(reader.Integer("n", -7, 700), -7, 700);
    case 't':
      return reader.Token("token") <= engine::kTokenMax;
    case 's':
      return IsIn(reader.LeaseSeconds(), 1, engine::kLeaseMsMax);
    case 'm':
      return IsIn(reader.LeaseMilliseconds(), 1, engine::kLeaseMsMax);
    case 'd':
      return IsIn(reader.Duration("WAIT"), 0, engine::kForever - 1);
    case 'u':
      return reader.DurationUpTo("KEEP", 5000, "max_keep") <= 5000 || reader.failed();
    case 'f':
      return IsIn(reader.DurationOrForever("WAIT"), 0, engine::kForever);
    case 'w':
      return IsIn(reader.Moment("SINCE", kNow, kUnixNowMs), fairlock::record::kLongAgo,
                  engine::kNever);
    case 'b':
      return fits(reader.Meta(), engine::kMetaBytesMax);
    case 'l':
      return fits(reader.Label(), engine::kLabelBytesMax, 1);
    case 'r':
      return fits(reader.Reason(), engine::kReasonBytesMax);
    case 'p':
      return fits(reader.Pattern(), engine::kKeyBytesMax, 1);
    case 'q':
      return !reader.Take("NX") || !reader.failed();
    default:
      return fits(reader.Next("word"), ~std::size_t{0});
  }
}

void ReadArguments(std::string_view ways, const fairlock::protocol::Arguments& arguments) {
  ArgumentReader reader(arguments, 0);
  for (const char way : ways) assert(ReadsWell(way, reader));
  std::string output;
  fairlock::protocol::ReplyWriter writer(output, fairlock::protocol::RespVersion::kResp2);
  const bool is_right = reader.Finish(writer);
  assert(is_right == output.empty() && is_right != reader.failed());
  if (is_right) return;
  assert(output.starts_with("-ERR "));
  const auto skipped = fairlock::protocol::SkipReply(output);
  assert(skipped.status == fairlock::protocol::ReplyStatus::kReply);
  assert(skipped.consumed == output.size());
}

// The first word of the request names a command.
void FindKeys(const std::vector<std::string_view>& request) {
  static const CommandTable table = WholeLanguage();
  const CommandSpec* spec = table.Find(request.front());
  if (spec == nullptr || !FitsArity(*spec, request.size())) return;
  const std::vector<std::string_view> keys = KeysOf(*spec, request);
  assert(keys.size() < request.size());
  for (const std::string_view key : keys) assert(key.data() != request.front().data());
}

void ReadSyntax(std::string_view notation) {
  const auto syntax = ParseSyntax(notation);
  if (!syntax) return;
  const auto most = MostArguments(*syntax);
  assert(!most || FewestArguments(*syntax) <= *most);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const std::string_view ways = fairlock::fuzz::TakeLine(rest);
  fairlock::protocol::Arguments arguments;
  std::vector<std::string_view> request;
  while (!rest.empty()) {
    request.push_back(fairlock::fuzz::TakeLine(rest));
    arguments.Add(request.back());
    ReadSyntax(request.back());
  }
  ReadArguments(ways, arguments);
  if (!request.empty()) FindKeys(request);
  return 0;
}
