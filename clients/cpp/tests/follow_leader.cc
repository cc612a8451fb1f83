// Takes a lock from the leader, which it finds through Sentinel, again and again. Prints the node
// that leads, once for each change: it holds the key "leader".

#include <fairlock/client.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>

namespace {

using namespace fairlock::client;

Settings SettingsHere() {
  Settings settings{.sentinels = {}, .service = "main", .reply_timeout = std::chrono::seconds(1)};
  std::istringstream addresses(std::getenv("SENTINELS"));
  for (std::string address; std::getline(addresses, address, ',');) {
    settings.sentinels.push_back(address);
  }
  settings.password = settings.sentinel_password = std::getenv("PASSWORD");
  return settings;
}

// The owner that holds the key, or an empty string.
std::string HolderOf(Client& client, const std::string& key) {
  try {
    client.lock(key, {.wait = Duration(0)});
  } catch (const Denied& denied) {
    const auto& holders = denied.explanation().holders;
    return holders.empty() ? "" : holders.front().owner;
  } catch (const ConnectionFailed&) {
    return "";
  }
  return "nobody";
}

}  // namespace

int main() {
  Client client(SettingsHere());
  std::thread([] {
    char ignored = 0;
    while (read(STDIN_FILENO, &ignored, 1) > 0) {
    }
    std::_Exit(0);
  }).detach();
  std::string last;
  while (true) {
    const auto leader = HolderOf(client, "leader");
    if (!leader.empty() && leader != last) std::cout << leader << std::endl;
    if (!leader.empty()) last = leader;
    std::this_thread::sleep_for(Duration(10));
  }
}
