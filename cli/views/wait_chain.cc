#include "cli/views/wait_chain.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "cli/output/duration.h"
#include "cli/views/claim_tables.h"
#include "json/reply_json.h"

namespace fairlock::cli {

namespace {

// Of the holders of one key, and of the MLOCKs in one queue, this many are followed.
constexpr std::size_t kFollowed = 4;

constexpr std::string_view kLimitList = " (`fairlockctl limit list`)";

const PlaceView* PlaceOf(const std::vector<PlaceView>& queue, std::string_view owner) {
  const auto place = std::ranges::find(
      queue, owner, [](const PlaceView& each) -> std::string_view { return each.who.owner; });
  return place == queue.end() ? nullptr : &*place;
}

class ChainSearch {
 public:
  explicit ChainSearch(LockSource& locks) : locks_(locks) {}

  std::vector<ChainLink> Find(const WaitingRequest& request) {
    Explain(request, true);
    return std::move(links_);
  }

 private:
  void Explain(const WaitingRequest& request, bool is_only_request) {
    path_.push_back(request.owner);
    const bool is_only_key = is_only_request && request.keys.size() == 1;
    for (const std::string& key : request.keys) {
      ExplainKey(request,
                 {.depth = path_.size() - 1, .key = key, .is_only_key = is_only_key, .reason = {}});
    }
    path_.pop_back();
  }

  // `link` lacks only what blocks the request on its key.
  void ExplainKey(const WaitingRequest& request, const ChainLink& link) {
    const std::string& key = link.key;
    const LockView lock = locks_.Lock(key);
    if (lock.override_limit == 0) {
      return Add(link, locks_.IsStarting() ? "starting" : "drained");
    }
    if (lock.is_other_value()) return Add(link, "value");
    const std::vector<PlaceView> queue = locks_.Queue(key);
    const std::vector<PlaceView> ahead = PlacesAhead(queue, request.owner);
    if (!ahead.empty()) return AddAhead(link, ahead);
    if (AddHolders(link, request, lock)) return;
    for (const PlaceView& place : queue) {
      if (place.state != "reserved" || place.who.owner == request.owner) continue;
      ChainLink reserved = link;
      reserved.owner = place.who.owner;
      reserved.left_ms = place.keep_ms;
      reserved.is_absent = true;
      Add(std::move(reserved), "reserved");
    }
    if (lock.cooling_ms == 0) return;
    ChainLink cooling = link;
    cooling.left_ms = lock.cooling_ms;
    Add(std::move(cooling), "cooling");
  }

  void AddAhead(const ChainLink& link, const std::vector<PlaceView>& ahead) {
    std::size_t followed = 0;
    for (const PlaceView& place : ahead) {
      const bool is_first = &place == &ahead.front();
      if ((!is_first && place.who.key_count == 1) || followed++ == kFollowed) continue;
      ChainLink next = link;
      next.owner = place.who.owner;
      next.waited_ms = place.waited_ms;
      next.is_absent = place.state == "absent";
      next.left_ms = place.keep_ms;
      next.waits = {RequestAt(place, link.key, locks_)};
      Add(std::move(next), "line");
    }
  }

  // Adds the holders if they exclude the request.
  bool AddHolders(const ChainLink& link, const WaitingRequest& request, const LockView& lock) {
    const auto count = static_cast<std::int64_t>(lock.holders.size());
    if (count == 0) return false;
    const bool are_shared = lock.mode == "shared";
    // An override replaces the limits that were given; without one, a request has the limit 1.
    const auto effective = [&](std::int64_t limit) {
      return limit > 1 ? lock.override_limit.value_or(limit) : limit;
    };
    std::int64_t given = request.limit;
    for (const HolderView& holder : lock.holders) given = std::min(given, holder.who.limit);
    if (request.is_shared != are_shared) {
      AddEach(link, lock, "shared");
    } else if (are_shared || count < effective(given)) {
      return false;
    } else if (count < given) {
      ChainLink overridden = link;
      overridden.limit = *lock.override_limit;
      overridden.is_override = true;
      AddEach(overridden, lock, "limit");
    } else {
      AddEach(link, lock, "held", effective(request.limit));
    }
    return true;
  }

