#include "tests/scenarios/player.h"

#include <algorithm>
#include <cassert>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/request_writer.h"
#include "tests/scenarios/notation.h"
#include "tests/scenarios/pattern.h"

namespace fairlock::scenarios {

namespace {

class Player {
 public:
  Player(const Case& scenario_case, Stage& stage, const PlayOptions& options)
      : case_(scenario_case), stage_(stage), options_(options) {}

  std::optional<std::string> Play();

 private:
  // Each returns what is wrong, or an empty string if nothing is.
  std::string PlayStep(const Step& step);
  std::string NeedOpen(const std::string& who);
  std::string SendRequest(const Step& step);
  void SendGathered();
  std::string ExpectReply(const Step& step);
  std::string ExpectNoReply(const Step& step);
  std::string ExpectClosed(const Step& step);
  // Finds replies that no step expects.
  std::string FindUnexpected();

  const Case& case_;
  Stage& stage_;
  const PlayOptions& options_;
  Bindings bindings_;
  std::set<std::string> open_;
  std::set<std::string> choosers_;  // connections that chose their protocol version themselves
  std::string sender_;              // its requests are collected, to be sent together
  std::string gathered_;
};

std::optional<std::string> Player::Play() {
  std::string wrong = stage_.Begin();
  int line = case_.line;
  for (const Step& step : case_.steps) {
    if (!wrong.empty()) break;
    line = step.line;
    wrong = PlayStep(step);
  }
  if (wrong.empty()) wrong = FindUnexpected();
  // Also called after a failure, because the next case needs the stage.
  std::string remains = stage_.End();
  if (wrong.empty()) wrong = std::move(remains);
  if (wrong.empty()) return std::nullopt;
  return options_.path + ":" + std::to_string(line) + ": " + wrong;
}

std::string Player::PlayStep(const Step& step) {
  if (step.kind != StepKind::kRequest || step.who != sender_) {
    SendGathered();
  }
  switch (step.kind) {
    case StepKind::kReply:
      return ExpectReply(step);
    case StepKind::kNoReply:
      return ExpectNoReply(step);
    case StepKind::kClosed:
      return ExpectClosed(step);
    case StepKind::kRequest:
      return SendRequest(step);
    default:
      break;
  }
  if (std::string unexpected = FindUnexpected(); !unexpected.empty()) return unexpected;
  if (step.kind == StepKind::kAdvance) {
    stage_.Advance(step.duration_ms);
    return {};
  }
  if (step.kind == StepKind::kBytes) {
    if (std::string wrong = NeedOpen(step.who); !wrong.empty()) return wrong;
    stage_.Send(step.who, step.words.front().text);
    return {};
  }
  assert(step.kind == StepKind::kDisconnect);
  if (open_.erase(step.who) == 0) return step.who + " is not connected";
  stage_.Close(step.who);
  return {};
}

std::string Player::NeedOpen(const std::string& who) {
  if (!open_.insert(who).second) return {};
  if (std::string wrong = stage_.Open(who); !wrong.empty()) return wrong;
  if (options_.resp_version == 2) return {};
  std::string hello;
  protocol::AppendRequest(hello, {"HELLO", "3"});
  stage_.Send(who, hello);
  const auto reply = stage_.Take(who, Patience::kFull);
  if (!reply) return "HELLO 3 got no reply";
  return reply->type == protocol::ReplyType::kMap ? "" : "HELLO 3 got " + ShowReply(*reply);
}

std::string Player::SendRequest(const Step& step) {
  if (step.who != sender_) {
    if (std::string unexpected = FindUnexpected(); !unexpected.empty()) return unexpected;
    if (std::string wrong = NeedOpen(step.who); !wrong.empty()) return wrong;
    sender_ = step.who;
  }
  std::vector<std::string_view> words;
  for (const Word& word : step.words) {
    const std::string* bound = word.is_name ? bindings_.Find(word.text) : &word.text;
    if (bound == nullptr) return "nothing is called " + word.text;
    words.push_back(*bound);
  }
  if (words[0] == "HELLO" || words[0] == "RESET") choosers_.insert(step.who);
  protocol::AppendRequest(gathered_, words);
  return {};
}

void Player::SendGathered() {
  if (!sender_.empty()) stage_.Send(sender_, std::exchange(gathered_, ""));
  sender_.clear();
}

std::string Player::ExpectReply(const Step& step) {
  if (open_.count(step.who) == 0) return step.who + " is not connected";
  const auto reply = stage_.Take(step.who, Patience::kFull);
  if (!reply) return "expected " + ShowPattern(step.reply) + ", got no reply";
  const MatchOptions match{
      .slack_ms = stage_.slack_ms(),
      .resp_version = choosers_.count(step.who) != 0 ? 0 : options_.resp_version};
  return FindMismatch(step.reply, *reply, match, bindings_).value_or("");
}

std::string Player::ExpectNoReply(const Step& step) {
  if (open_.count(step.who) == 0) return step.who + " is not connected";
  const auto reply = stage_.Take(step.who, Patience::kNone);
  if (reply) return "expected that it waits, got " + ShowReply(*reply);
  if (!stage_.IsClosed(step.who, Patience::kNone)) return {};
  return "expected that it waits, but the server closed the connection";
}

std::string Player::ExpectClosed(const Step& step) {
  if (open_.count(step.who) == 0) return step.who + " is not connected";
  const auto reply = stage_.Take(step.who, Patience::kNone);
  if (reply) return "expected that the server closes the connection, got " + ShowReply(*reply);
  if (!stage_.IsClosed(step.who, Patience::kFull)) return "the server did not close the connection";
  open_.erase(step.who);
  stage_.Close(step.who);
  return {};
}

std::string Player::FindUnexpected() {
  for (const std::string& who : open_) {
    if (const auto reply = stage_.Take(who, Patience::kNone)) {
      return "before this, " + who + " got " + ShowReply(*reply) + ", which nothing expects";
    }
    if (stage_.IsClosed(who, Patience::kNone)) {
      return "before this, the server closed the connection of " + who;
    }
  }
  return {};
}

}  // namespace

std::optional<std::string> Play(const Case& scenario_case, Stage& stage,
                                const PlayOptions& options) {
  return Player(scenario_case, stage, options).Play();
}

}  // namespace fairlock::scenarios
