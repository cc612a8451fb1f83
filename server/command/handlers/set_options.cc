#include "server/command/handlers/set_options.h"

#include <array>

#include "server/command/table/refusals.h"
#include "server/command/table/text.h"

namespace fairlock::command {

namespace {

struct LeaseOption {
  std::string_view name;
  TimeForm form;
};

constexpr auto kLeaseOptions = std::to_array<LeaseOption>({
    {"EX", {.unit_ms = 1000}},
    {"PX", {.unit_ms = 1}},
    {"EXAT", {.unit_ms = 1000, .is_absolute = true}},
    {"PXAT", {.unit_ms = 1, .is_absolute = true}},
});

}  // namespace

const TimeForm* FindLeaseOption(std::string_view word) {
  for (const LeaseOption& option : kLeaseOptions) {
    if (EqualsIgnoreCase(word, option.name)) return &option.form;
  }
  return nullptr;
}

std::optional<SetOptions> ReadSetOptions(Invocation& call, std::size_t begin, bool is_of_several) {
  SetOptions options;
  const protocol::Arguments& arguments = call.arguments;
  for (std::size_t i = begin; i < arguments.size(); ++i) {
    const TimeForm* form = FindLeaseOption(arguments[i]);
    const bool is_other_form = options.form != nullptr && options.form != form;
    const auto condition = is_of_several ? std::nullopt : FindCondition(arguments[i]);
    const bool has_condition = options.is_new || options.is_held || options.condition;
    if (form != nullptr && i + 1 < arguments.size() && !options.keeps_end && !is_other_form) {
      options.form = form;
      options.lease = arguments[++i];
    } else if (condition && i + 1 < arguments.size() && !has_condition) {
      options.condition = condition;
      options.condition->operand = arguments[++i];
    } else if (EqualsIgnoreCase(arguments[i], "NX") && !options.is_held && !options.condition) {
      options.is_new = true;
    } else if (EqualsIgnoreCase(arguments[i], "XX") && !options.is_new && !options.condition) {
      options.is_held = true;
    } else if (EqualsIgnoreCase(arguments[i], "KEEPTTL") && options.form == nullptr) {
      options.keeps_end = true;
    } else if (EqualsIgnoreCase(arguments[i], "GET") && !is_of_several) {
      options.gets = true;
    } else {
      RefuseSyntax(call.reply);
      return std::nullopt;
    }
  }
  return options;
}

std::optional<engine::WriteRequest> RequestOf(Invocation& call, const SetOptions& options,
                                              std::string_view command) {
  engine::WriteRequest request;
  request.end = options.keeps_end ? engine::WrittenEnd::kKept : engine::WrittenEnd::kEndless;
  request.only_new = options.is_new;
  request.only_held = options.is_held;
  if (options.form == nullptr) return request;
  // As in Redis, refuses a lease only if it is below 1 in the unit in which it is given.
  const auto number = ParseRedisInteger(options.lease);
  const bool is_positive = number && *number > 0;
  const auto lease_ms = ReadLease(call, options.lease, *options.form, command, is_positive);
  if (!lease_ms) return std::nullopt;
  request.end = engine::WrittenEnd::kAfter;
  request.lease_ms = *lease_ms;
  return request;
}

}  // namespace fairlock::command