  // The smallest limits come first. Those that admit no more holders are the reason if they are
  // smaller than `own_limit`, that of a request that admits more.
  void AddEach(const ChainLink& link, const LockView& lock, std::string_view reason,
               std::int64_t own_limit = 0) {
    const auto count = static_cast<std::int64_t>(lock.holders.size());
    std::vector<const HolderView*> holders;
    for (const HolderView& holder : lock.holders) holders.push_back(&holder);
    std::ranges::stable_sort(holders, {}, [](const HolderView* each) { return each->who.limit; });
    if (holders.size() > kFollowed) holders.resize(kFollowed);
    for (const HolderView* holder : holders) {
      ChainLink next = link;
      next.owner = holder->who.owner;
      next.holder = *holder;
      const bool is_limit = own_limit > count && holder->who.limit <= count;
      if (is_limit) next.limit = holder->who.limit;
      next.waits = WaitsOf(next.owner);
      Add(std::move(next), is_limit ? "limit" : reason);
    }
  }

  // The requests of the owner that wait, in any queue.
  std::vector<WaitingRequest> WaitsOf(const std::string& owner) {
    std::vector<WaitingRequest> waits;
    if (links_.size() >= kChainLinks) return waits;
    for (const std::string& key : locks_.QueuesOf(owner)) {
      const bool is_known = std::ranges::any_of(waits, [&](const WaitingRequest& each) {
        return std::ranges::find(each.keys, key) != each.keys.end();
      });
      if (is_known || IsHolder(locks_.Lock(key), owner)) continue;
      const std::vector<PlaceView> queue = locks_.Queue(key);
      const PlaceView* place = PlaceOf(queue, owner);
      const bool waits_far_back = place == nullptr && !queue.empty();
      if (waits_far_back || (place != nullptr && place->state == "waiting")) {
        waits.push_back(RequestOf(owner, key, locks_));
      }
    }
    return waits;
  }

  static bool IsHolder(const LockView& lock, const std::string& owner) {
    return std::ranges::any_of(lock.holders,
                               [&](const HolderView& holder) { return holder.who.owner == owner; });
  }

  // Adds the link and what blocks its owner.
  void Add(ChainLink link, std::string_view reason) {
    link.reason = reason;
    const bool has_waits = !link.waits.empty();
    link.is_loop = has_waits && std::ranges::find(path_, link.owner) != path_.end();
    link.is_repeated = has_waits && !link.is_loop && followed_.contains(link.owner);
    const bool is_end = link.is_loop || link.is_repeated;
    link.is_cut = has_waits && !is_end && path_.size() >= kChainDepth;
    if (links_.size() >= kChainLinks) {
      links_.back().is_cut = true;
      return;
    }
    links_.push_back(link);
    if (!has_waits || is_end || link.is_cut) return;
    followed_.insert(link.owner);
    for (const WaitingRequest& request : link.waits) Explain(request, link.waits.size() == 1);
  }

