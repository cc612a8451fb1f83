// The connections that have sent a part of a request, and not yet the rest.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstdint>

namespace fairlock::net {

// The part of a connection by which it stands among them, and leaves them when it is destroyed.
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
  // `all` are in the order of their beginnings. REQUIRES: now_ms is not before the newest of them.
  template <typename List>
  void BeginPartial(List& all, std::int64_t now_ms) {
    EndPartial();
    begun_at_ms_ = now_ms;
    all.push_back(*this);
  }
  // As if it had not ended. REQUIRES: others that began before it are overdue as it is.
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
