#include "tests/simulation/outcome.h"

#include <array>

namespace fairlock::simulation {

using engine::ResolutionKind;

void Outcome::Clear() {
  status = 0;
  reason = 0;
  token = 0;
  number = 0;
  extra = 0;
  answers.clear();
  losses.clear();
  events.clear();
  links.clear();
  link_count = 0;
  owners_in_line.clear();
  expiries.clear();
  lapses.clear();
  releases.clear();
  newest_token_before = 0;
}

bool Outcome::HasEqualResult(const Outcome& other) const {
  return status == other.status && reason == other.reason && token == other.token &&
         number == other.number && extra == other.extra;
}

bool IsWatchAnswer(ResolutionKind kind) {
  return kind == ResolutionKind::kWatchEnded || kind == ResolutionKind::kWatchTimedOut;
}

std::string Describe(const Answer& answer) {
  static constexpr std::array kNames = {"granted",     "timed out",      "cancelled",
                                        "replaced",    "superseded",     "deadlock",
                                        "watch ended", "watch timed out"};
  std::string text =
      "c" + std::to_string(answer.connection) + " " + kNames[static_cast<std::size_t>(answer.kind)];
  if (answer.token != 0) text += " token " + std::to_string(answer.token);
  if (answer.by != kAbsent) text += " by w" + std::to_string(answer.by);
  if (answer.owner != kAbsent) text += " for w" + std::to_string(answer.owner);
  return text;
}

std::string Describe(const ToldEvent& event) {
  static constexpr std::array kNames = {
      "granted",      "reacquired", "denied", "queued",      "released", "expired",
      "disconnected", "renewed",    "broken", "transferred", "undone",   "cancelled",
      "replaced",     "timed out",  "lapsed", "vacated",     "refused",  "leaving"};
  std::string text = "k" + std::to_string(event.key) + " " +
                     kNames[static_cast<std::size_t>(event.kind)] + " w" +
                     std::to_string(event.owner) + " token " + std::to_string(event.token) +
                     " at " + std::to_string(event.at);
  if (event.reason != 0) text += " reason " + std::to_string(event.reason);
  if (event.other != kAbsent) {
    text +=
        " other w" + std::to_string(event.other) + " token " + std::to_string(event.other_token);
  }
  text += " waited " + std::to_string(event.waited_ms) + " held " + std::to_string(event.held_ms);
  if (event.grace_ms != 0) text += " grace " + std::to_string(event.grace_ms);
  if (!event.is_in_time) text += " before it holds";
  return text;
}

std::string Describe(const Outcome& outcome) {
  std::string text = "status " + std::to_string(outcome.status);
  if (outcome.reason != 0) text += " reason " + std::to_string(outcome.reason);
  if (outcome.token != 0) text += " token " + std::to_string(outcome.token);
  if (outcome.number != 0) text += " number " + std::to_string(outcome.number);
  if (outcome.extra != 0) text += " extra " + std::to_string(outcome.extra);
  for (const Answer& answer : outcome.answers) text += "; " + Describe(answer);
  for (const Loss& loss : outcome.losses) {
    text += "; n" + std::to_string(loss.channel) + " lost token " + std::to_string(loss.token) +
            " of w" + std::to_string(loss.owner) + " on k" + std::to_string(loss.key) + " kind " +
            std::to_string(static_cast<int>(loss.kind));
  }
  return text;
}

}  // namespace fairlock::simulation
