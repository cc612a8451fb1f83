#include "cli/connection/async_connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "cli/connection/reply_fields.h"
#include "cli/connection/server_errors.h"
#include "cli/connection/settings_file.h"
#include "cli/output/duration.h"
#include "cli/output/printable.h"
#include "protocol/request_writer.h"

namespace fairlock::cli {

namespace {

constexpr std::size_t kReadBytes = 64 * 1024;

void SetOption(int socket, int level, int option, int value) {
  ::setsockopt(socket, level, option, &value, sizeof(value));
}

// Detects a dead peer within about half a minute, even while a request waits.
void EnableKeepalive(int socket) {
  SetOption(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  SetOption(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  SetOption(socket, IPPROTO_TCP, TCP_KEEPIDLE, 15);
  SetOption(socket, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  SetOption(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
  SetOption(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, 30'000);
}

bool IsConnectionRefused(int error) { return error == ECONNREFUSED || error == ENOENT; }

}  // namespace

Result<Login> LoginOf(const Settings& settings) {
  Login login{.user = settings.user, .password = {}, .database = settings.database_or_first()};
  if (settings.password_file.empty()) return login;
  Result<std::string> password = ReadPasswordFile(settings.password_file);
  if (!password) return password.failure();
  login.password = *password;
  return login;
}

AsyncConnection::AsyncConnection(const Settings& settings, Login login)
    : settings_(settings), login_(std::move(login)), servers_(settings) {}

DurationMs AsyncConnection::ServerPatienceMs() const {
  return std::max<DurationMs>(settings_.timeout_ms / static_cast<DurationMs>(servers_.size()), 1);
}

void AsyncConnection::Open(TimeMs now) {
  Close();
  was_refused_ = false;
  servers_.BeginRound();
  OpenServer(now);
}

void AsyncConnection::OpenServer(TimeMs now) {
  next_endpoint_ = 0;
  parser_ = std::make_unique<protocol::ReplyParser>();
  give_up_at_ = now + ServerPatienceMs();
  last_error_ = "no answer within " + ShowDuration(ServerPatienceMs());
  if (servers_.is_at_socket()) {
    const Result<Endpoint> endpoint = UnixEndpoint(settings_.socket);
    if (!endpoint) return EndWith(endpoint.failure());
    endpoints_ = {*endpoint};
  } else {
    endpoints_ = NumericEndpoints(servers_.current().host, servers_.current().port);
  }
  if (!endpoints_.empty()) return ConnectToNext(now);
  state_ = State::kLookingUp;
  lookup_.emplace(servers_.current().host, servers_.current().port);
}

void AsyncConnection::Close() {
  Disconnect();
  queued_.clear();
  replies_.clear();
}

void AsyncConnection::Disconnect() {
  state_ = State::kClosed;
  tls_.reset();
  socket_.Reset();
  lookup_.reset();
  give_up_at_ = kForever;
  login_replies_left_ = 0;
  output_.clear();
  sent_bytes_ = 0;
  input_.clear();
  parsed_bytes_ = 0;
}

void AsyncConnection::EndWith(Failure failure) {
  // Replies received before the end remain available.
  std::deque<protocol::Reply> replies = std::move(replies_);
  Close();
  replies_ = std::move(replies);
  end_ = std::move(failure);
}

void AsyncConnection::EndUnconnected(const std::string& reason) {
  const std::string_view other = servers_.is_at_socket() ? "--socket" : "--host/--port";
  LeaveServer(reason,
              {kExitUnreachable, "cannot connect to " + ServerName() + ": " + reason +
                                     "; is fairlockd running? `systemctl status fairlockd`, or "
                                     "give " +
                                     std::string(other)});
}

void AsyncConnection::LeaveServer(const std::string& reason, Failure failure, bool is_standby) {
  if (!servers_.has_choice()) return EndWith(std::move(failure));
  const bool has_next = servers_.TryNext(reason, is_standby);
  if (!has_next) {
    return EndWith(
        {kExitUnreachable, "none of the servers in --host serves locks: " + servers_.reasons()});
  }
  Disconnect();
  state_ = State::kTurningToNext;
  give_up_at_ = 0;
}

void AsyncConnection::TakeEndpoints() {
  const Result<std::vector<Endpoint>> found = lookup_->Take();
  lookup_.reset();
  if (!found) return EndUnconnected(found.failure().text);
  endpoints_ = *found;
}

// Records only a refusal by the first server of a round, because that is the one that was used
// before.
void AsyncConnection::RememberRefusal(int error) {
  if (servers_.is_first()) was_refused_ = IsConnectionRefused(error);
}

void AsyncConnection::ConnectToNext(TimeMs now) {
  while (next_endpoint_ < endpoints_.size()) {
    const Endpoint& endpoint = endpoints_[next_endpoint_++];
    const int family = endpoint.address.ss_family;
    tls_.reset();
    socket_.Reset(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (family != AF_UNIX) EnableKeepalive(socket_.number());
    const auto* const address = reinterpret_cast<const sockaddr*>(&endpoint.address);
    if (::connect(socket_.number(), address, endpoint.size) == 0) return BeginTls();
    if (errno == EINPROGRESS) {
      state_ = State::kConnecting;
      give_up_at_ = now + ServerPatienceMs() / static_cast<DurationMs>(endpoints_.size());
      return;
    }
    RememberRefusal(errno);
    last_error_ = std::strerror(errno);
  }
  EndUnconnected(last_error_);
}

void AsyncConnection::FinishConnecting(TimeMs now) {
  int error = 0;
  socklen_t size = sizeof(error);
  ::getsockopt(socket_.number(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error == 0) return BeginTls();
  RememberRefusal(error);
  last_error_ = std::strerror(error);
  ConnectToNext(now);
}

void AsyncConnection::BeginTls() {
  if (!settings_.is_tls || servers_.is_at_socket()) return BeginLogin();
  Result<std::unique_ptr<TlsConnection>> made =
      TlsConnection::Make(settings_, servers_.current().host, socket_.number());
  if (!made) return EndWith(made.failure());
  tls_ = std::move(*made);
  state_ = State::kHandshaking;
  ContinueHandshake();
}

void AsyncConnection::ContinueHandshake() {
  const TlsConnection::Step step = tls_->Handshake();
  if (step == TlsConnection::Step::kDone) return BeginLogin();
  if (step == TlsConnection::Step::kFailed) {
    const Failure problem = tls_->Problem(ServerName());
    return LeaveServer(problem.text, problem);
  }
  tls_needs_to_write_ = step == TlsConnection::Step::kNeedsToWrite;
}

void AsyncConnection::BeginLogin() {
  state_ = State::kOpen;
  // If several servers are listed, each must also answer within its share of the timeout.
  if (!servers_.has_choice()) give_up_at_ = kForever;
  if (servers_.is_first()) was_refused_ = false;
  std::vector<std::string_view> hello = {"HELLO", "3"};
  // A user without a password logs in with an empty one; the server decides. Falling back to
  // another user would be wrong.
  if (!login_.user.empty() || !login_.password.empty()) {
    const std::string_view user = login_.user.empty() ? "default" : std::string_view(login_.user);
    for (const std::string_view word :
         {std::string_view("AUTH"), user, std::string_view(login_.password)}) {
      hello.push_back(word);
    }
  }
  hello.push_back("SETNAME");
  hello.push_back(OwnName());
  protocol::AppendRequest(output_, hello);
  login_replies_left_ = 1;
  if (login_.database != 0) {
    protocol::AppendRequest(output_, {"SELECT", std::to_string(login_.database)});
    ++login_replies_left_;
  }
  if (servers_.chooses()) {
    // Only a server that serves locks executes this request.
    protocol::AppendRequest(output_, {"EXISTS", "fairlockctl"});
    ++login_replies_left_;
  }
  if (!servers_.has_choice()) SendQueued();
  Write();
}

void AsyncConnection::SendQueued() {
  output_ += queued_;
  queued_.clear();
}

pollfd AsyncConnection::Interest() const {
  switch (state_) {
    case State::kClosed:
    case State::kTurningToNext:
      break;
    case State::kLookingUp:
      return {.fd = lookup_->descriptor(), .events = POLLIN, .revents = 0};
    case State::kConnecting:
      return {.fd = socket_.number(), .events = POLLOUT, .revents = 0};
    case State::kHandshaking:
      return {.fd = socket_.number(),
              .events = static_cast<short>(tls_needs_to_write_ ? POLLOUT : POLLIN),
              .revents = 0};
    case State::kOpen:
      return {.fd = socket_.number(),
              .events = static_cast<short>(POLLIN | (output_.empty() ? 0 : POLLOUT)),
              .revents = 0};
  }
  return {.fd = -1, .events = 0, .revents = 0};
}

TimeMs AsyncConnection::WakeAt() const { return give_up_at_; }

void AsyncConnection::Advance(TimeMs now) {
  if (state_ == State::kTurningToNext) return OpenServer(now);
  if (state_ == State::kLookingUp && lookup_->IsDone()) {
    TakeEndpoints();
    if (state_ == State::kLookingUp) ConnectToNext(now);
  } else if (state_ == State::kConnecting) {
    pollfd ready = Interest();
    if (::poll(&ready, 1, 0) > 0) FinishConnecting(now);
  } else if (state_ == State::kHandshaking) {
    ContinueHandshake();
  } else if (state_ == State::kOpen) {
    Write();
    if (state_ == State::kOpen) Read();
  }
  if (now < give_up_at_) return;
  if (state_ == State::kConnecting) {
    ConnectToNext(now);
  } else if (state_ == State::kLookingUp) {
    EndUnconnected(last_error_);
  } else if (state_ == State::kHandshaking) {
    LeaveServer("it did not finish the TLS handshake",
                {kExitUnreachable, ServerName() + " did not finish the TLS handshake within " +
                                       ShowDuration(settings_.timeout_ms) +
                                       "; does it use TLS on this port?"});
  } else if (state_ == State::kOpen) {
    LeaveServer("no answer within " + ShowDuration(ServerPatienceMs()), {});
  }
}

void AsyncConnection::Send(std::span<const std::string_view> arguments) {
  if (state_ == State::kClosed) return;
  RememberDatabase(arguments);
  const bool goes_out = servers_.has_choice() ? is_ready() : state_ == State::kOpen;
  protocol::AppendRequest(goes_out ? output_ : queued_, arguments);
  if (goes_out) Write();
}

void AsyncConnection::RememberDatabase(std::span<const std::string_view> arguments) {
  if (arguments.size() != 2 || arguments[0] != "SELECT") return;
  const std::string_view number = arguments[1];
  std::from_chars(number.data(), number.data() + number.size(), login_.database);
}

void AsyncConnection::Write() {
  while (sent_bytes_ < output_.size()) {
    const std::string_view left = std::string_view(output_).substr(sent_bytes_);
    const ssize_t sent = tls_ != nullptr
                             ? tls_->Send(left)
                             : ::send(socket_.number(), left.data(), left.size(), MSG_NOSIGNAL);
    if (sent < 0) {
      // Read() detects the end of the connection, after the replies that arrived before it.
      if (errno != EAGAIN && errno != EINTR) output_.clear();
      return;
    }
    sent_bytes_ += static_cast<std::size_t>(sent);
  }
  output_.clear();
  sent_bytes_ = 0;
}

void AsyncConnection::Read() {
  std::array<char, kReadBytes> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  const ssize_t received = tls_ != nullptr
                               ? tls_->Receive(buffer)
                               : ::recv(socket_.number(), buffer.data(), buffer.size(), 0);
  if (received > 0) {
    input_.append(buffer.data(), static_cast<std::size_t>(received));
    Parse();
  } else if (received == 0) {
    LoseServer("it closed the connection",
               {kExitUnreachable, ServerName() + " closed the connection; did the server stop?"});
  } else if (errno == EPROTO && tls_ != nullptr) {
    const Failure problem = tls_->Problem(ServerName());
    LoseServer(problem.text, problem);
  } else if (errno != EAGAIN && errno != EINTR) {
    const std::string reason = std::strerror(errno);
    LoseServer(reason,
               {kExitUnreachable, "lost the connection to " + ServerName() + ": " + reason});
  }
}

void AsyncConnection::LoseServer(const std::string& reason, Failure failure) {
  is_ready() ? EndWith(std::move(failure)) : LeaveServer(reason, std::move(failure));
}

void AsyncConnection::Parse() {
  while (parsed_bytes_ < input_.size() && state_ == State::kOpen) {
    protocol::Reply reply;
    std::size_t consumed = 0;
    const auto status =
        parser_->Parse(std::string_view(input_).substr(parsed_bytes_), reply, consumed);
    if (status == protocol::ReplyStatus::kError) {
      return EndWith({kExitNotUnderstood, ServerName() + " sent a reply that is not RESP (" +
                                              std::string(parser_->error()) +
                                              "); is it a fairlockd?"});
    }
    if (status == protocol::ReplyStatus::kNeedMore) break;
    parsed_bytes_ += consumed;
    if (login_replies_left_ > 0) {
      TakeLoginReply(reply);
    } else {
      replies_.push_back(std::move(reply));
    }
  }
  input_.erase(0, parsed_bytes_);
  parsed_bytes_ = 0;
}

// In a fleet of several partitions every node is of use: it redirects requests to the leaders. The
// probe has a key of one of these partitions, and its refusal shows that nobody leads that one.
bool AsyncConnection::IsRefused(const protocol::Reply& probe) const {
  if (!IsRefusalToServe(probe)) return false;
  return !is_in_cluster_ || ErrorWord(probe.text) == "LOADING";
}

void AsyncConnection::TakeLoginReply(const protocol::Reply& reply) {
  --login_replies_left_;
  if (const protocol::Reply* const mode = FindField(reply, "mode")) {
    is_in_cluster_ = mode->text == "cluster";
    is_at_standby_ = TextField(reply, "role") == "replica";
  }
  const bool is_probe = servers_.chooses() && login_replies_left_ == 0;
  if (is_probe && IsRefused(reply)) {
    return LeaveServer("it is not serving locks at the moment", {}, true);
  }
  // A probe that is refused for another reason, such as a missing permission, does not show whether
  // the server serves locks.
  if (reply.IsError() && !is_probe) return EndWith(ServerFailure(reply.text, ServerName()));
  if (login_replies_left_ > 0 || !servers_.has_choice()) return;
  give_up_at_ = kForever;
  SendQueued();
  Write();
}

std::optional<protocol::Reply> AsyncConnection::Take() {
  if (replies_.empty()) return std::nullopt;
  protocol::Reply reply = std::move(replies_.front());
  replies_.pop_front();
  return reply;
}

namespace {

std::string Visible(std::string_view part) {
  std::string text(part.substr(0, kNamePartBytesMax));
  std::ranges::replace_if(
      text, [](char c) { return c < '!' || c > '~'; }, '_');
  return text;
}

std::string UserName() {
  const passwd* const entry = getpwuid(getuid());
  return entry == nullptr ? "uid" + std::to_string(getuid()) : std::string(entry->pw_name);
}

std::string HostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : "unknown";
}

}  // namespace

std::string NameFor(std::string_view user, std::string_view host) {
  return "fairlockctl/" + Visible(user) + "@" + Visible(host);
}

const std::string& OwnName() {
  static const std::string name = NameFor(UserName(), HostName());
  return name;
}

}  // namespace fairlock::cli
