#include "server/net/sockets/listening_socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "server/net/sockets/socket_options.h"

namespace fairlock::net {

namespace {

constexpr int kSocketFlags = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;

// A TCP port for clients.
struct TcpPort {
  std::uint16_t number = 0;
  std::string_view option;
  bool is_tls = false;
};

std::string Explain(const std::string& name, int error, const TcpPort& port,
                    std::string_view bind_option) {
  std::string text = "cannot listen on " + name + ": " + std::strerror(error);
  if (error == EADDRINUSE) {
    const std::string number = std::to_string(port.number);
    text += "; another fairlockd or another program listens there (`ss -ltnp sport = :" + number +
            "` shows it): stop it, or choose another " + std::string(port.option);
  } else if (error == EADDRNOTAVAIL) {
    text += "; this machine has no such address: correct " + std::string(bind_option);
  } else if (error == EACCES) {
    text += "; a port below 1024 needs the right to bind it (CAP_NET_BIND_SERVICE)";
  }
  return text;
}

// Opens a listening socket on one resolved address; -1: the error is in errno.
int OpenTcp(const addrinfo& address, int backlog) {
  const int descriptor = socket(address.ai_family, kSocketFlags, 0);
  if (descriptor < 0) return -1;
  const int on = 1;
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (address.ai_family == AF_INET6) {
    setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
  }
  if (bind(descriptor, address.ai_addr, address.ai_addrlen) == 0 &&
      listen(descriptor, backlog) == 0) {
    return descriptor;
  }
  const int error = errno;
  close(descriptor);
  errno = error;
  return -1;
}

bool IsMissingHere(int error) {
  return error == EADDRNOTAVAIL || error == EAFNOSUPPORT || error == EPROTONOSUPPORT;
}

std::uint16_t PortOf(const sockaddr_storage& address) {
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

struct BindAddress {
  std::string host;
  bool may_be_missing = false;
};

// Expands `*` to both families. The IPv6 address may be missing, because not every machine has
// IPv6.
std::vector<BindAddress> ReadBindAddresses(const std::vector<std::string>& bind) {
  std::vector<BindAddress> addresses;
  for (const std::string& text : bind) {
    const bool may_be_missing = text.starts_with('-');
    const std::string host = text.substr(may_be_missing ? 1 : 0);
    if (host == "*") {
      addresses.push_back({"0.0.0.0", may_be_missing});
      addresses.push_back({"::", true});
    } else {
      addresses.push_back({host, may_be_missing});
    }
  }
  return addresses;
}

void ListenOnTcp(const BindAddress& bind, const TcpPort& port, const ListenOptions& options,
                 ListenResult& result) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failure =
      getaddrinfo(bind.host.c_str(), std::to_string(port.number).c_str(), &hints, &found);
  if (failure != 0) {
    result.error = "cannot listen on " + bind.host + ": " + gai_strerror(failure) + "; correct " +
                   std::string(options.bind_option) +
                   ": an address of this machine such as 0.0.0.0 or ::1, or *";
    return;
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, &freeaddrinfo);
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    sockaddr_storage storage{};
    std::memcpy(&storage, address->ai_addr, address->ai_addrlen);
    const std::string name = FormatAddress(storage, "");
    const int descriptor = OpenTcp(*address, options.backlog);
    if (descriptor >= 0) {
      result.sockets.push_back({descriptor, name, "", port.is_tls});
    } else if (bind.may_be_missing && IsMissingHere(errno)) {
      result.skipped.push_back(name);
    } else {
      result.error = Explain(name, errno, port, options.bind_option);
      return;
    }
  }
}

// Removes a socket on which no process listens. Returns the reason why the path cannot be used;
// empty: the path is free.
std::string RemoveStaleSocket(const sockaddr_un& address) {
  struct stat status {};
  if (lstat(address.sun_path, &status) != 0) return "";
  if (!S_ISSOCK(status.st_mode)) return "there is a file that is not a socket; it was not touched";
  const int probe = socket(AF_UNIX, kSocketFlags, 0);
  const int outcome =
      connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 ? 0 : errno;
  close(probe);
  if (outcome == ECONNREFUSED) return unlink(address.sun_path) == 0 ? "" : std::strerror(errno);
  return "another server listens there: stop it, or choose another --unix-socket";
}

int OpenUnix(const sockaddr_un& address, const ListenOptions& options) {
  const int descriptor = socket(AF_UNIX, kSocketFlags, 0);
  if (descriptor < 0) return -1;
  // The mask gives the socket the right permissions from the moment of its creation.
  const mode_t mask = umask(~options.unix_permissions & 0777);
  const int outcome =
      bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  const int bind_error = errno;
  umask(mask);
  errno = bind_error;
  if (outcome == 0 && listen(descriptor, options.backlog) == 0) return descriptor;
  const int error = errno;
  close(descriptor);
  errno = error;
  return -1;
}

void ListenOnUnix(const ListenOptions& options, ListenResult& result) {
  const std::string name = "unix:" + options.unix_path;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (options.unix_path.size() >= sizeof(address.sun_path)) {
    result.error = "cannot listen on " + name + ": the path is longer than " +
                   std::to_string(sizeof(address.sun_path) - 1) + " bytes";
    return;
  }
  options.unix_path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const std::string obstacle = RemoveStaleSocket(address);
  if (!obstacle.empty()) {
    result.error = "cannot listen on " + name + ": " + obstacle;
    return;
  }
  const int descriptor = OpenUnix(address, options);
  if (descriptor < 0) {
    result.error = "cannot listen on " + name + ": " + std::strerror(errno);
    return;
  }
  result.sockets.push_back({descriptor, name, options.unix_path, false});
}

}  // namespace

ListenResult Listen(const ListenOptions& options) {
  ListenResult result;
  const std::array<TcpPort, 2> ports = {
      {{options.port, options.port_option}, {options.tls_port, options.tls_port_option, true}}};
  for (const TcpPort& port : ports) {
    if (port.number == 0) continue;
    for (const BindAddress& bind : ReadBindAddresses(options.bind)) {
      if (result.error.empty()) ListenOnTcp(bind, port, options, result);
    }
  }
  if (result.error.empty() && !options.unix_path.empty()) ListenOnUnix(options, result);
  if (result.error.empty() && result.sockets.empty()) {
    result.error =
        "there is no address to listen on; give --port or --tls-port and --bind, or --unix-socket";
  }
  if (!result.error.empty()) {
    for (const ListeningSocket& socket : result.sockets) CloseListeningSocket(socket);
    result.sockets.clear();
  }
  return result;
}

ListeningSocket AdoptListeningSocket(int descriptor, std::uint16_t tls_port) {
  fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
  if (address.ss_family != AF_UNIX) {
    const bool is_tls = tls_port != 0 && PortOf(address) == tls_port;
    return {descriptor, FormatAddress(address, ""), "", is_tls};
  }
  const auto& unix_address = reinterpret_cast<const sockaddr_un&>(address);
  return {descriptor, std::string("unix:") + unix_address.sun_path, "", false};
}

void CloseListeningSocket(const ListeningSocket& socket) {
  close(socket.descriptor);
  if (!socket.unix_path.empty()) unlink(socket.unix_path.c_str());
}

}  // namespace fairlock::net
