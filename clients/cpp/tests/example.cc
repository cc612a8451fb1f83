#include <fairlock/client.h>

#include <cstdlib>

int main() {
  fairlock::client::Client client(
      {.addresses = {"127.0.0.1:" + std::string(std::getenv("FAIRLOCK_PORT"))}});
  return client.lock("order:42", {.wait = std::chrono::seconds(10)}).token() > 0 ? 0 : 1;
}
