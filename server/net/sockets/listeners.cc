#include "server/net/sockets/listeners.h"

#include <algorithm>
#include <utility>

namespace fairlock::net {

void Listeners::Start(std::vector<ListeningSocket> sockets, ConnectionSink& sink) {
  for (ListeningSocket& socket : sockets) {
    auto acceptor = std::make_unique<Acceptor>(io_, std::move(socket), options_);
    acceptor->Start();
    listeners_.push_back({std::move(acceptor), &sink});
  }
}

void Listeners::ReplaceSink(const ConnectionSink& from, ConnectionSink& to) {
  for (Listener& listener : listeners_) {
    if (listener.sink == &from) listener.sink = &to;
  }
}

void Listeners::Accept(std::size_t accepts_max, engine::TimeMs now) {
  AssertInLoop();
  for (const Listener& listener : listeners_) {
    listener.acceptor->Accept(std::min(accepts_max, listener.sink->Capacity()), now,
                              *listener.sink);
  }
}

engine::TimeMs Listeners::next_accept_at() const {
  engine::TimeMs next = engine::kNever;
  for (const Listener& listener : listeners_) {
    // A sink without capacity wakes the loop when it has capacity again.
    if (listener.sink->Capacity() == 0) continue;
    next = std::min(next, listener.acceptor->next_accept_at());
  }
  return next;
}

void Listeners::Close() {
  for (const Listener& listener : listeners_) listener.acceptor->Close();
}

bool Listeners::is_disposable() const {
  return std::ranges::all_of(
      listeners_, [](const Listener& listener) { return listener.acceptor->is_disposable(); });
}

}  // namespace fairlock::net
