#include "server/net/tls/tls_handshakes.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <utility>

#include "server/net/sockets/descriptor.h"
#include "server/net/sockets/socket_options.h"

namespace fairlock::net {

namespace {

constexpr char kTlsHandshakeRecord = 0x16;
constexpr int kPriorityBelowLoop = 5;
constexpr std::string_view kNoTls = "it does not speak TLS";

}  // namespace

struct TlsHandshakes::Outcome {
  OwnedDescriptor socket;
  std::unique_ptr<TlsSocket> tls;  // null if the handshake failed
  command::ClientAddress address;
  std::string failure;
};

// One handshake, on the thread. Its pending operations keep it alive.
class TlsHandshakes::Handshake final : public std::enable_shared_from_this<Handshake> {
 public:
  Handshake(TlsHandshakes& owner, OwnedDescriptor socket, command::ClientAddress address)
      : loop_(owner.loop_),
        owner_(owner.self_),
        thread_side_(owner),
        options_(owner.options_),
        socket_(std::move(socket)),
        readiness_(owner.io_, socket_.number()),
        deadline_(owner.io_, options_.handshake_max),
        address_(std::move(address)) {}
  Handshake(const Handshake&) = delete;
  Handshake& operator=(const Handshake&) = delete;
  ~Handshake() {
    if (readiness_.is_open()) readiness_.release();
  }

  void Start(const TlsContext& context) {
    ++thread_side_.in_progress_;
    place_ = thread_side_.lists_.silent.insert(thread_side_.lists_.silent.end(), this);
    SslHandle ssl = context.NewConnection();
    if (ssl == nullptr) return End("not enough memory");
    tls_ = std::make_unique<TlsSocket>(std::move(ssl), socket_.number());
    deadline_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (!error) self->End("it took too long");
    });
    Await(Descriptor::wait_read);
    thread_side_.EndOneAtLimit();
  }

  // When it was put into the list in which it is.
  std::chrono::steady_clock::time_point listed_at() const { return listed_at_; }

  // Whether the peer has sent something or closed, even if no handler has processed that yet.
  bool IsActive() const {
    char first = 0;
    return ::recv(socket_.number(), &first, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || errno != EAGAIN;
  }

  // Moves it to the end of those that have begun.
  void MarkAsBegun() {
    List& from = list();
    is_silent_ = false;
    listed_at_ = std::chrono::steady_clock::now();
    thread_side_.lists_.begun.splice(thread_side_.lists_.begun.end(), from, place_);
  }

  // Takes the failure by value: it may be a part of tls_, which is destroyed here.
  void End(std::string failure) {
    if (std::exchange(is_over_, true)) return;
    list().erase(place_);
    --thread_side_.in_progress_;
    deadline_.cancel();
    readiness_.release();
    if (!failure.empty()) {
      tls_.reset();
      EndInGoodOrder(socket_.number());
    }
    Outcome outcome{.socket = std::move(socket_),
                    .tls = std::move(tls_),
                    .address = std::move(address_),
                    .failure = std::move(failure)};
    boost::asio::post(loop_, [owner = owner_, outcome = std::move(outcome)]() mutable {
      if (const auto alive = owner.lock()) {
        (*alive)->OnOutcome(std::move(outcome));
      }
    });
  }

 private:
  void Await(Descriptor::wait_type what) {
    readiness_.async_wait(what,
                          [self = shared_from_this()](const boost::system::error_code& error) {
                            if (!error && !self->is_over_) self->Continue();
                          });
  }

  List& list() { return is_silent_ ? thread_side_.lists_.silent : thread_side_.lists_.begun; }

  void Continue() {
    if (is_silent_) MarkAsBegun();
    if (!std::exchange(is_known_as_tls_, true) && !BeginsAsTls()) {
      SendLastWords(socket_.number(), options_.plain_answer);
      return End(std::string(kNoTls));
    }
    switch (tls_->Shake()) {
      case TlsSocket::Step::kDone:
        return End("");
      case TlsSocket::Step::kNeedsToRead:
        return Await(Descriptor::wait_read);
      case TlsSocket::Step::kNeedsToWrite:
        return Await(Descriptor::wait_write);
      case TlsSocket::Step::kFailed:
        return End(tls_->failure());
    }
  }

  // Also true if the first byte cannot be read; the handshake then fails.
  bool BeginsAsTls() const {
    char first = 0;
    return ::recv(socket_.number(), &first, 1, MSG_PEEK) != 1 || first == kTlsHandshakeRecord;
  }

  boost::asio::io_context& loop_;
  const std::weak_ptr<TlsHandshakes*> owner_;
  TlsHandshakes& thread_side_;  // outlives the thread
  const TlsHandshakeOptions options_;
  OwnedDescriptor socket_;
  Descriptor readiness_;
  boost::asio::steady_timer deadline_;
  std::unique_ptr<TlsSocket> tls_;
  command::ClientAddress address_;
  std::chrono::steady_clock::time_point listed_at_ = std::chrono::steady_clock::now();
  List::iterator place_;  // in one of the lists
  bool is_silent_ = true;
  bool is_known_as_tls_ = false;
  bool is_over_ = false;
};

