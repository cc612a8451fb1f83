#include "cli/election/status_page.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <sstream>
#include <utility>

#include "cli/connection/endpoint.h"

namespace fairlock::cli {

namespace {

namespace http = boost::beast::http;

constexpr std::size_t kVisitsMax = 16;
constexpr std::size_t kRequestBytesMax = 8'192;
constexpr DurationMs kVisitMsMax = 5'000;

std::string NameOf(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.ss_family == AF_INET6) {
    const auto& in6 = reinterpret_cast<const sockaddr_in6&>(address);
    ::inet_ntop(AF_INET6, &in6.sin6_addr, text.data(), text.size());
    return "[" + std::string(text.data()) + "]:" + std::to_string(ntohs(in6.sin6_port));
  }
  const auto& in4 = reinterpret_cast<const sockaddr_in&>(address);
  ::inet_ntop(AF_INET, &in4.sin_addr, text.data(), text.size());
  return std::string(text.data()) + ":" + std::to_string(ntohs(in4.sin_port));
}

std::string MessageOf(const PageAnswer& answer, bool has_body) {
  http::response<http::string_body> message(http::int_to_status(answer.status), 11);
  message.set(http::field::content_type, answer.type);
  message.set(http::field::cache_control, "no-store");
  message.keep_alive(false);
  message.body() = answer.body;
  message.prepare_payload();
  if (!has_body) message.body().clear();
  std::ostringstream text;
  text << message;
  return text.str();
}

}  // namespace

StatusPage::StatusPage(Descriptor socket, std::string address, Answer answer)
    : socket_(std::move(socket)), address_(std::move(address)), answer_(std::move(answer)) {}

Result<StatusPage> StatusPage::Listen(const std::string& address, Answer answer) {
  const std::size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  std::uint16_t port = 0;
  const char* const end = address.data() + address.size();
  const bool has_port = colon != std::string::npos &&
                        std::from_chars(address.data() + colon + 1, end, port).ptr == end &&
                        colon + 1 < address.size();
  const std::vector<Endpoint> endpoints = NumericEndpoints(host, port);
  if (!has_port || endpoints.empty()) {
    return Failure{kExitWrongUse,
                   "--listen must be HOST:PORT with a numeric host, such as "
                   "127.0.0.1:4040; got " +
                       address};
  }
  const Endpoint& endpoint = endpoints.front();
  Descriptor socket(
      ::socket(endpoint.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  ::setsockopt(socket.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (!socket.is_open() ||
      ::bind(socket.number(), reinterpret_cast<const sockaddr*>(&endpoint.address),
             endpoint.size) != 0 ||
      ::listen(socket.number(), kVisitsMax) != 0 ||
      ::getsockname(socket.number(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) {
    return Failure{kExitUnreachable, "cannot listen on " + address + ": " + std::strerror(errno)};
  }
  return StatusPage(std::move(socket), NameOf(bound), std::move(answer));
}

void StatusPage::AddInterest(std::vector<pollfd>& events) const {
  events.push_back({.fd = socket_.number(), .events = POLLIN, .revents = 0});
  for (const Visit& visit : visits_) {
    const short event = visit.output.empty() ? POLLIN : POLLOUT;
    events.push_back({.fd = visit.socket.number(), .events = event, .revents = 0});
  }
}

TimeMs StatusPage::WakeAt() const { return visits_.empty() ? kForever : visits_.front().until; }

void StatusPage::Advance(TimeMs now) {
  Accept(now);
  visits_.remove_if([&](Visit& visit) { return now >= visit.until || !Serve(visit); });
}

void StatusPage::Accept(TimeMs now) {
  while (true) {
    Descriptor socket(::accept4(socket_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.is_open()) return;
    if (visits_.size() == kVisitsMax) visits_.pop_front();
    visits_.push_back({.socket = std::move(socket), .until = now + kVisitMsMax});
  }
}

bool StatusPage::Serve(Visit& visit) {
  if (visit.output.empty() && !Read(visit)) return false;
  if (visit.output.empty()) return true;
  const ssize_t sent =
      ::send(visit.socket.number(), visit.output.data(), visit.output.size(), MSG_NOSIGNAL);
  if (sent < 0) return errno == EAGAIN || errno == EINTR;
  visit.output.erase(0, static_cast<std::size_t>(sent));
  return !visit.output.empty();
}

bool StatusPage::Read(Visit& visit) {
  std::array<char, 2'048> bytes{};
  const ssize_t size = ::recv(visit.socket.number(), bytes.data(), bytes.size(), 0);
  if (size < 0) return errno == EAGAIN || errno == EINTR;
  visit.input.append(bytes.data(), static_cast<std::size_t>(size));
  http::request_parser<http::empty_body> parser;
  parser.header_limit(kRequestBytesMax);
  boost::beast::error_code error;
  parser.put(boost::asio::buffer(visit.input), error);
  if (error == http::error::need_more && size > 0 && visit.input.size() < kRequestBytesMax) {
    return true;
  }
  if (!parser.is_header_done()) return false;
  const auto method = parser.get().method();
  const bool is_known = method == http::verb::get || method == http::verb::head;
  const std::string_view target(parser.get().target().data(), parser.get().target().size());
  visit.output = MessageOf(is_known ? answer_(target.substr(0, target.find('?')))
                                    : PageAnswer{.status = 405, .body = "only GET is answered\n"},
                           method != http::verb::head);
  return true;
}

}  // namespace fairlock::cli
