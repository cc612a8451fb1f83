// The list of connections that have sent only part of a request.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstdint>

namespace fairlock::net {

// The base class that links a connection into the list. Leaves the list when it is destroyed.
class PartialRequest : public boost::intrusive::list_base_hook<
                           boost::intrusive::tag<struct PartialRequestTag>,
                           boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  std::int64_t begun_at_ms() const { return begun_at_ms_; }

 protected:
  ~PartialRequest() = default;

  bool is_partial() const { return is_linked(); }
  void EndPartial() {
    if (is_linked()) unlink();
  }
  // `all` is in the order in which the requests began. REQUIRES: now_ms is not before the beginning
  // of the newest.
  template <typename List>
  void BeginPartial(List& all, std::int64_t now_ms) {
    EndPartial();
    begun_at_ms_ = now_ms;
    all.push_back(*this);
  }
  // Undoes EndPartial. REQUIRES: all requests that began earlier are overdue too.
  template <typename List>
  void ResumePartial(List& all) {
    all.push_front(*this);
  }

 private:
  std::int64_t begun_at_ms_ = 0;
};

using PartialRequests =
    boost::intrusive::list<PartialRequest, boost::intrusive::base_hook<PartialRequest>,
                           boost::intrusive::constant_time_size<false>>;

}  // namespace fairlock::net