TlsHandshakes::TlsHandshakes(boost::asio::io_context& io, Turn& turn, TlsConnectionSink& sink,
                             const TlsHandshakeOptions& options)
    : loop_(io),
      turn_(turn),
      sink_(sink),
      options_(options),
      self_(std::make_shared<TlsHandshakes*>(this)),
      io_(1),
      limit_timer_(io_),
      work_(boost::asio::make_work_guard(io_)),
      thread_([this] {
        // On Linux, these apply to this thread only. Failures are ignored. A thread with
        // SCHED_BATCH does not preempt other threads when it wakes up.
        const sched_param parameters{};
        ::sched_setscheduler(0, SCHED_BATCH, &parameters);
        ::setpriority(PRIO_PROCESS, 0, kPriorityBelowLoop);
        io_.run();
      }) {}

TlsHandshakes::~TlsHandshakes() {
  io_.stop();
  thread_.join();
}

void TlsHandshakes::TakeConnection(int descriptor, command::ClientAddress address) {
  AssertInLoop();
  if (sink_.CountsByAddress()) {
    if (turn_.addresses.IsFull(address.peer)) return Refuse(descriptor, address);
    turn_.addresses.Add(address.peer);
  }
  ++handshakes_;
  boost::asio::post(io_, [this, socket = OwnedDescriptor(descriptor), context = context_,
                          address = std::move(address)]() mutable {
    std::make_shared<Handshake>(*this, std::move(socket), std::move(address))->Start(*context);
  });
}

void TlsHandshakes::EndOneAtLimit() {
  if (in_progress_ < options_.handshakes_max) return;
  auto until = std::chrono::steady_clock::time_point::max();
  if (EndFirst(lists_.silent, options_.silence_max, until)) return;
  if (EndFirst(lists_.begun, options_.begun_max, until)) return;
  limit_timer_.expires_at(until);
  limit_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) EndOneAtLimit();
  });
}

bool TlsHandshakes::EndFirst(List& handshakes, std::chrono::milliseconds time_max,
                             std::chrono::steady_clock::time_point& until) {
  while (!handshakes.empty()) {
    Handshake& first = *handshakes.front();
    const auto first_until = first.listed_at() + time_max;
    if (first_until > std::chrono::steady_clock::now()) {
      until = std::min(until, first_until);
      return false;
    }
    if (!first.IsActive()) {
      first.End("it sent nothing, and its slot was needed for others");
      return true;
    }
    first.MarkAsBegun();
  }
  return false;
}

// Closes without an error, because none can be sent before the handshake.
void TlsHandshakes::Refuse(int descriptor, const command::ClientAddress& address) {
  ::close(descriptor);
  ++turn_.server.statistics.counters.connections_rejected;
  ++turn_.server.statistics.counters.rejected_by_address;
  const Refusal refusal{.is_by_address = true, .connections_max = turn_.addresses.count_max()};
  turn_.events.LogRefused(address.peer, refusal, turn_.now);
}

void TlsHandshakes::OnOutcome(Outcome outcome) {
  --handshakes_;
  if (sink_.CountsByAddress()) turn_.addresses.Remove(outcome.address.peer);
  if (outcome.tls == nullptr) {
    return turn_.events.LogHandshakeFailed(outcome.address.peer, outcome.failure, turn_.now);
  }
  outcome.socket.Release();
  sink_.TakeTlsConnection(std::move(outcome.tls), std::move(outcome.address));
}

}  // namespace fairlock::net
