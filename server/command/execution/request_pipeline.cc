#include "server/command/execution/request_pipeline.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace fairlock::command {

using protocol::ParseStatus;

namespace {

// If there is more output than this, the next request waits until other connections have had their
// turn.
constexpr std::size_t kOutputBytesAtOnce = 16 * 1024;
// Other work has the corresponding bound.
constexpr std::uint64_t kWorkAtOnce = kOutputBytesAtOnce * WorkMeter::kWorkPerByte;

}  // namespace

RequestPipeline::RequestPipeline(PipelineParts& parts, Transport& transport, ClientAddress address,
                                 engine::TimeMs now)
    : parts_(parts), client_(transport, parts.grants, std::move(address), now) {
  parts_.lifecycle.Register(client_);
}

std::size_t RequestPipeline::Consume(std::string_view input, std::size_t requests_max,
                                     engine::TimeMs now) {
  RequestWindow& window = parts_.window;
  client_.profile.active_at = now;
  parts_.availability.LookAtMemory(now);
  std::size_t consumed = 0;
  std::size_t requests = 0;
  bool is_used_up = false;
  bool is_much = false;
  bool is_cut_short = false;  // whether one of these bounds has stopped the pipeline
  awaits_script_turn_ = false;
  const std::uint64_t work_max = parts_.work.total() + kWorkAtOnce;
  while (!IsStopped() && !is_used_up && !is_much && requests < requests_max) {
    ReadAhead(input.substr(consumed), requests_max - requests);
    const std::size_t executed = ExecuteAhead(work_max, now);
    requests += executed;
    is_much = HasDoneMuch(work_max);
    is_used_up = window.last.status != ParseStatus::kRequest;
    if (executed < window.count || (IsStopped() && window.last.status == ParseStatus::kError)) {
      // Requests that were only read ahead are read again when the connection continues.
      parser_.Restart();
      if (executed > 0) consumed += window.requests[executed - 1].end;
      is_cut_short = is_much || awaits_script_turn_;
      break;
    }
    consumed += window.end;
    is_cut_short = is_much && !is_used_up;
    if (window.last.status == ParseStatus::kError) RefuseInput(window.last.error);
  }
  client_.profile.commands_processed += requests;
  has_more_ = consumed < input.size() &&
              (client_.wait.is_waiting() || is_cut_short || requests == requests_max);
  return consumed;
}

void RequestPipeline::ReadAhead(std::string_view input, std::size_t requests_max) {
  RequestWindow& window = parts_.window;
  // Without a user, only one request is read at a time: if it logs the client in, the next one is
  // parsed under the limits that apply then.
  const bool is_nobody = client_.rights.user() == nullptr;
  const protocol::RequestLimits& limits = is_nobody ? protocol::kBeforeAuth : parts_.limits;
  const std::size_t count_max = is_nobody ? 1 : std::min(requests_max, RequestWindow::kSize);
  window.count = 0;
  window.end = 0;
  do {
    RequestAhead& request = window.requests[window.count];
    const protocol::ParseResult result =
        parser_.Parse(input.substr(window.end), limits, request.arguments);
    window.end += result.consumed;
    if (result.status != ParseStatus::kRequest) {
      window.last = result;
      return;
    }
    request.end = window.end;
    parts_.prefetch.Prepare(client_.profile.database, request);
  } while (++window.count < count_max);
  window.last.status = ParseStatus::kRequest;
}

bool RequestPipeline::HasDoneMuch(std::uint64_t work_max) const {
  return client_.output.bytes().size() > kOutputBytesAtOnce || parts_.work.total() > work_max;
}

std::size_t RequestPipeline::ExecuteAhead(std::uint64_t work_max, engine::TimeMs now) {
  const RequestWindow& window = parts_.window;
  for (std::size_t i = 0; i < window.count; ++i) parts_.prefetch.PrefetchLock(window.requests[i]);
  std::size_t executed = 0;
  while (executed < window.count && !IsStopped()) {
    const RequestAhead& request = window.requests[executed];
    if (!parts_.script_turns.RunsScripts(client_, request.row)) {
      parts_.executor.Execute(client_, request, now);
    } else if (parts_.script_turns.MustWait()) {
      awaits_script_turn_ = true;
      break;
    } else {
      parts_.script_turns.Measure([&] { parts_.executor.Execute(client_, request, now); });
    }
    ++executed;
    if (HasDoneMuch(work_max)) break;
  }
  parts_.statistics.commands.TurnTo(CommandTable::kNone);
  return executed;
}

void RequestPipeline::RefuseInput(const protocol::WireError& error) {
  ++parts_.statistics.counters.protocol_errors;
  parts_.statistics.commands.CountError(error.code);
  client_.writer().Error(error);
  client_.output.CloseAfter();
}

void RequestPrefetch::Prepare(std::uint8_t database, RequestAhead& request) const {
  request.row = table_.IndexOf(request.arguments[0]);
  request.key = {.db = database};
  if (request.row == CommandTable::kNone) return;
  const auto position = static_cast<std::size_t>(table_.rows()[request.row]->keys.first);
  if (position == 0 || position >= request.arguments.size()) return;
  request.key.bytes = request.arguments[position];
  request.key.hash = engine_.Prefetch(request.key);
  recorder_.Prefetch(request.key.hash);
}

}  // namespace fairlock::command
