#include "storage/etcd/requests.h"

namespace fairlock::storage::etcd {

std::string EndOfPrefix(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && end.back() == '\xff') end.pop_back();
  if (end.empty()) return std::string(1, '\0');  // etcd understands this as no end
  end.back() = static_cast<char>(end.back() + 1);
  return end;
}

}  // namespace fairlock::storage::etcd
