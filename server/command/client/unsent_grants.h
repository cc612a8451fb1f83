// Grants whose replies are not sent yet. They are undone if the connection closes first.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <vector>

#include "server/engine/api/types.h"

namespace fairlock::command {

// A grant that a message announces.
struct DeliveredGrant {
  std::uint64_t key_hash = 0;
  engine::Token token = 0;  // 0: the message announces no grant
};

// A grant, announced by the reply that ends at offset `reply_end` in the stream of all bytes ever
// written to the connection.
struct UnsentGrant {
  std::uint64_t reply_end;
  std::uint64_t key_hash;
  engine::Token token;
  bool is_awaited = false;  // the grant ended a wait, or a message announces it
  // announced by other messages too; undone only if none of them is delivered
  bool is_shared = false;
};

class GrantsInFlight;

using UnsentGrantsHook =
    boost::intrusive::list_base_hook<boost::intrusive::tag<struct UnsentGrantsTag>,
                                     boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

// The unsent grants of one connection. A grant is confirmed once its whole reply has been handed to
// the kernel. Loop-confined.
class UnsentGrants : public UnsentGrantsHook {
 public:
  explicit UnsentGrants(GrantsInFlight& in_flight) : in_flight_(in_flight) {}

  // Ordered by `reply_end`, oldest first.
  const std::vector<UnsentGrant>& all() const { return grants_; }

  // Called when the reply that ends at offset `reply_end` announces a grant.
  void Add(std::uint64_t reply_end, std::uint64_t key_hash, engine::Token token);
  // Like Add, but for a grant that the client waited for.
  void AddAwaited(std::uint64_t reply_end, std::uint64_t key_hash, engine::Token token);
  // Called when a message that ends at offset `message_end` announces a grant.
  void AddDelivery(std::uint64_t message_end, const DeliveredGrant& grant, bool is_shared);
  // Like AddDelivery, but for a message that was not written because the connection is about to
  // close.
  void AddLostDelivery(const DeliveredGrant& grant, bool is_shared);

  bool Has(engine::Token token) const;
  bool HasAwaited() const;
  // Removes the grant with that token. Returns false if there is none.
  bool Forget(engine::Token token);
  void ForgetAll();
  // Called when all output up to offset `sent_up_to` has been handed to the kernel.
  void Confirm(std::uint64_t sent_up_to);

 private:
  void Add(const UnsentGrant& grant);

  GrantsInFlight& in_flight_;
  std::vector<UnsentGrant> grants_;
};

// The connections that have unsent grants. Loop-confined.
class GrantsInFlight {
 public:
  void Add(UnsentGrants& grants) { list_.push_back(grants); }
  // Whether a connection other than the owner of `grants` has an unsent grant with that token.
  bool IsElsewhere(engine::Token token, const UnsentGrants& grants) const;
  // Removes the unsent grants with that token from all other connections. Returns false if none had
  // one.
  bool ForgetElsewhere(engine::Token token, const UnsentGrants& grants);

 private:
  boost::intrusive::list<UnsentGrants, boost::intrusive::base_hook<UnsentGrantsHook>,
                         boost::intrusive::constant_time_size<false>>
      list_;
};

}  // namespace fairlock::command
