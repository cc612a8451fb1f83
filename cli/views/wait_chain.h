// The owners that block a request, what blocks those owners in turn, and so on up to the root.
#pragma once

#include <boost/json/array.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/base/clock.h"
#include "cli/output/screen.h"
#include "cli/views/lock_views.h"

namespace fairlock::cli {

// One request that waits, or would wait.
struct WaitingRequest {
  std::string owner;              // empty: nobody's
  std::vector<std::string> keys;  // more than one: an MLOCK
  bool is_shared = false;
  std::int64_t limit = 1;
};

// What blocks a request: an owner, or a state of the lock.
struct ChainLink {
  std::size_t depth = 0;  // what blocks the owner of this link follows, one level deeper
  std::string key;
  bool is_only_key = true;  // that the blocked owner waits for
  // A word of EXPLAIN; or "limit", if the limit of the holder, or that of an operator's override,
  // admits no more holders, though the request does; or "value", if the key has a value that is no
  // lock.
  std::string_view reason;
  std::string owner = {};                  // empty: the reason names no owner
  std::optional<HolderView> holder = {};   // if the owner holds the lock
  std::int64_t limit = 0;                  // if the reason is "limit"
  bool is_override = false;                // whether the limit is the operator's
  DurationMs waited_ms = 0;                // if the owner is ahead in the queue
  std::optional<DurationMs> left_ms = {};  // of a reservation, of a place, or of a cooldown
  bool is_absent = false;                  // the owner has a place, but no request
  std::vector<WaitingRequest> waits = {};  // what the owner itself waits for
  bool is_loop = false;                    // the owner is one of those that it blocks
  bool is_repeated = false;                // what it waits for is shown above
  bool is_cut = false;                     // what it waits for is left out: too much
};

// A request and what blocks it; no links: nothing.
struct WaitChain {
  WaitingRequest request;
  std::vector<ChainLink> links;
};

// The locks that a chain is looked up in.
class LockSource {
 public:
  virtual ~LockSource() = default;

  virtual LockView Lock(const std::string& key) = 0;
  // The first places.
  virtual std::vector<PlaceView> Queue(const std::string& key) = 0;
  // The keys with a queue that the owner holds or waits for.
  virtual std::vector<std::string> QueuesOf(const std::string& owner) = 0;
  // Whether an override of 0 on the key is the server's own, while leases that were granted before
  // it started may still be running.
  virtual bool IsStarting() = 0;
};

// The rule: a request waits on a key
// - while the key is drained, or the server does not grant anything yet;
// - else for the first place ahead of it that has no slot, and for every MLOCK ahead of it, which
//   may wait on another key;
// - else for the holders, if they and it exclude each other by SHARED or LIMIT;
// - else for an absent owner that a slot is reserved for, and for a cooldown.
// An MLOCK waits on each of its keys. An owner that blocks a request is itself blocked by what its
// own waiting requests wait for. The chain has at most kChainLinks links, and kChainDepth levels.
WaitChain FindChain(const WaitingRequest& request, LockSource& locks);

// The places that delay a request of `owner`, or one that arrives now, in order. A place whose
// connection closed has the number of the next one, because it delays nobody; and one with a
// reserved slot needs no other.
std::vector<PlaceView> PlacesAhead(const std::vector<PlaceView>& queue, std::string_view owner);

// The request of the owner that has a place in the queue of that key.
WaitingRequest RequestAt(const PlaceView& place, const std::string& key, LockSource& locks);

// As above, if the owner has a place among the first; otherwise a request that arrives now.
WaitingRequest RequestOf(const std::string& owner, const std::string& key, LockSource& locks);

// What explains why the key is not free: the first request in its queue, or one that arrives now.
WaitingRequest FirstRequest(const std::string& key, LockSource& locks);

inline constexpr std::size_t kChainLinks = 24;
inline constexpr std::size_t kChainDepth = 8;

// Whether the chain says more than the holders, and the state, of the key itself.
bool LeadsOn(const WaitChain& chain);

// Whether the server grants nothing yet.
bool IsStarting(const WaitChain& chain);

// A heading and one line for each link, indented by its depth; empty if there are no links.
std::string ChainText(const WaitChain& chain, const Screen& screen);

// "'b' is ahead; 'a' has held it for 3s, lease left 27s": the first link and what blocks its owner.
std::string ChainSentence(const WaitChain& chain, const Screen& screen);

boost::json::array ChainArray(const WaitChain& chain);

}  // namespace fairlock::cli
