#include "server/net/sentinel/sentinel_connection.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/error.hpp>
#include <cassert>
#include <utility>

namespace fairlock::net {

namespace beast = boost::beast;

SentinelConnection::SentinelConnection(Turn& turn, SentinelConnectionOwner& owner,
                                       const sentinel::LeaderWatch& watch,
                                       boost::asio::ip::tcp::socket socket,
                                       command::ClientAddress address)
    : turn_(turn),
      owner_(owner),
      stream_(std::move(socket)),
      session_(turn.server, watch, std::move(address), turn.now, [this] { EnterTurn(); }) {}

SentinelConnection::~SentinelConnection() { assert(is_closed_); }

void SentinelConnection::Close() {
  if (std::exchange(is_closed_, true)) return;
  const auto self = shared_from_this();  // keeps this alive when the owner releases it
  turn_.Drop(this);
  session_.Detach(turn_.now);
  stream_.close();
  owner_.Remove(this);
}

std::optional<std::chrono::steady_clock::time_point> SentinelConnection::IncompleteSince() const {
  if (!input_.has_been_executed || !session_.is_logged_in()) return input_.opened_at;
  if (is_reading_ && !input_.bytes.empty()) return input_.deadline - kTimeMax;
  return std::nullopt;
}

void SentinelConnection::EnterTurn() {
  if (is_closed_ || std::exchange(is_in_turn_, true)) return;
  turn_.tasks.push_back(this);
}

void SentinelConnection::TakeTurn(engine::TimeMs now) {
  const auto self = shared_from_this();
  is_in_turn_ = false;
  if (session_.is_killed()) return Close();
  if (!sending_.empty()) return;  // continues when that has been written
  const std::size_t consumed = session_.Consume(input_.bytes, now);
  if (consumed > 0) {
    input_.has_been_executed = true;
    input_.deadline = std::chrono::steady_clock::now() + kTimeMax;
  }
  input_.bytes.erase(0, consumed);
  sending_ = session_.TakeOutput();
  if (!sending_.empty()) return Write();
  if (session_.is_over()) return Close();
  // A session that has more to execute calls this again when it is done; until then, nothing is
  // read.
  if (!session_.has_more_to_execute()) Read();
}

void SentinelConnection::Read() {
  if (std::exchange(is_reading_, true)) return;
  if (input_.bytes.empty()) {
    stream_.expires_never();
  } else {
    stream_.expires_at(input_.deadline);
  }
  stream_.async_read_some(
      boost::asio::buffer(received_),
      [self = shared_from_this()](const beast::error_code& error, std::size_t bytes) {
        self->is_reading_ = false;
        if (self->is_closed_) return;
        if (error) return self->Close();
        if (self->input_.bytes.empty())
          self->input_.deadline = std::chrono::steady_clock::now() + kTimeMax;
        self->input_.bytes.append(self->received_.data(), bytes);
        self->EnterTurn();
      });
}

void SentinelConnection::Write() {
  stream_.expires_after(kTimeMax);
  boost::asio::async_write(
      stream_, boost::asio::buffer(sending_),
      [self = shared_from_this()](const beast::error_code& error, std::size_t) {
        if (self->is_closed_) return;
        if (error) return self->Close();
        self->sending_.clear();
        if (!self->session_.is_over()) return self->EnterTurn();
        beast::error_code ignored;
        self->stream_.socket().shutdown(boost::asio::ip::tcp::socket::shutdown_send, ignored);
        self->Linger();
      });
}

// Reads until the peer closes: closing with unread bytes would make the kernel drop the output.
void SentinelConnection::Linger() {
  if (std::exchange(is_reading_, true)) return;
  stream_.expires_after(kLingerMax);
  stream_.async_read_some(boost::asio::buffer(received_),
                          [self = shared_from_this()](const beast::error_code& error, std::size_t) {
                            self->is_reading_ = false;
                            if (self->is_closed_) return;
                            if (error) return self->Close();
                            self->Linger();
                          });
}

}  // namespace fairlock::net
