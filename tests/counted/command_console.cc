// Executes requests from standard input in a server without sockets, in virtual time, so that the
// instructions of any command can be counted. Each is a line `CLIENT BYTES` and that many bytes, or
// `close CLIENT`, or `pass MILLISECONDS`. Prints how many replies were errors.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <map>
#include <string>

#include "tests/unit/server/command/command_test_support.h"

namespace {

using fairlock::command::TestClient;
using fairlock::command::TestServer;

class Console {
 public:
  // Returns false at the end of the input.
  bool ExecuteNext() {
    std::string word;
    std::int64_t number = 0;
    if (!(std::cin >> word >> number)) return false;
    if (word == "pass") {
      server_.AdvanceBy(number);
      return true;
    }
    if (word == "close") {
      ClientNamed(std::to_string(number)).Close();
      return true;
    }
    std::string request(static_cast<std::size_t>(number), '\0');
    std::cin.get();
    std::cin.read(request.data(), number);
    const std::string reply = ClientNamed(word).SendBytes(request);
    if (reply.starts_with('-')) ++errors_;
    return true;
  }

  int errors() const { return errors_; }

 private:
  TestClient& ClientNamed(const std::string& name) {
    TestClient*& client = clients_[name];
    if (client == nullptr) client = &server_.Connect();
    return *client;
  }

  TestServer server_;
  std::map<std::string, TestClient*> clients_;
  int errors_ = 0;
};

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  Console console;
  while (console.ExecuteNext()) {
  }
  std::printf("%d errors\n", console.errors());
}
