#include "server/config/bind_scope.h"

namespace fairlock::server {

bool IsLoopback(std::string_view address) {
  if (address.starts_with('-')) address.remove_prefix(1);
  return address.starts_with("127.") || address == "::1" || address == "localhost";
}

bool IsLocalSocket(std::string_view name) {
  return name.starts_with("127.") || name.starts_with("[::1]:") || name.starts_with("unix:");
}

}  // namespace fairlock::server
