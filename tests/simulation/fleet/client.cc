#include "tests/simulation/fleet/client.h"

#include <charconv>
#include <iterator>
#include <utility>

#include "server/command/cluster/slots.h"

namespace fairlock::fleet {

namespace {

constexpr TimeUs kPatience = 2 * kSecond;
constexpr TimeUs kKeepalive = 500 * kMs;
constexpr int kRedirectsMax = 5;

int PartitionOfKey(int key, int partitions) {
  const std::uint16_t slot = command::SlotOf("k" + std::to_string(key));
  return static_cast<int>(command::PartitionOf(slot, static_cast<std::uint32_t>(partitions)));
}

}  // namespace

Client::Client(const ClientOptions& options, ClientWorld& world, std::uint64_t seed)
    : options_(options), world_(world), random_(seed) {
  for (int i = 0; i < options.partitions; ++i) nodes_.push_back(Any(options.nodes));
}

void Client::Rest(TimeUs at_most) {
  Time().After(random_.Between(kMs, at_most), [this, turn = ++turn_] {
    if (turn == turn_) Act();
  });
}

void Client::Act() {
  if (Percent(8)) {
    // Another node may accept the request too, or the answer may name the wrong node.
    if (link_) world_.network.CloseAtClient(std::exchange(link_, nullptr));
    node() = Any(options_.nodes);
  }
  if (options_.partitions == 1) {
    if (Connect()) Ask(Choose());
    return;
  }
  auto request = redirected_ ? std::move(redirected_) : Choose();
  GoTo(PartitionOfKey(request->key, options_.partitions));
  request->partition = partition_;
  if (Connect()) Ask(std::move(request));
}

// Keeping connections to other nodes would only cost time.
void Client::GoTo(int partition) {
  partition_ = partition;
  if (!link_ || linked_node_ == node()) return;
  world_.network.CloseAtClient(std::exchange(link_, nullptr));
}

bool Client::Connect() {
  if (link_) return true;
  link_ = world_.connect(node());
  linked_node_ = node();
  if (!link_) {
    TryNextNode();
    Rest(200 * kMs);
    return false;
  }
  link_->on_reply = [this](const Reply& reply) { TakeReply(reply); };
  link_->on_close = [this] { LoseLink(false, "its connection was closed"); };
  return true;
}

std::shared_ptr<Request> Client::Choose() {
  auto request = std::make_shared<Request>();
  request->owner = request->about = options_.owner;
  request->lease = options_.lease;
  request->key = Any(options_.keys);
  if (to_ask_again_) {
    request->command = Command::kLock;
    request->key = to_ask_again_->key;
    request->waits = to_ask_again_->waits;
    request->notifies = to_ask_again_->notifies;
    return request;
  }
  if (holds_.empty() || Percent(15)) {
    if (Percent(65)) {
      ChooseLock(*request);
    } else {
      ChooseRead(*request);
    }
    return request;
  }
  auto held = holds_.begin();
  std::advance(held, Any(static_cast<int>(holds_.size())));
  request->key = held->first;
  if (Percent(40)) {
    request->command = Command::kUnlock;
  } else if (Percent(50)) {
    request->command = Command::kRenew;
    request->token = held->second;
  } else {
    ChooseRead(*request);
  }
  return request;
}

void Client::ChooseLock(Request& request) {
  request.command = Command::kLock;
  request.waits = holds_.empty() && Percent(70);
  request.notifies = !request.waits && options_.notifies && Percent(50);
  if (!Percent(5)) return;
  request.command = Command::kUnlock;
  request.waits = request.notifies = false;
}

void Client::ChooseRead(Request& request) {
  if (Percent(70)) request.about = Any(options_.owners);
  switch (Any(4)) {
    case 0:
      request.command = Command::kLocked;
      break;
    case 1:
      request.command = Command::kIsLockedBy;
      break;
    case 2:
      request.token = world_.ledger.TokenOf(request.key, request.about);
      request.command = request.token == 0 ? Command::kLocked : Command::kCheck;
      break;
    default:
      request.command = Command::kPosition;
      break;
  }
}

void Client::Ask(std::shared_ptr<Request> request) {
  request->number = world_.next_number();
  request->sent = Time().now();
  asked_ = std::move(request);
  world_.ledger.Send(asked_);
  world_.tell(*asked_, "asks n" + std::to_string(node()));
  world_.network.SendRequest(link_, asked_);
  ++turn_;
  Watch();
}

void Client::Watch() {
  const bool waits = asked_->command == Command::kLock && asked_->waits;
  Time().After(waits ? kKeepalive : kPatience, [this, waits, turn = turn_] {
    if (turn != turn_) return;
    if (waits && !world_.is_silent(*link_)) return Watch();
    LoseLink(true, "no answer");
  });
}

void Client::LoseLink(bool by_itself, const std::string& why) {
  if (by_itself) world_.network.CloseAtClient(link_);
  link_ = nullptr;
  TryNextNode();
  if (!asked_) return;
  world_.tell(*asked_, why);
  const auto request = std::exchange(asked_, nullptr);
  world_.ledger.GiveUp(request, by_itself);
  if (request->command == Command::kLock) to_ask_again_ = request;
  Rest(100 * kMs);
}

void Client::TakeReply(const Reply& reply) {
  const auto request = std::exchange(asked_, nullptr);
  world_.tell(*request, "<- " + TextOf(reply));
  world_.ledger.Take(*request, reply);
  if (IsRedirected(*request, reply)) return Rest(5 * kMs);
  if (reply.kind != Reply::Kind::kError) {
    Follow(*request, reply);
    return Rest(options_.think);
  }
  const bool is_down = reply.text.starts_with("CLUSTERDOWN") || reply.text.starts_with("LOADING") ||
                       reply.text.starts_with("MOVED");
  if (is_down) {
    world_.network.CloseAtClient(std::exchange(link_, nullptr));
    TryNextNode();
  } else {
    to_ask_again_ = nullptr;
  }
  Rest(150 * kMs);
}

// Follows "MOVED slot node:port" as clients of Redis Cluster do, but gives up after some redirects
// in a row.
bool Client::IsRedirected(const Request& request, const Reply& reply) {
  const bool is_moved = reply.kind == Reply::Kind::kError && reply.text.starts_with("MOVED");
  if (!is_moved || ++redirects_ > kRedirectsMax) {
    redirects_ = 0;
    return false;
  }
  const std::size_t name = reply.text.find(" n");
  std::from_chars(reply.text.data() + name + 2, reply.text.data() + reply.text.size(), node());
  redirected_ = std::make_shared<Request>(request);
  redirected_->fate = Request::Fate::kUnderWay;
  redirected_->decided_at = 0;
  redirected_->by = {};
  return true;
}

void Client::Follow(const Request& request, const Reply& reply) {
  if (request.command == Command::kLock) {
    to_ask_again_ = nullptr;
    if (reply.kind == Reply::Kind::kNumber) {
      holds_[request.key] = static_cast<Token>(reply.number);
    }
  }
  const bool is_gone = request.command == Command::kUnlock ||
                       (request.command == Command::kRenew && reply.number == 0);
  if (is_gone) holds_.erase(request.key);
}

}  // namespace fairlock::fleet
