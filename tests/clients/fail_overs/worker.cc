// Takes and releases locks with the library for C++, as library_worker.py does with the others.

#include <fairlock/client.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using namespace fairlock::client;

namespace {

// The words of an environment variable, with commas between them.
std::vector<std::string> Words(const char* variable) {
  std::vector<std::string> words;
  std::istringstream text(std::getenv(variable));
  for (std::string word; std::getline(text, word, ',');) words.push_back(word);
  return words;
}

long long Microseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

void Write(const char* op, const std::string& key, long long begun, const char* outcome,
           const std::string& value) {
  std::printf(R"({"op": "%s", "key": "%s", "begun": %lld, "ended": %lld, "%s": %s})"
              "\n",
              op, key.c_str(), begun, Microseconds(), outcome, value.c_str());
  std::fflush(stdout);
}

// Repeats the request until it is answered; `ask` returns what a server would have replied.
template <typename Ask>
void Answered(const char* op, const std::string& key, Ask ask) {
  while (true) {
    const auto begun = Microseconds();
    try {
      return Write(op, key, begun, "reply", ask());
    } catch (const LostHold&) {
      return Write(op, key, begun, "reply", "0");
    } catch (const Error& error) {
      // The text of the error may contain what JSON would have to escape.
      Write(op, key, begun, "error", std::string("\"") + typeid(error).name() + "\"");
    }
    std::this_thread::sleep_for(10ms);
  }
}

std::optional<Hold> Lock(Client& client, const std::string& key) {
  std::optional<Hold> hold;
  const LockOptions options{.lease = 30s, .wait = 10s, .on_lost = [key](const std::string&) {
                              Write("CHECK", "lost: " + key, Microseconds(), "reply", "0");
                            }};
  Answered("LOCK", key, [&]() -> std::string {
    try {
      hold.emplace(client.lock(key, options));
      return std::to_string(hold->token());
    } catch (const Denied&) {
      return "null";
    }
  });
  return hold;
}

void Check(const Hold& hold, const std::string& key) {
  Answered("CHECK", key, [&] {
    hold.check();
    return "1";
  });
}

void Round(Client& client, const std::string& key) {
  auto hold = Lock(client, key);
  if (!hold) return;
  std::this_thread::sleep_for(5ms);
  Check(*hold, key);
  Answered("UNLOCK", key, [&] { return hold->release() ? "1" : "0"; });
}

void Work(Client& client, const std::vector<std::string>& keys, const std::atomic<bool>& is_over) {
  for (std::size_t turn = 0; !is_over; ++turn) {
    Round(client, keys[turn % keys.size()]);
    std::this_thread::sleep_for(50ms);
  }
}

}  // namespace

int main() {
  const bool knows_all = std::getenv("MODE") == std::string("nodes");
  Client client({.addresses = Words(knows_all ? "NODES" : "NODE")});
  const std::string owner = std::getenv("OWNER");
  const auto held = Lock(client, owner + ":held");
  std::atomic<bool> is_over = false;
  std::thread own([&] { Work(client, {owner + ":own"}, is_over); });
  std::thread shared([&] { Work(client, Words("KEYS"), is_over); });
  while (std::getchar() != EOF) continue;
  is_over = true;
  own.join();
  shared.join();
  Check(*held, owner + ":held");
}
