// What the tests of the library share. Each test has its own key on one server.
#pragma once

#include <fairlock/client.h>
#include <gtest/gtest.h>
#include <hiredis/hiredis.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace fairlock::client {

using namespace std::chrono_literals;

inline std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

inline std::string Address() { return "127.0.0.1:" + Environment("FAIRLOCK_PORT"); }

inline Settings Here() { return {.addresses = {Address()}}; }

inline bool Becomes(const std::function<bool()>& condition, Duration within = 20s) {
  const auto give_up = std::chrono::steady_clock::now() + within;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

// The locks as another client sees them.
class Outside {
 public:
  explicit Outside(const std::string& address = Address())
      : context_(redisConnectWithTimeout(
            "127.0.0.1", std::stoi(address.substr(address.rfind(':') + 1)), kLimit)) {
    redisSetTimeout(context_, kLimit);
  }
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;
  ~Outside() { redisFree(context_); }

  // An integer, or the number of elements, or -1 for nil; and a text, which may be an error.
  std::pair<long long, std::string> Get(const std::vector<std::string>& words) {
    auto* reply = Send(words);
    const long long number = reply->type == REDIS_REPLY_INTEGER ? reply->integer
                             : reply->type == REDIS_REPLY_ARRAY
                                 ? static_cast<long long>(reply->elements)
                                 : -1;
    std::string text = reply->str == nullptr ? "" : std::string(reply->str, reply->len);
    freeReplyObject(reply);
    return {number, text};
  }

  long long Ask(const std::vector<std::string>& words) { return Get(words).first; }
  std::string Text(const std::vector<std::string>& words) { return Get(words).second; }

  // The elements of an array.
  std::vector<std::string> List(const std::vector<std::string>& words) {
    auto* reply = Send(words);
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < reply->elements; ++i) {
      texts.emplace_back(reply->element[i]->str, reply->element[i]->len);
    }
    freeReplyObject(reply);
    return texts;
  }

  long long Holders(const std::string& key) { return Ask({"LOCKED", key}); }
  long long Waiters(const std::string& key) { return Ask({"QUEUE", key}); }

  // How often the server has executed a command, and how many connections it has accepted.
  int Calls(const std::string& command) {
    return Statistic("commandstats", "cmdstat_" + command + ":calls=");
  }
  int Connections() { return Statistic("stats", "total_connections_received:"); }

 private:
  static constexpr timeval kLimit{5, 0};

  int Statistic(const std::string& section, const std::string& words) {
    const std::string statistics = Text({"INFO", section});
    const auto found = statistics.find(words);
    return found == std::string::npos ? 0 : std::stoi(statistics.substr(found + words.size()));
  }

  redisReply* Send(const std::vector<std::string>& words) {
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    for (const auto& word : words) {
      texts.push_back(word.data());
      sizes.push_back(word.size());
    }
    auto* reply = static_cast<redisReply*>(
        redisCommandArgv(context_, static_cast<int>(words.size()), texts.data(), sizes.data()));
    if (reply == nullptr) throw std::runtime_error(context_->errstr);
    return reply;
  }

  redisContext* context_;
};

// Each test has its own key.
class ClientTest : public testing::Test {
 protected:
  const std::string key = testing::UnitTest::GetInstance()->current_test_info()->name();
  Outside outside;
  Client client{Here()};
};

// Stops the server for as long as it lives.
class Stopped {
 public:
  Stopped() {
    kill(process_, SIGSTOP);
    // The threads stop one after another, a while after the signal.
    EXPECT_TRUE(Becomes([this] { return HasStopped(); }));
  }
  Stopped(const Stopped&) = delete;
  Stopped& operator=(const Stopped&) = delete;
  ~Stopped() { kill(process_, SIGCONT); }

 private:
  [[nodiscard]] bool HasStopped() const {
    const std::filesystem::path tasks = "/proc/" + std::to_string(process_) + "/task";
    for (const auto& task : std::filesystem::directory_iterator(tasks)) {
      std::ifstream file(task.path() / "stat");
      std::string stat;
      std::getline(file, stat);
      // PID (NAME) STATE ...
      if (stat.find(") T ") == std::string::npos) return false;
    }
    return true;
  }

  pid_t process_ = std::stoi(Environment("FAIRLOCK_PID"));
};

}  // namespace fairlock::client
