#include "tests/fuzz/play.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <utility>

#include "protocol/inline_words.h"
#include "protocol/reply_scanner.h"
#include "protocol/request_writer.h"

namespace fairlock::fuzz {

namespace {

constexpr std::size_t kStepsMax = 1000;
constexpr std::size_t kDeafBytesMax = 2000;
// Slightly more than the longest lease, which is a year.
constexpr std::int64_t kPassedMsMax = 400LL * 24 * 3600 * 1000;

constexpr std::array<std::string_view, 4> kUsers = {
    "user default on nopass ~* +@all\nuser web on >pw ~* +@all\n",
    "user default on nopass ~* &* owner:a owner:b +@all -@unowned\nuser web on >pw ~* +@all\n",
    "user web on >pw ~k1 %R~k2 &c1 owner:a +@lock +@connection +eval +set|nx +subscribe\n",
    "user default on nopass %R~* +@read +@connection +@pubsub +@transaction\nuser web off >pw\n",
};

// The limits are so small that a few steps reach every one of them.
engine::EngineOptions EngineOptionsOf(unsigned choice) {
  engine::EngineOptions options;
  if ((choice & 1U) != 0) options.locks_max = 3;
  if ((choice & 2U) != 0) options.places_max = 3;
  if ((choice & 4U) != 0) options.ends_native_leases = true;
  if ((choice & 8U) != 0) options.keep_rules.Set({{.pattern = "k*", .keep_ms = 1000}});
  if ((choice & 16U) != 0) options.deadlock_search = 2;
  options.limit_overrides_max = 3;
  options.default_lease_ms = 1000;
  return options;
}

bool IsWholeReplies(std::string_view bytes) {
  while (!bytes.empty()) {
    const protocol::SkippedReply reply = protocol::SkipReply(bytes);
    if (reply.status != protocol::ReplyStatus::kReply) return false;
    bytes.remove_prefix(reply.consumed);
  }
  return true;
}

// Encodes the words with their lengths, or returns the line itself if it has no words.
std::string RequestOf(std::string_view line) {
  std::string request;
  protocol::Arguments words;
  if (protocol::SplitInlineWords(line, protocol::kDefaultLimits, words) !=
          protocol::SplitStatus::kSplit ||
      words.empty()) {
    return request.append(line).append("\r\n");
  }
  protocol::AppendRequest(request, words.views());
  return request;
}

}  // namespace

std::string_view TakeLine(std::string_view& rest) {
  const std::string_view line = rest.substr(0, rest.find('\n'));
  rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  return line;
}

std::int64_t NumberAt(std::string_view text, std::int64_t max) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return std::clamp<std::int64_t>(number, 0, max);
}

Play::Play(unsigned choice, std::size_t piece_bytes)
    : server_(EngineOptionsOf(choice),
              {.history_bytes = record::History::kBytesMin, .labels_max = 3}),
      piece_bytes_(piece_bytes) {
  server_.parts().transactions.set_limits(
      {.requests_max = 8, .bytes_max = 500, .watched_keys_max = 3});
  server_.parts().scripts.interpreter().set_limits({.steps_max = 20'000,
                                                    .memory_bytes_max = 1U << 20U,
                                                    .reply_bytes_max = 10'000,
                                                    .cached_scripts_max = 3});
  SetUsers(choice / 32 % kUsers.size());
  for (Peer& peer : peers_) peer.client = &server_.Connect();
}

void Play::SetUsers(std::size_t choice) { server_.SetUsers(kUsers[choice % kUsers.size()]); }

void Play::Step(std::string_view line) {
  for (std::string& heard : heard_) heard.clear();
  if (line.empty()) return;
  const char what = line.front();
  line.remove_prefix(1);
  const auto peer = static_cast<std::size_t>(what - '0');
  if (peer < kConnections) {
    StepOf(peers_[peer], line);
  } else if (what == '>') {
    server_.AdvanceBy(NumberAt(line, kPassedMsMax));
  } else if (what == '}') {
    server_.SkipTo(server_.now() + NumberAt(line, kPassedMsMax));
    return;
  } else if (what == '!') {
    server_.parts().availability.set_service(static_cast<command::Service>(NumberAt(line, 3)));
  } else if (what == '#') {
    SetUsers(static_cast<std::size_t>(NumberAt(line, 100)));
  } else if (what == 'p') {
    server_.CheckPasswords();
  }
  Settle();
}

void Play::StepOf(Peer& peer, std::string_view line) {
  if (peer.client->is_closed()) peer = {.client = &server_.Connect()};
  if (line.empty()) return;
  const char what = line.front();
  line.remove_prefix(1);
  if (what == ' ') {
    Send(peer, std::string(line).append("\r\n"));
  } else if (what == '*') {
    Send(peer, RequestOf(line));
  } else if (what == '+') {
    peer.kept_back += RequestOf(line);
  } else if (what == '=') {
    peer.has_sent_parts = true;
    Send(peer, line);
  } else if (what == 'x') {
    peer.client->Close();
    peer = {.client = &server_.Connect()};
  } else if (what == 'd') {
    peer.is_deaf = !peer.is_deaf;
    peer.client->LimitOutput(peer.is_deaf ? kDeafBytesMax : std::string().max_size());
  }
}

void Play::Send(Peer& peer, std::string_view bytes) {
  std::string all = std::exchange(peer.kept_back, {});
  all += bytes;
  const std::size_t piece = piece_bytes_ == 0 ? all.size() : piece_bytes_;
  for (std::size_t at = 0; at < all.size(); at += piece) {
    peer.client->Receive(std::string_view(all).substr(at, piece));
  }
}

void Play::Settle() {
  server_.ExecuteReady();
  while (server_.parts().Advance(server_.now(), kStepsMax)) {
  }
  server_.ExecuteReady();
  for (std::size_t i = 0; i < kConnections; ++i) {
    const Peer& peer = peers_[i];
    if (!peer.is_deaf && !peer.client->is_closed()) heard_[i] = peer.client->HearBytes();
    assert(IsWholeReplies(heard_[i]));
  }
  server_.parts().locks.engine().CheckInvariants();
}

bool Play::IsReady(const Peer& peer) {
  return !peer.client->is_closed() && !peer.client->client().wait.is_waiting() &&
         !peer.has_sent_parts;
}

void Play::End() {
  server_.parts().availability.set_service(command::Service::kWorking);
  for (std::size_t i = 0; i < kConnections; ++i) {
    Peer& peer = peers_[i];
    peer.is_deaf = false;
    Settle();
    if (!IsReady(peer)) continue;
    Send(peer, "PING\r\n");
    Settle();
    assert(!heard_[i].empty() || !IsReady(peer));
  }
  const std::string left = server_.EndEverything();
  assert(left.empty());
}

}  // namespace fairlock::fuzz
