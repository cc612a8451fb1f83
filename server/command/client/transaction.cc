#include "server/command/client/transaction.h"

namespace fairlock::command {

void Transaction::Spoil() {
  is_spoiled_ = true;
  requests_ = {};
  lengths_ = {};
  bytes_ = {};
}

void Transaction::Add(std::size_t row, std::uint32_t flags, const protocol::Arguments& arguments) {
  flags_ |= flags;
  requests_.push_back(
      {static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(arguments.size())});
  for (const std::string_view argument : arguments) {
    lengths_.push_back(static_cast<std::uint32_t>(argument.size()));
    bytes_ += argument;
  }
}

std::size_t Transaction::bytes() const {
  return requests_.size() * sizeof(Request) + lengths_.size() * sizeof(std::uint32_t) +
         bytes_.size();
}

std::size_t Transaction::BytesWith(const protocol::Arguments& arguments) const {
  std::size_t bytes_with = bytes() + sizeof(Request);
  for (const std::string_view argument : arguments) {
    bytes_with += sizeof(std::uint32_t) + argument.size();
  }
  return bytes_with;
}

void Transaction::Visit(
    const std::function<bool(std::size_t row, const protocol::Arguments&)>& visit) const {
  protocol::Arguments arguments;
  std::size_t argument = 0;
  std::size_t byte = 0;
  for (const Request& request : requests_) {
    arguments.Clear();
    for (std::uint32_t i = 0; i < request.arguments; ++i) {
      const std::uint32_t length = lengths_[argument++];
      arguments.Add(std::string_view(bytes_).substr(byte, length));
      byte += length;
    }
    if (!visit(request.row, arguments)) return;
  }
}

}  // namespace fairlock::command