  LockSource& locks_;
  std::vector<ChainLink> links_;
  std::vector<std::string> path_;  // the owners from the root of the search to the present request
  std::set<std::string> followed_;
};

// Names are quoted in a sentence, not in a line of their own.
std::string Name(std::string_view bytes, bool is_quoted, const Screen& screen) {
  return is_quoted ? screen.Quoted(bytes) : screen.Printable(bytes);
}

std::string KeysText(const WaitingRequest& request, bool is_quoted, const Screen& screen) {
  std::string text;
  for (const std::string& key : request.keys) {
    const bool is_last = &key == &request.keys.back();
    text += (text.empty() ? "" : is_last ? " and " : ", ") + Name(key, is_quoted, screen);
  }
  return text + (request.keys.size() > 1 ? " as one" : "");
}

std::string HolderText(const HolderView& holder, const std::string& owner, const std::string& key,
                       bool is_quoted, const Screen& screen) {
  const bool is_of_library = holder.token == 0;
  std::string text = owner;
  text += holder.held_ms > 0 || !is_of_library
              ? " has held " + key + " for " + ShowDuration(holder.held_ms)
              : " holds " + key;
  text += ", " + ShowLeaseLeft(holder);
  if (!is_quoted && !is_of_library) text += ", from " + ShowOrigin(holder.who, screen);
  return text;
}

std::string LimitText(const ChainLink& link) {
  const std::string limit = "LIMIT " + std::to_string(link.limit) + " admits no more";
  return link.is_override ? "; an operator's " + limit + std::string(kLimitList) : "; its " + limit;
}

std::string LeftText(const ChainLink& link) {
  return link.left_ms ? " for another " + ShowDuration(*link.left_ms) : "";
}

std::string BlockText(const ChainLink& link, bool is_quoted, const Screen& screen) {
  const std::string key = link.is_only_key ? "it" : Name(link.key, is_quoted, screen);
  const std::string owner = is_quoted ? screen.Quoted(link.owner)
                                      : screen.Tinted(screen.Printable(link.owner), Tint::kHeading);
  if (link.holder) {
    return HolderText(*link.holder, owner, key, is_quoted, screen) +
           (link.reason == "limit" ? LimitText(link) : "");
  }
  if (link.reason == "line") {
    return owner + " is ahead" + (link.is_only_key ? "" : " for " + key) +
           (link.is_absent ? ", absent: its place is kept" + LeftText(link) : "");
  }
  if (link.reason == "reserved")
    return key + " is reserved for " + owner + ", which is absent," + LeftText(link);
  if (link.reason == "cooling") return key + " is in cooldown" + LeftText(link);
  if (link.reason == "drained") return "an operator has drained " + key + std::string(kLimitList);
  if (link.reason == "starting") {
    return "the server has started, and leases that were granted before may still be running";
  }
  return key + " has a value that is no lock";
}

// What the owner of the link waits for, unless that is only the place that blocks.
std::string WaitsText(const ChainLink& link, bool is_quoted, const Screen& screen) {
  std::string text;
  for (const WaitingRequest& request : link.waits) {
    if (link.reason == "line" && request.keys.size() == 1) continue;
    text +=
        (text.empty() ? " and waits for " : ", and for ") + KeysText(request, is_quoted, screen);
  }
  if (link.is_loop) text += ": this closes a loop";
  if (link.is_repeated) text += " (explained above)";
  return text + (link.is_cut ? " ..." : "");
}

std::string LinkText(const ChainLink& link, bool is_quoted, const Screen& screen) {
  const std::string waits = WaitsText(link, is_quoted, screen);
  const bool needs_comma = link.holder && waits.starts_with(" and");
  return BlockText(link, is_quoted, screen) + (needs_comma ? "," : "") + waits;
}

// The links of the first branch, from the first link to its root.
std::span<const ChainLink> FirstBranch(const std::vector<ChainLink>& chain) {
  std::size_t size = std::min<std::size_t>(chain.size(), 1);
  while (size > 0 && size < chain.size() && chain[size].depth > chain[size - 1].depth) ++size;
  return {chain.data(), size};
}

}  // namespace

WaitChain FindChain(const WaitingRequest& request, LockSource& locks) {
  return {.request = request, .links = ChainSearch(locks).Find(request)};
}

std::vector<PlaceView> PlacesAhead(const std::vector<PlaceView>& queue, std::string_view owner) {
  std::vector<PlaceView> ahead;
  for (std::size_t i = 0; i < queue.size() && (owner.empty() || queue[i].who.owner != owner); ++i) {
    const bool is_skipped = queue[i].state == "absent" && i + 1 < queue.size() &&
                            queue[i + 1].position == queue[i].position;
    if (!is_skipped && queue[i].state != "reserved") ahead.push_back(queue[i]);
  }
  return ahead;
}

WaitingRequest RequestAt(const PlaceView& place, const std::string& key, LockSource& locks) {
  WaitingRequest request{.owner = place.who.owner,
                         .keys = {key},
                         .is_shared = place.who.is_shared(),
                         .limit = place.who.limit};
  if (place.who.key_count == 1) return request;
  for (const std::string& other : locks.QueuesOf(place.who.owner)) {
    const std::vector<PlaceView> queue = locks.Queue(other);
    const PlaceView* same = other == key ? nullptr : PlaceOf(queue, place.who.owner);
    const bool is_same = same != nullptr && same->who.key_count == place.who.key_count &&
                         same->who.address == place.who.address;
    if (is_same) request.keys.push_back(other);
  }
  return request;
}

WaitingRequest RequestOf(const std::string& owner, const std::string& key, LockSource& locks) {
  const std::vector<PlaceView> queue = locks.Queue(key);
  const PlaceView* place = PlaceOf(queue, owner);
  return place == nullptr ? WaitingRequest{.owner = owner, .keys = {key}}
                          : RequestAt(*place, key, locks);
}

WaitingRequest FirstRequest(const std::string& key, LockSource& locks) {
  const std::vector<PlaceView> queue = PlacesAhead(locks.Queue(key), "");
  return queue.empty() ? WaitingRequest{.owner = {}, .keys = {key}}
                       : RequestAt(queue.front(), key, locks);
}

bool LeadsOn(const WaitChain& chain) {
  return std::ranges::any_of(chain.links, [](const ChainLink& link) {
    return link.depth > 0 || !link.is_only_key || link.is_loop || link.reason == "reserved" ||
           link.reason == "limit";
  });
}

bool IsStarting(const WaitChain& chain) {
  return std::ranges::any_of(chain.links,
                             [](const ChainLink& link) { return link.reason == "starting"; });
}

std::string ChainText(const WaitChain& chain, const Screen& screen) {
  const std::vector<ChainLink>& links = chain.links;
  if (links.empty()) return "";
  const std::string keys = KeysText(chain.request, false, screen);
  std::string text = chain.request.owner.empty()
                         ? "A new request for " + keys + " would wait:\n"
                         : screen.Tinted(screen.Printable(chain.request.owner), Tint::kHeading) +
                               " waits for " + keys + ":\n";
  for (std::size_t i = 0; i < links.size(); ++i) {
    const bool has_more = i + 1 < links.size() && links[i + 1].depth > links[i].depth;
    text += std::string(2 * (links[i].depth + 1), ' ') + LinkText(links[i], false, screen) +
            (has_more ? ":\n" : "\n");
  }
  return text;
}

std::string ChainSentence(const WaitChain& chain, const Screen& screen) {
  std::string text;
  for (const ChainLink& link : FirstBranch(chain.links)) {
    text += (text.empty() ? "" : "; ") + LinkText(link, true, screen);
  }
  return text;
}

boost::json::array ChainArray(const WaitChain& chain) {
  boost::json::array array;
  for (const ChainLink& link : chain.links) {
    boost::json::object object = {{"depth", link.depth}, {"reason", link.reason}};
    json::AddText(object, "key", link.key);
    if (!link.owner.empty()) json::AddText(object, "owner", link.owner);
    if (link.holder) object["held_ms"] = link.holder->held_ms;
    if (link.reason == "line") object["waited_ms"] = link.waited_ms;
    if (link.limit > 0) object["limit"] = link.limit;
    const auto left_ms = link.holder ? link.holder->ttl_ms : link.left_ms;
    object["left_ms"] = left_ms ? boost::json::value(*left_ms) : nullptr;
    object["is_loop"] = link.is_loop;
    array.push_back(std::move(object));
  }
  return array;
}

}  // namespace fairlock::cli
